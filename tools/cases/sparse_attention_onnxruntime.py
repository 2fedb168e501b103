#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime's CPU provider gives for com.microsoft.SparseAttention, as numbers for the oracle's test.

Needs the packages numpy, onnx and onnxruntime, and exits 77 (skipped) where one is not installed. Writes
src/reference/sparse_attention_onnxruntime.inc; with --check it compares a fresh run with the committed file instead. One batch item
per run: with unequal lengths the provider is wrong in batches.
"""
import argparse
import pathlib
import re
import sys

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed")
    sys.exit(77)

TARGET = pathlib.Path(__file__).resolve().parents[2] / "src/reference/sparse_attention_onnxruntime.inc"
MASK = (1 << 64) - 1


def grid(shape, seed):
    """The `grid` data of test files with r 16 and step 1/8."""
    out = []
    for i in range(int(np.prod(shape))):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(((z ^ (z >> 31)) % 33 - 16) * 0.125)
    return np.array(out).reshape(shape)


def csr(layouts, blocks, local, stride):
    step = max(1, stride // layouts)
    rows, lists = [], []
    for layout in range(layouts):
        pointers, columns = [0], []
        for q in range(blocks):
            columns += [k for k in range(q + 1) if q - k < local or (k + layout * step + 1) % stride == 0]
            pointers.append(len(columns))
        rows.append(pointers)
        lists.append(columns)
    width = max(map(len, lists))
    return np.array(rows, np.int32), np.array([c + [-1] * (width - len(c)) for c in lists], np.int32)


# name, dtype (16 or 32), sequence, total, packed, rotary width, interleaved, scale, heads, kv heads, head size, block size, layouts, blocks
CASES = [
    ("prompt", 32, 40, 40, 0, 0, 0, 0.0, 4, 2, 16, 16, 2, 3),
    ("prompt_half", 16, 36, 36, 0, 0, 0, 0.0, 2, 1, 16, 16, 2, 3),
    ("packed_scaled", 32, 33, 33, 1, 0, 0, 0.3, 2, 1, 8, 16, 1, 4),
    ("negative_scale", 32, 20, 20, 0, 0, 0, -0.25, 2, 2, 8, 16, 2, 2),
    ("rotary", 32, 36, 36, 0, 8, 0, 0.0, 2, 1, 16, 16, 2, 3),
    ("rotary_interleaved_half", 16, 34, 34, 1, 8, 1, 0.0, 2, 1, 32, 16, 1, 3),
    ("rotary_partial_decode", 32, 1, 70, 0, 8, 0, 0.0, 4, 1, 32, 16, 4, 5),
    ("decode_half", 16, 1, 53, 1, 0, 0, 0.0, 4, 2, 16, 16, 2, 4),
    ("continuation", 32, 7, 50, 0, 8, 1, 0.0, 2, 1, 16, 16, 2, 4),
    ("block_32", 32, 1, 100, 0, 0, 0, 0.0, 2, 1, 8, 32, 1, 4),
]


def run(case):
    _, bits, sequence, total, packed, width, interleaved, scale, heads, kv_heads, size, block_size, layouts, blocks = case
    kind = np.float16 if bits == 16 else np.float32
    onnx_kind = TensorProto.FLOAT16 if bits == 16 else TensorProto.FLOAT
    feeds = {"query": grid((1, sequence, (heads + 2 * kv_heads * packed) * size), 1).astype(kind)}
    if not packed:
        feeds["key"] = grid((1, sequence, kv_heads * size), 2).astype(kind)
        feeds["value"] = grid((1, sequence, kv_heads * size), 3).astype(kind)
    capacity = blocks * block_size
    feeds["past_key"] = grid((1, kv_heads, capacity, size), 4).astype(kind)
    feeds["past_value"] = grid((1, kv_heads, capacity, size), 5).astype(kind)
    feeds["block_row_indices"], feeds["block_col_indices"] = csr(layouts, blocks, 2, 3)
    feeds["total_sequence_length"] = np.array([total], np.int32)
    feeds["key_total_sequence_lengths"] = np.array([total], np.int32)
    if width:
        feeds["cos_cache"] = grid((capacity, width), 6).astype(kind)
        feeds["sin_cache"] = grid((capacity, width), 7).astype(kind)
    order = ["query", "key", "value", "past_key", "past_value", "block_row_indices", "block_col_indices", "total_sequence_length",
             "key_total_sequence_lengths", "cos_cache", "sin_cache"]
    node = helper.make_node("SparseAttention", [name if name in feeds else "" for name in order], ["output", "present_key", "present_value"],
                            domain="com.microsoft", num_heads=heads, kv_num_heads=kv_heads, sparse_block_size=block_size, scale=scale,
                            do_rotary=1 if width else 0, rotary_interleaved=interleaved)
    kinds = {name: TensorProto.INT32 if array.dtype == np.int32 else onnx_kind for name, array in feeds.items()}
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(name, kinds[name], array.shape) for name, array in feeds.items()],
        [helper.make_tensor_value_info("output", onnx_kind, [1, sequence, heads * size])]
        + [helper.make_tensor_value_info(name, onnx_kind, feeds["past_key"].shape) for name in ("present_key", "present_value")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("output")
    binding.bind_ortvalue_output("present_key", values["past_key"])
    binding.bind_ortvalue_output("present_value", values["past_value"])
    session.run_with_iobinding(binding)
    output = binding.get_outputs()[0].numpy()[0]
    past = 0 if total == sequence else total - sequence
    appended = values["past_key"].numpy()[0, :, past + sequence - 1, :]
    # The last two tokens, and the last appended key of every KV head.
    return output[-2:].astype(np.float64).ravel(), appended.astype(np.float64).ravel()


def render():
    lines = ["// Written by tools/cases/sparse_attention_onnxruntime.py with onnxruntime " + onnxruntime.__version__ + ", CPU provider.\n"]
    for case in CASES:
        output, key = run(case)
        numbers = ", ".join(str(field) if not isinstance(field, float) else repr(field) for field in case[1:])
        lines.append(f'{{"{case[0]}", {numbers},\n')
        for array in (output, key):
            lines.append("  {" + ", ".join(f"{x:.9g}" for x in array) + "},\n")
        lines.append("},\n")
    return "".join(lines)


def numbers_of(text):
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", text.split("\n", 1)[1])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    fresh = render()
    if parser.parse_args().check:
        have, want = numbers_of(TARGET.read_text(encoding="utf-8")), numbers_of(fresh)
        worst = max((abs(a - b) for a, b in zip(have, want)), default=0.0)
        print(f"{len(want)} numbers, largest difference {worst:.3g}")
        sys.exit(len(have) != len(want) or worst > 2e-3)
    TARGET.write_text(fresh, encoding="utf-8")
