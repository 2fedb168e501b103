#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random legal calls of one operator as a file for `wgk test --cases`: a seed gives the same bytes, and a case does not depend on the others.

  tools/cases/random_cases.py SkipGroupNorm --seed 7 --count 100 > cases.json
  tools/cases/random_cases.py SkipGroupNorm --seed 7 --case 12      one case alone
"""
import argparse
import random
import sys

import case_writer
import random_attention
import random_norms

OPERATORS = {
    "SkipGroupNorm": random_norms.group_norm,
    "SkipSimplifiedLayerNormalization": random_norms.row_norm,
    "SparseAttention": random_attention.attention,
}


def cases_of(operator, seed, indices, limit):
    """Case i of a seed; some are several calls that must agree. Four cases in a row are of one family, to need fewer shaders."""
    made = []
    for i in indices:
        source = random.Random(f"{operator} {seed} {i}")
        family = random.Random(f"{operator} {seed} family {i // 4}")
        made += OPERATORS[operator](source, f"random_{seed}_{i}", limit, family)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operator", choices=OPERATORS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--limit", type=int, default=1 << 16, help="about how many elements a call has at most")
    args = parser.parse_args()
    indices = range(args.count) if args.case is None else [args.case]
    sys.stdout.write(case_writer.render({"cases": cases_of(args.operator, args.seed, indices, args.limit)}))


if __name__ == "__main__":
    main()
