#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent SkipGroupNorm in float64, made of PyTorch's group_norm and silu, over a few hundred random cases.

Writes src/reference/skip_group_norm_pytorch.inc, which the oracle's unit test reads. With --check it recomputes every case and compares with the
committed numbers; it exits 77 (skipped) where PyTorch is not installed.
"""
import argparse
import pathlib
import random
import sys

TARGET = pathlib.Path(__file__).resolve().parents[2] / "src/reference/skip_group_norm_pytorch.inc"
CASES = 320
SAMPLES = 6
MASK = (1 << 64) - 1


def split_mix64(seed, index):
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def grid(seed, count, reach, step, offset=0.0):
    """The generator `grid` of test files: exact multiples of a power of two."""
    return [((split_mix64(seed, i) % (2 * reach + 1)) - reach) * step + offset for i in range(count)]


def draw(number):
    """The options of one case. Python's Mersenne Twister gives the same choices everywhere."""
    source = random.Random(number)
    groups = source.choice([1, 2, 3, 4, 8])
    width = source.choice([1, 2, 3, 4, 5, 10])
    return {
        "batch": source.choice([1, 2, 3]), "height": source.choice([1, 2, 5, 7]), "width": source.choice([1, 3, 4, 9]),
        "channels": groups * width, "groups": groups, "channels_last": source.choice([0, 1]),
        "activation": source.choice([0, 1]), "half": source.choice([0, 1]), "affine_half": source.choice([0, 1]),
        "skip": source.choice([0, 1, 2]), "bias": source.choice([0, 1]), "epsilon": source.choice([1e-5, 1e-6, 0.125]),
        "offset": source.choice([0, 0, 100]), "seed": 1000 * number,
    }


def compute(torch, case):
    n, c, h, w = case["batch"], case["channels"], case["height"], case["width"]
    last = case["channels_last"]
    shape = (n, h, w, c) if last else (n, c, h, w)
    dtype = torch.float16 if case["half"] else torch.float32
    affine = torch.float16 if case["affine_half"] else torch.float32
    seed, total = case["seed"], n * c * h * w

    def tensor(values, size, kind):
        return torch.tensor(values, dtype=torch.float64).to(kind).reshape(size)

    x = tensor(grid(seed + 1, total, 255, 0.0078125, case["offset"]), shape, dtype)
    skip_shape = [shape, (n, c), (n, 1, 1, c)][case["skip"]]
    skip_count = total if case["skip"] == 0 else n * c
    skip = tensor(grid(seed + 2, skip_count, 255, 0.01), skip_shape, dtype)
    gamma = tensor(grid(seed + 3, c, 64, 0.015625, 1), (c,), affine)
    beta = tensor(grid(seed + 4, c, 64, 0.015625), (c,), affine)
    first = x.float() if last else x.float().permute(0, 2, 3, 1)
    if case["skip"] == 0:
        second = skip.float() if last else skip.float().permute(0, 2, 3, 1)
    else:
        second = skip.float().reshape(n, 1, 1, c)
    s = first + second
    if case["bias"]:
        s = s + tensor(grid(seed + 5, c, 100, 0.03), (c,), dtype).float()
    s = s.to(dtype).double().permute(0, 3, 1, 2)
    y = torch.group_norm(s.contiguous(), case["groups"], gamma.double(), beta.double(), case["epsilon"])
    if case["activation"]:
        y = torch.nn.functional.silu(y)
    if last:
        s, y = s.permute(0, 2, 3, 1), y.permute(0, 2, 3, 1)
    return s.reshape(-1).tolist(), y.reshape(-1).tolist()


def line(case, s, y):
    """Options, then sums over all elements weighted by position, then samples: index, S, Y."""
    keys = ["batch", "height", "width", "channels", "groups", "channels_last", "activation", "half", "affine_half", "skip", "bias", "offset"]
    weight = [1 + i % 7 for i in range(len(y))]
    sums = [sum(a * b for a, b in zip(weight, v)) for v in (s, y)]
    places = sorted({split_mix64(case["seed"], i) % len(y) for i in range(SAMPLES)})
    samples = ", ".join(f"{{{i}, {s[i]!r}, {y[i]!r}}}" for i in places)
    options = ", ".join(str(case[key]) for key in keys)
    return f"{{{options}, {case['epsilon']!r}, {case['seed']}, {sums[0]!r}, {sums[1]!r}, {{{samples}}}}},"


def numbers(text):
    for mark in "{},":
        text = text.replace(mark, " ")
    return [float(word) for word in text.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed numbers, write nothing")
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("skipped: PyTorch is not installed")
        sys.exit(77)
    lines = [line(case, *compute(torch, case)) for case in map(draw, range(CASES))]
    head = "// Written by tools/cases/skip_group_norm_pytorch.py with torch.group_norm in float64.\n"
    if not args.check:
        TARGET.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        return
    committed = TARGET.read_text(encoding="utf-8").splitlines()[1:]
    bad = [k for k, (have, want) in enumerate(zip(committed, lines, strict=True))
           if any(abs(a - b) > 1e-11 * max(1, abs(b)) for a, b in zip(numbers(have), numbers(want), strict=True))]
    if bad:
        sys.exit(f"PyTorch {torch.__version__} gives other numbers in {len(bad)} of {CASES} cases, first in case {bad[0]}")
    print(f"PyTorch {torch.__version__} agrees in {CASES} cases")


if __name__ == "__main__":
    main()
