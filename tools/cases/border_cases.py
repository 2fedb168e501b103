#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random legal calls of a norm on both sides of the sizes where another variant gets selected, as a file for `wgk test --cases`.

  tools/cases/border_cases.py SkipGroupNorm build/dev/bin/wgk tests/devices/h200.json --seed 7 --count 20 > cases.json

The program says what a device of that profile selects; the calls themselves are those of random_cases.py, without tunables.
"""
import argparse
import functools
import json
import pathlib
import random
import subprocess
import sys

import case_writer
import random_norms
import skip_group_norm as sgn
import skip_simplified_layer_normalization as ssln
from case_writer import F16, F32

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"


@functools.cache
def selected(program, operator, caps, inputs, attributes, outputs):
    command = [program, "explain", str(KERNELS / f"com.microsoft.{operator}"), "--caps", caps, "--json"]
    command += [f"--input={name}={dtype}:{','.join(map(str, shape))}" for name, dtype, shape in inputs]
    command += [f"--attr={name}={value}" for name, value in attributes] + [f"--output={name}" for name in outputs]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, stdin=subprocess.DEVNULL)
    return next(decision["id"] for decision in json.loads(done.stdout)["variants"] if decision["verdict"] == "selected")


def borders(variant_of, most):
    """Sizes up to `most` at which variant_of gives something else than at the size before: of those that a walk in growing steps sees."""
    sizes = [1]
    while sizes[-1] < most:
        sizes.append(min(most, max(sizes[-1] + 1, sizes[-1] * 17 // 10)))
    for low, high in zip(sizes, sizes[1:]):
        before = variant_of(low)
        if before == variant_of(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if variant_of(middle) == before else (low, middle)
        yield high


def around(variant_of, most):
    for border in borders(variant_of, most):
        yield from (border - 1, border, border + 1)


def group_norms(source, name, limit, ask):
    batch = source.choice([1, 1, 2, 2, 3, 4, 8, 16, 33])
    fitting = [(w, g) for w in random_norms.WIDTHS for g in random_norms.GROUPS if w * g * batch * 8 <= limit]
    width, groups = source.choice(fitting)
    t, last, channels = source.choice([F32, F16]), source.choice([1, 1, 1, 0]), width * groups

    def variant_of(pixels):
        tensors = (("X", t, tuple(sgn.image(batch, (1, pixels), channels, last))), ("skip", t, (batch, channels)), ("gamma", F32, (channels,)), ("beta", F32, (channels,)))
        return ask("SkipGroupNorm", tensors, (("groups", groups), ("activation", 1), ("channels_last", last)), ())

    for number, pixels in enumerate(around(variant_of, limit // (batch * channels))):
        height = source.choice([d for d in range(1, min(pixels, 64) + 1) if pixels % d == 0])
        size = (batch, height, pixels // height, width, groups)
        yield from random_norms.group_norm_of(source, f"{name}_{number}", size, t, last, tuned=False)


def row_norms(source, name, limit, ask):
    dtype, form = source.choice([F32, F16]), source.choice(ssln.FORMS)
    outputs = ("input_skip_bias_sum",) if "residual" in form else ()

    def variant_of(rows, hidden):
        tensors = [("input", dtype, (rows, hidden)), ("skip", dtype, (rows, hidden)), ("gamma", dtype, (hidden,))]
        return ask("SkipSimplifiedLayerNormalization", (*tensors, *([("bias", dtype, (hidden,))] if "bias" in form else [])), (), outputs)

    if random_norms.chance(source, 0.5):
        rows = random_norms.near(source, random_norms.ROW_MARKS)
        shapes = [[rows, hidden] for hidden in around(lambda size: variant_of(rows, size), min(300000, limit // rows))]
    else:
        hidden = random_norms.near(source, random_norms.HIDDEN_MARKS + 2 * random_norms.LONG_MARKS, 8)
        shapes = [[rows, hidden] for rows in around(lambda size: variant_of(size, hidden), min(70000, limit // hidden))]
    for number, shape in enumerate(shapes):
        yield from random_norms.row_norm_of(source, f"{name}_{number}", shape, dtype, form, tuned=False)


OPERATORS = {"SkipGroupNorm": group_norms, "SkipSimplifiedLayerNormalization": row_norms}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operator", choices=OPERATORS)
    parser.add_argument("program")
    parser.add_argument("caps", help="the profile of a device, or default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10, help="walks along sizes; each gives some calls")
    parser.add_argument("--limit", type=int, default=1 << 20, help="about how many elements a call has at most")
    args = parser.parse_args()

    def ask(operator, inputs, attributes, outputs):
        return selected(args.program, operator, args.caps, inputs, attributes, outputs)

    cases = []
    for i in range(args.count):
        source = random.Random(f"borders {args.operator} {args.seed} {i}")
        cases += OPERATORS[args.operator](source, f"border_{args.seed}_{i}", args.limit, ask)
    sys.stdout.write(case_writer.render({"cases": cases}))


if __name__ == "__main__":
    main()
