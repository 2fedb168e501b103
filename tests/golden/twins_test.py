#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The emulated matrix variants of SparseAttention differ from the real ones in the leaf macros of matrices.wgsl.jinja only.

Usage: twins_test.py REPOSITORY WGK. Renders both texts of the same calls on the profile of Apple's matrices, writes the leaves of
both in one form and compares line by line.
"""
import pathlib
import re
import subprocess
import sys

REPOSITORY, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
PACKAGE = REPOSITORY / "kernels/com.microsoft.SparseAttention"
CASES = [("separate_sgmat", "prompt_of_33"), ("separate_sgmat", "scale_negative"), ("separate_sgmat", "dense_layout"),
         ("packed_sgmat", "padded_packed_plain_f32_d40_b16_h4k1_l2"), ("separate_rotary_sgmat", "padded_prompt_f32"),
         ("separate_rotary_sgmat", "ragged_continuation_f32"), ("separate_rotary_sgmat", "continuation_after_17"),
         ("packed_rotary_sgmat", "matrices_continuation_f32"), ("separate_rotary_sgmat_tail", "matrices_tail"),
         ("packed_sgmat_tail", "matrices_tail_padded")]


def render(case, variant, *more):
    done = subprocess.run([PROGRAM, "render", str(PACKAGE), "--case", case, "--variant", variant, "--pass", "attention", "--caps",
                           str(REPOSITORY / "tests/devices/apple.json"), *more], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{case}, {variant}: {done.stderr}")
    return done.stdout


def place(array, index):
    return f"{array}, {index}" if index else array


def plain_real(text):
    """Leaves as row(...), column(...), result(...), store(...), multiply_add(...); all matrices as one type."""
    text = text.replace("enable chromium_experimental_subgroup_matrix;\n", "")
    pointer = r"&(\w+)(?:\[(\w+)\])?, "
    text = re.sub(r"subgroupMatrixLoad<subgroup_matrix_(?:left|right)<[^>]*>, row_major>\(" + pointer, lambda m: f"row({place(m[1], m[2])}, ", text)
    text = re.sub(r"subgroupMatrixLoad<subgroup_matrix_right<[^>]*>, col_major>\(" + pointer, lambda m: f"column({place(m[1], m[2])}, ", text)
    text = re.sub(r"subgroupMatrixLoad<subgroup_matrix_result<[^>]*>, row_major>\(" + pointer, lambda m: f"result({place(m[1], m[2])}, ", text)
    text = re.sub(r"subgroupMatrixStore<row_major>\(" + pointer, lambda m: f"store({place(m[1], m[2])}, ", text)
    text = re.sub(r"subgroup_matrix_(?:left|right|result)<[^>]*>", "matrix", text)
    return text.replace("subgroupMatrixMultiplyAccumulate", "multiply_add")


def plain_twin(text):
    text = re.sub(r"var<private> matrix_lane: u32;\n.*?\n(?=@compute|fn key_position|// Position|// The part)", "", text, flags=re.S)
    text = text.replace("  matrix_lane = subgroup_lane;\n", "  \n")
    text = re.sub(r"matrix_row_(\w+)\((.*), \d+u\)(?=;)", r"row(\1, \2)", text)
    text = re.sub(r"matrix_(column|result|store)_(\w+)\(", r"\1(\2, ", text)
    main = text.index("@compute")
    return text[:main] + text[main:].replace("mat2x4<f32>", "matrix").replace("matrix_multiply_add", "multiply_add")


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def main():
    compared = leaves = 0
    for variant, case in CASES:
        real = plain_real(render(case, variant, "--tunable", "EMULATE_MATRICES=false"))
        twin = plain_twin(render(case, f"{variant}_emulated", "--tunable", "EMULATE_MATRICES=true"))
        # The arithmetic of octets has the type that stands for a matrix in the twin.
        start = real.index("@compute")
        real = real[:start] + real[start:].replace("mat2x4<f32>", "matrix")
        if "subgroup_matrix" in real or "subgroupMatrix" in real or "matrix_" in twin[twin.index("@compute"):]:
            sys.exit(f"{case}, {variant}: a leaf that this test does not know")
        ours, theirs = lines(real), lines(twin)
        for number, (a, b) in enumerate(zip(ours, theirs)):
            if a != b:
                sys.exit(f"{case}, {variant}: line {number} of the real text is\n  {a}\nand of the twin\n  {b}")
        if len(ours) != len(theirs):
            sys.exit(f"{case}, {variant}: {len(ours)} lines and {len(theirs)}")
        compared += 1
        leaves += sum("multiply_add(" in line for line in ours)
    print(f"{compared} pairs of texts are equal but for the leaves ({leaves} products)")
    if not leaves:
        sys.exit("nothing compared")


if __name__ == "__main__":
    main()
