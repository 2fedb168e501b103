#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test.json and bench.json of com.microsoft.SparseAttention; --full FILE writes the full product of the options."""
import itertools
import pathlib

import case_writer
from case_writer import F16, F32, const, tensor, values
from sparse_attention_bench import benches
from sparse_attention_inputs import CACHES, block_mask, ints, lists

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "kernels/com.microsoft.SparseAttention/build/webgpu"


def grid(seed, r=16, step=0.125, offset=0):
    return case_writer.grid(seed, r, step, offset)


class Call:
    """A request by its sizes. `lengths` are key_total_sequence_lengths; the caches are stale (NaN) from each item's past on."""

    def __init__(self, sequence, total=None, dtype=F32, packed=False, rotary=None, batch=1, heads=4, kv_heads=2, size=16, block=16,
                 mask=None, layouts=2, capacity=None, blocks=None, lengths=None, scale=None, width=None, rows=None, seed=1, stale=True,
                 scalar_total=False, local=2, stride=3):
        self.sequence, self.dtype, self.packed, self.rotary, self.batch = sequence, dtype, packed, rotary, batch
        self.total = sequence if total is None else total
        self.heads, self.kv_heads, self.size, self.block = heads, kv_heads, size, block
        self.blocks = blocks or -(-max(self.total, 1) // block) + 1
        self.capacity = capacity or self.blocks * block
        self.lengths = [self.total] * batch if lengths is None else lengths
        self.scale, self.seed, self.stale, self.scalar_total = scale, seed, stale, scalar_total
        self.width = width or min(size // 2 // 8 * 8, size)
        self.rows = rows or self.blocks * block
        self.mask = mask or block_mask(layouts, self.blocks, local, stride)

    def past(self, item):
        return 0 if self.total == self.sequence else self.lengths[item] - self.sequence

    def attributes(self):
        attrs = {"num_heads": self.heads, "kv_num_heads": self.kv_heads, "sparse_block_size": self.block}
        if self.scale is not None:
            attrs["scale"] = self.scale
        if self.rotary:
            attrs["do_rotary"] = 1
        if self.rotary == "interleaved":
            attrs["rotary_interleaved"] = 1
        return attrs

    def inputs(self):
        seed, dtype, batch, sequence, size = self.seed * 10, self.dtype, self.batch, self.sequence, self.size
        cache_shape = [batch, self.kv_heads, self.capacity, size]
        heads = self.heads + 2 * self.kv_heads if self.packed else self.heads
        result = {"queryT": tensor(dtype, [batch, sequence, heads * size], grid(seed + 1))}
        if not self.packed:
            result["keyT"] = tensor(dtype, [batch, sequence, self.kv_heads * size], grid(seed + 2))
            result["valueT"] = tensor(dtype, [batch, sequence, self.kv_heads * size], grid(seed + 3))
        for i, port in enumerate(CACHES):
            result[port] = tensor(dtype, cache_shape, grid(seed + 4 + i))
            if self.stale:
                result[port]["pokeRange"] = [
                    [((item * self.kv_heads + head) * self.capacity + self.past(item)) * size,
                     (item * self.kv_heads + head + 1) * self.capacity * size, "nan"]
                    for item in range(batch) for head in range(self.kv_heads)]
        result.update(self.mask)
        result["totalSequenceLengthT"] = ints([] if self.scalar_total else [1], [self.total])
        result["keyTotalSequenceLengthsT"] = ints([batch], self.lengths)
        if self.rotary:
            for i, port in enumerate(("cosCacheT", "sinCacheT")):
                result[port] = tensor(dtype, [self.rows, self.width], grid(seed + 6 + i, 8, 0.125))
        return result

    def outputs(self, tolerance=None):
        rotary, half = bool(self.rotary), self.dtype == F16
        default = (6e-3 if rotary else 3e-3) if half else (1e-4 if rotary else 2e-5)
        tolerance = default if tolerance is None else tolerance
        width = self.heads * self.size
        out = {"dtype": self.dtype, "shape": [self.batch, self.sequence, width], "tolerance": {"abs": tolerance, "rel": tolerance}}
        # Padded tokens have no defined output.
        ignored = [[(item * self.sequence + self.lengths[item] - self.past(item)) * width, (item + 1) * self.sequence * width]
                   for item in range(self.batch) if self.past(item) + self.sequence > self.lengths[item]]
        if ignored:
            out["ignore"] = ignored
        cache = {"dtype": self.dtype, "shape": [self.batch, self.kv_heads, self.capacity, self.size]}
        key = dict(cache, tolerance={"abs": 1e-3, "rel": 1e-3} if half else {"abs": 1e-6, "rel": 1e-6}) if rotary else dict(cache)
        return {"outputT": out, "pastKeyT": key, "pastValueT": cache}

    def case(self, name, **more):
        tolerance = more.pop("tolerance", None)
        return {"name": name, "attrs": self.attributes(), "inputs": self.inputs(), "outputs": self.outputs(tolerance), **more}


# ---- options, all pairs

OPTIONS = {
    "dtype": [F32, F16],
    "packed": [False, True],
    "rotary": [None, "neox", "interleaved", "partial"],
    "block": [16, 32, 64, 128],
    "size": [8, 24, 40, 72, 96, 128, 256],
    "heads": [(2, 2), (4, 1), (6, 2)],
    "mode": ["prompt", "decode", "continuation", "padded", "ragged"],
    "layouts": [1, 2, "each"],
}


def possible(choice):
    """A rotary width of 8 needs 16 elements; a partial one is narrower than half of the head."""
    if choice.get("rotary") and choice.get("size", 256) < 16:
        return False
    return not (choice.get("rotary") == "partial" and choice.get("size", 256) < 32)


def all_pairs(options):
    """A small set of choices in which every possible pair of values occurs; greedy, always the same."""
    names = list(options)
    pairs = {(a, x, b, y) for a, b in itertools.combinations(names, 2) for x in options[a] for y in options[b]
             if possible({a: x, b: y})}
    chosen = []
    while pairs:
        first = min(pairs, key=lambda pair: (names.index(pair[0]), options[pair[0]].index(pair[1]), names.index(pair[2]),
                                             options[pair[2]].index(pair[3])))
        choice = {first[0]: first[1], first[2]: first[3]}
        for name in names:
            if name in choice:
                continue

            def gain(value, name=name):
                trial = {**choice, name: value}
                if not possible(trial):
                    return -1
                return sum((a, trial[a], b, trial[b]) in pairs for a, b in itertools.combinations(names, 2) if a in trial and b in trial)

            choice[name] = max(options[name], key=gain)
        chosen.append({name: choice[name] for name in names})
        pairs -= {(a, choice[a], b, choice[b]) for a, b in itertools.combinations(names, 2)}
    return chosen


def call_of(choice, seed):
    block, mode = choice["block"], choice["mode"]
    heads, kv_heads = choice["heads"]
    common = dict(dtype=choice["dtype"], packed=choice["packed"], rotary=choice["rotary"] and ("interleaved" if choice["rotary"] == "interleaved" else "neox"),
                  heads=heads, kv_heads=kv_heads, size=choice["size"], block=block, layouts=heads if choice["layouts"] == "each" else choice["layouts"],
                  seed=seed, width=8 if choice["rotary"] == "partial" else None)
    reach = 2 * block + 5  # more blocks than the local ones
    if mode == "prompt":
        return Call(min(reach, 70), **common)
    if mode == "decode":
        return Call(1, total=4 * block - 3, **common)
    if mode == "continuation":
        return Call(7, total=3 * block + 3, **common)
    if mode == "padded":
        return Call(21, batch=3, lengths=[21, 1, 16], **common)
    return Call(1, total=3 * block + 2, batch=3, lengths=[3 * block + 2, 1, block + 1], **common)


def name_of(choice):
    form = "packed" if choice["packed"] else "separate"
    heads, kv_heads = choice["heads"]
    return "_".join([choice["mode"], form, choice["rotary"] or "plain", "f16" if choice["dtype"] == F16 else "f32",
                     f"d{choice['size']}", f"b{choice['block']}", f"h{heads}k{kv_heads}", f"l{choice['layouts']}"])


def combinations(choices):
    return [call_of(choice, i + 1).case(name_of(choice)) for i, choice in enumerate(choices)]


def full_product():
    names = list(OPTIONS)
    choices = [dict(zip(names, values_)) for values_ in itertools.product(*OPTIONS.values())]
    return combinations([choice for choice in choices if possible(choice)])


# ---- edges

def both(name, make, **more):
    return [make(F32).case(f"{name}_f32", **more), make(F16).case(f"{name}_f16", **more)]


def masks():
    """Column lists in odd forms; all calls have 4 heads over 2 KV heads of 16 elements."""
    cases = []
    # Rows without entries, unsorted lists, duplicates, blocks right of the diagonal, the diagonal left out, garbage behind the lists.
    odd = lists([[[], [1, 0, 1, 1], [3, 0, 2], [1, 0]], [[0, 0, 0], [0], [2, 1], [3, 2, 3, 1]]], width=14, padding=-7)
    cases += both("odd_lists_prompt", lambda dtype: Call(64, dtype=dtype, mask=odd, blocks=4))
    cases += both("odd_lists_decode", lambda dtype: Call(1, total=50, dtype=dtype, mask=odd, blocks=4, rotary="neox"))
    cases += both("odd_lists_continuation", lambda dtype: Call(20, total=52, dtype=dtype, mask=odd, blocks=4))
    empty = lists([[[], [], []]], width=0)
    cases += both("no_live_key_prompt", lambda dtype: Call(40, dtype=dtype, mask=empty, blocks=3))
    cases += both("no_live_key_decode", lambda dtype: Call(1, total=40, dtype=dtype, mask=empty, blocks=3))
    only_future = lists([[[1, 2], [2], [2]]], width=9, padding=999)
    cases += both("only_right_of_the_diagonal", lambda dtype: Call(40, dtype=dtype, mask=only_future, blocks=3))
    dense = lists([[list(range(row + 1)) for row in range(5)]])
    backwards = lists([[list(range(row, -1, -1)) for row in range(5)]])
    for name, mask in (("dense", dense), ("backwards", backwards)):
        cases.append(Call(70, mask=mask, blocks=5, seed=77).case(f"{name}_layout"))
        cases.append(Call(1, total=70, mask=mask, blocks=5, seed=77, dtype=F16).case(f"{name}_layout_decode"))
    # As many entries as a causal row has, but other blocks: some implementations take such rows for dense.
    not_dense = lists([[[0], [0, 0], [2, 2, 1], [0, 1, 2, 3], [4, 4, 1, 9 % 5, 0]]])
    cases += both("as_many_entries_as_dense", lambda dtype: Call(75, dtype=dtype, mask=not_dense, blocks=5))
    # A row longer than a window of the list of live blocks.
    long_mask = lists([[[] for _ in range(1299)] + [[1299, 0, 1298, 600, 5, 1100, 511, 512]]])
    cases += both("long_row", lambda dtype: Call(1, total=1300 * 16 - 1, dtype=dtype, mask=long_mask, heads=2, kv_heads=1, size=8, blocks=1300, stale=False))
    cases.append(Call(3, total=1300 * 16 - 1, mask=long_mask, heads=2, kv_heads=1, size=8, blocks=1300, stale=False).case("long_row_continuation"))
    two_rows = lists([[[] for _ in range(1298)] + [[1298, 3, 1024, 511, 700], [1299, 0, 1298, 600, 5, 1100, 511, 512]]])
    for name, more in (("long_rows_of_a_chunk_f16", {}), ("matrices_long_rows_f16", {"tunables": {"EMULATE_MATRICES": True}})):
        cases.append(Call(20, total=1300 * 16 - 1, dtype=F16, mask=two_rows, heads=2, kv_heads=1, size=8, blocks=1300, stale=False).case(name, **more))
    return cases


# The form that long prompts have on large devices.
LARGE_FORM = {"MATRIX_SUBGROUPS": 8, "MATRIX_ROW_FRAGMENTS": 2, "MATRIX_SHARERS": 2}


def probes():
    """Queries of zero make each output the mean of the attended values, which are unit vectors: element t of a row tells the weight of key t."""
    cases = []
    for name, sequence, total in (("prompt", 72, 72), ("decode", 1, 70), ("continuation", 9, 70)):
        for dtype in (F32, F16):
            call = Call(sequence, total=total, dtype=dtype, heads=4, kv_heads=2, size=72, layouts=4, blocks=5, stale=False, capacity=72, seed=5)
            inputs = call.inputs()
            inputs["queryT"]["data"] = const(0)
            past = total - sequence
            inputs["valueT"] = tensor(dtype, inputs["valueT"]["shape"], const(0),
                                      poke=[[(s * 2 + head) * 72 + past + s, 1] for s in range(sequence) for head in range(2)])
            inputs["pastValueT"] = tensor(dtype, inputs["pastValueT"]["shape"], const(0),
                                          poke=[[(head * 72 + t) * 72 + t, 1] for head in range(2) for t in range(past)])
            case = call.case(f"weights_{name}_{'f16' if dtype == F16 else 'f32'}", tolerance=1e-6 if dtype == F32 else 5e-4)
            cases.append({**case, "inputs": inputs})
    # Over many tiles and blocks: key t weighs on element t % size, so that one key too many or too few shows as 1 / 400 at least.
    many = [("many_tiles", F16, {}), ("many_tiles", F32, {}), ("many_tiles_shared", F16, {"EMULATE_MATRICES": True, **LARGE_FORM, "MATRIX_SUBGROUPS": 4}),
            ("many_tiles_large", F16, LARGE_FORM)]
    for past in (0, 65):
        for name, dtype, tunables in many:
            call = Call(330, total=330 + past, dtype=dtype, heads=4, kv_heads=2, size=32, block=64, layouts=2, stale=False, seed=6)
            inputs = call.inputs()
            inputs["queryT"]["data"] = const(0)
            inputs["valueT"] = tensor(dtype, inputs["valueT"]["shape"], const(0),
                                      poke=[[(s * 2 + head) * 32 + (past + s) % 32, 1] for s in range(330) for head in range(2)])
            inputs["pastValueT"] = tensor(dtype, inputs["pastValueT"]["shape"], const(0),
                                          poke=[[(head * call.capacity + t) * 32 + t % 32, 1] for head in range(2) for t in range(past)])
            case = call.case(f"weights_of_{name}_after_{past}_{'f16' if dtype == F16 else 'f32'}", tolerance=1e-6 if dtype == F32 else 2e-4)
            cases.append({**case, "inputs": inputs, **({"tunables": tunables} if tunables else {})})
    return cases


def numbers():
    cases = []
    # Scores of hundreds, so that the softmax is nearly one-hot and its maximum moves from tile to tile.
    cases += [Call(70, dtype=F16, scale=4.0).case("large_scores_f16"), Call(70, scale=4.0).case("large_scores_f32", tolerance=2e-3),
              Call(1, total=150, dtype=F16, scale=4.0, blocks=10).case("large_scores_decode_f16"),
              Call(1, total=150, scale=4.0, blocks=10).case("large_scores_decode_f32", tolerance=2e-3)]
    # Maxima that grow with every block: keys grow along the sequence.
    for dtype in (F32, F16):
        call = Call(96, dtype=dtype, scale=1.0, seed=9, mask=lists([[list(range(row + 1)) for row in range(6)]]), blocks=6)
        inputs = call.inputs()
        inputs["queryT"]["data"] = const(0.5)
        inputs["keyT"]["data"] = {"kind": "axisIndex", "axis": 1, "step": 0.125}
        cases.append({**call.case(f"growing_scores_{'f16' if dtype == F16 else 'f32'}", tolerance=None if dtype == F16 else 1e-4), "inputs": inputs})
    for name, scale in (("negative", -0.5), ("tiny", 0.0009765625), ("zero", 0), ("one", 1)):
        cases.append(Call(40, scale=scale, seed=11).case(f"scale_{name}"))
        cases.append(Call(1, total=60, scale=scale, seed=11, dtype=F16, blocks=5).case(f"scale_{name}_decode_f16"))
    return cases


def lengths():
    cases = []
    for total in (1, 15, 16, 17, 63, 64, 65):
        cases.append(Call(1, total=total, block=64, blocks=3, rotary="neox", seed=20 + total).case(f"decode_at_{total}"))
        cases.append(Call(1, total=total, block=16, blocks=6, dtype=F16, packed=True, seed=20 + total).case(f"decode_at_{total}_packed_f16"))
    for sequence in (1, 2, 15, 16, 17, 31, 32, 33, 65):
        cases.append(Call(sequence, seed=40 + sequence).case(f"prompt_of_{sequence}"))
        cases.append(Call(sequence, dtype=F16, rotary="interleaved", packed=True, seed=40 + sequence).case(f"prompt_of_{sequence}_packed_f16"))
    for past in (1, 15, 16, 17, 40):
        cases.append(Call(18, total=past + 18, rotary="neox", blocks=6, seed=60 + past).case(f"continuation_after_{past}"))
        cases.append(Call(2, total=past + 2, dtype=F16, blocks=6, seed=60 + past).case(f"two_tokens_after_{past}_f16"))
    cases += both("ragged_continuation", lambda dtype: Call(5, total=45, batch=3, lengths=[45, 5, 21], dtype=dtype, rotary="neox", blocks=4))
    cases += both("padded_prompt", lambda dtype: Call(33, batch=4, lengths=[33, 1, 16, 17], dtype=dtype, rotary="neox"))
    cases += both("long_cache", lambda dtype: Call(1, total=40, blocks=40, dtype=dtype))
    cases.append(Call(34, capacity=1000, rows=35, blocks=64, rotary="neox").case("capacity_beyond_everything"))
    cases.append(Call(20, scalar_total=True).case("total_of_rank_0"))
    cases.append(Call(1, total=33, scalar_total=True, dtype=F16).case("total_of_rank_0_decode_f16"))
    # B x heads and rows beyond one dispatch axis.
    cases.append(Call(1, total=3, batch=8200, heads=8, kv_heads=8, size=8, blocks=1, capacity=16, stale=False).case("heads_beyond_65535_decode"))
    cases.append(Call(2, batch=8200, heads=8, kv_heads=8, size=8, blocks=1, capacity=2, stale=False, dtype=F16).case("heads_beyond_65535_prompt_f16"))
    # NaN among padded tokens stays with them.
    call = Call(20, batch=2, lengths=[20, 9], seed=90)
    inputs = call.inputs()
    for port in ("queryT", "keyT", "valueT"):
        width = inputs[port]["shape"][2]
        inputs[port]["pokeRange"] = [[(20 + 9) * width, 40 * width, "nan"]]
    cases.append({**call.case("nan_in_padded_tokens"), "inputs": inputs})
    return cases


def sizes():
    cases = []
    for size in (16, 32, 48, 56, 64, 80, 112, 160, 192):
        cases.append(Call(19, size=size, heads=2, kv_heads=1, seed=100 + size, rotary="neox").case(f"head_{size}"))
        cases.append(Call(1, total=37, size=size, heads=2, kv_heads=1, seed=100 + size, dtype=F16, blocks=4).case(f"head_{size}_decode_f16"))
    for size in (512, 1024, 3200):
        cases.append(Call(5, size=size, heads=2, kv_heads=1, seed=100, rotary="interleaved").case(f"head_{size}"))
        cases.append(Call(1, total=20, size=size, heads=2, kv_heads=1, seed=100, dtype=F16).case(f"head_{size}_decode_f16"))
    for heads, kv_heads in ((1, 1), (5, 1), (7, 1), (9, 3), (12, 1), (16, 2), (32, 8)):
        cases.append(Call(20, heads=heads, kv_heads=kv_heads, size=8, layouts=heads, stride=4, seed=200 + heads).case(f"heads_{heads}_{kv_heads}"))
        cases.append(Call(1, total=75, heads=heads, kv_heads=kv_heads, size=16, layouts=heads, stride=4, rotary="neox", packed=True,
                          seed=200 + heads).case(f"heads_{heads}_{kv_heads}_decode"))
    return cases


def attributes():
    cases = []
    for value in (0, 2, -1):
        call = Call(20, rotary="neox", seed=300)
        inputs, attrs = call.inputs(), call.attributes()
        attrs["do_rotary"] = value
        plain = Call(20, seed=300)
        cases.append({"name": f"do_rotary_{value}_is_off".replace("-", "minus_"), "attrs": attrs, "inputs": inputs, "outputs": plain.outputs()})
    for value in (2, -1):
        call = Call(20, rotary="neox", seed=301)
        attrs = call.attributes()
        attrs["rotary_interleaved"] = value
        cases.append({**call.case(f"rotary_interleaved_{value}_is_neox".replace("-", "minus_")), "attrs": attrs})
    # Upstream names of the ports.
    call = Call(12, seed=302)
    upstream = {"queryT": "query", "keyT": "key", "valueT": "value", "pastKeyT": "past_key", "pastValueT": "past_value",
                "blockRowIndicesT": "block_row_indices", "blockColIndicesT": "block_col_indices",
                "totalSequenceLengthT": "total_sequence_length", "keyTotalSequenceLengthsT": "key_total_sequence_lengths"}
    cases.append({"name": "upstream_names", "attrs": call.attributes(), "inputs": {upstream[port]: t for port, t in call.inputs().items()},
                  "outputs": {"output": call.outputs()["outputT"]}})
    return cases


def tunables():
    """The paths that no device here would choose."""
    cases = []
    emulated = {"EMULATE_MATRICES": True}
    narrow = {"EMULATE_MATRICES": True, "EMULATED_ROWS": 4}
    split = {"EMULATE_MATRICES": True, "SPLIT_FLOAT32": True}
    for name, more in (("matrices", emulated), ("narrow_matrices", narrow)):
        for dtype in (F32, F16):
            tag = "f16" if dtype == F16 else "f32"
            cases.append(Call(40, dtype=dtype, rotary="neox", seed=400).case(f"{name}_prompt_{tag}", tunables=more))
            cases.append(Call(19, total=51, dtype=dtype, packed=True, rotary="interleaved", seed=401, blocks=4).case(f"{name}_continuation_{tag}", tunables=more))
            cases.append(Call(37, dtype=dtype, batch=3, lengths=[37, 1, 16], seed=402).case(f"{name}_padded_{tag}", tunables=more))
            cases.append(Call(70, dtype=dtype, scale=3.0, seed=403).case(f"{name}_large_scores_{tag}", tunables=more, tolerance=None if dtype == F16 else 2e-3))
            cases.append(Call(40, dtype=dtype, size=24, heads=3, kv_heads=1, block=32, layouts=3, packed=True, seed=404).case(f"{name}_three_heads_{tag}", tunables=more))
    # A thin tail after whole matrix tiles, in a prompt and (then part of the matrix pass) in a call with a past.
    for name, more, size, sequence in (("matrices", emulated, 40, 37), ("narrow_matrices", narrow, 16, 19)):
        cases.append(Call(sequence, size=size, rotary="neox", seed=410).case(f"{name}_tail", tunables=more))
        cases.append(Call(sequence, size=size, batch=2, lengths=[sequence, 3], packed=True, seed=411).case(f"{name}_tail_padded", tunables=more))
        cases.append(Call(sequence, total=sequence + 21, size=size, seed=412, blocks=5).case(f"{name}_tail_with_past", tunables=more))
    cases.append(Call(40, dtype=F16, seed=405).case("narrow_matrices_two_fragments_f16", tunables={**narrow, "MATRIX_ROW_FRAGMENTS": 2}))
    cases.append(Call(40, seed=405).case("narrow_matrices_two_fragments_f32", tunables={**narrow, "MATRIX_ROW_FRAGMENTS": 2}))
    # Subgroups that share rows; the second has more of them than its head allows.
    shared = {**emulated, "MATRIX_SHARERS": 2, "MATRIX_ROW_FRAGMENTS": 2}
    cases.append(Call(70, dtype=F16, rotary="neox", size=32, scale=2.0, seed=414).case("shared_matrices", tunables=shared))
    cases.append(Call(40, dtype=F16, size=24, seed=415).case("shared_matrices_odd_head", tunables=shared))
    cases.append(Call(70, total=90, dtype=F16, packed=True, size=64, scale=2.0, seed=416, blocks=6).case("shared_matrices_of_one_fragment",
                 tunables={**shared, "MATRIX_ROW_FRAGMENTS": 1}))
    # The sign of a scale goes into the staged queries.
    for name, rotary, more in (("matrices", "neox", emulated), ("matrices_plain", None, emulated), ("split_matrices", "neox", split)):
        cases.append(Call(40, dtype=F32 if more is split else F16, scale=-0.5, rotary=rotary, seed=419).case(f"{name}_negative_scale", tunables=more))
    # All of a workgroup's subgroups share its rows, with and without lanes that have no part of any row.
    for name, more in (("shared", emulated), ("narrow_shared", narrow)):
        cases.append(Call(70, dtype=F16, rotary="neox", size=32, scale=2.0, seed=417).case(f"{name}_matrices_of_four", tunables={**more, "MATRIX_SHARERS": 4}))
    # Row maxima far above those of the first tile: fragments are rescaled, by the subgroup of a row and by those that share it.
    for name, more in (("matrices", emulated), ("shared_matrices", {**emulated, "MATRIX_SHARERS": 4})):
        cases.append(Call(70, dtype=F16, scale=24.0, size=32, seed=418).case(f"{name}_rescaled", tunables=more))
    cases.append(Call(70, scale=24.0, size=32, seed=418).case("matrices_rescaled_f32", tunables=emulated, tolerance=2e-3))
    # Narrow tiles leave lanes of a subgroup without work.
    for dtype in (F32, F16):
        cases.append(Call(70, dtype=dtype, scale=3.0, seed=413).case(f"narrow_matrices_few_keys_{'f16' if dtype == F16 else 'f32'}",
                     tunables={**narrow, "MATRIX_KEYS": 8}, tolerance=None if dtype == F16 else 2e-3))
    # Tiles of one or two KV heads before those of the others, in a batch.
    for near in (1, 2):
        cases.append(Call(40, dtype=F16, rotary="neox", heads=8, kv_heads=4, batch=2, lengths=[40, 23], seed=421).case(
            f"matrices_near_heads_{near}", tunables={**emulated, "MATRIX_NEAR_HEADS": near}))
    # The large form where a device has such matrices: rotated and ragged, packed after a past, with rescaled rows.
    cases.append(Call(150, dtype=F16, rotary="neox", size=128, block=64, batch=2, lengths=[150, 77], seed=422).case("large_form_ragged", tunables=LARGE_FORM))
    cases.append(Call(140, total=333, dtype=F16, packed=True, rotary="interleaved", size=64, block=32, seed=423).case("large_form_packed_with_past",
                 tunables={**LARGE_FORM, "MATRIX_NEAR_HEADS": 1}))
    cases.append(Call(135, dtype=F16, scale=24.0, size=32, seed=424).case("large_form_rescaled", tunables=LARGE_FORM))
    # Heads that cannot be shared: fewer rows a subgroup, so that a tile has at most eight blocks of rows.
    cases.append(Call(140, dtype=F16, size=8, seed=425).case("large_form_of_unshared_heads", tunables=LARGE_FORM))
    # Fewer keys than a matrix has.
    cases.append(Call(40, total=70, dtype=F16, packed=True, size=32, seed=420, blocks=5).case("native_matrices_few_keys", tunables={"MATRIX_KEYS": 8}))
    cases.append(Call(40, size=32, seed=420).case("split_native_matrices_few_keys", tunables={"MATRIX_KEYS": 8, "SPLIT_FLOAT32": True}))
    cases.append(Call(40, seed=406, rotary="neox").case("split_matrices", tunables=split))
    cases.append(Call(40, seed=406, packed=True).case("split_native_matrices", tunables={"SPLIT_FLOAT32": True}))
    for halves in ("pack", "native", "integer"):
        cases.append(Call(20, dtype=F16, rotary="neox", seed=407).case(f"halves_{halves}", tunables={"HALVES": halves}))
    for lanes, unroll, workgroups in ((64, 1, 1), (128, 2, 64), (256, 4, 4000)):
        cases.append(Call(1, total=300, heads=4, kv_heads=1, rotary="neox", seed=408, blocks=20, local=4, stride=4).case(
            f"decode_lanes_{lanes}", tunables={"DECODE_LANES": lanes, "DECODE_UNROLL": unroll, "DECODE_WORKGROUPS": workgroups, "DECODE_SHORT": 0}))
    # The GPU's forms of decode, also where an adapter prefers others: scores not spread over lanes, one chunk of keys per split, several, one head per subgroup.
    for name, tunables in (("plain", {"DECODE_SPREAD": False}), ("heads", {"DECODE_HEADS": True})):
        for splits, workgroups in (("few", 3), ("many", 600)):
            settings = {**tunables, "DECODE_WORKGROUPS": workgroups, "DECODE_SHORT": 0}
            for dtype, more in ((F16, {"size": 128, "heads": 4, "kv_heads": 1, "scale": 2.0}), (F32, {"size": 40, "heads": 6, "kv_heads": 2, "packed": True})):
                cases.append(Call(1, total=300, dtype=dtype, rotary="neox", seed=417, blocks=20, local=4, stride=4, batch=2, lengths=[300, 131], **more).case(
                    f"decode_{name}_{splits}_{'f16' if dtype == F16 else 'f32'}", tunables=settings))
    # One chunk of keys a workgroup: all, some or one of a KV head's query heads, subgroups that share a chunk, chunks of several blocks, a length at its
    # edge, lists in any order with columns beyond the diagonal, no list at all.
    for name, form, tunables in (
            ("f16", {"dtype": F16, "size": 128, "block": 16, "blocks": 20}, {}), ("f32", {"size": 64, "block": 32, "blocks": 11, "packed": True}, {"DECODE_ROWS": 2}),
            ("small_f16", {"dtype": F16, "size": 32, "block": 16, "blocks": 20, "packed": True}, {"DECODE_CHUNK_LANES": 32, "DECODE_UNROLL": 4}),
            ("small_f32", {"size": 64, "block": 64, "blocks": 6}, {"DECODE_CHUNK_LANES": 16, "DECODE_ROWS": 3}),
            ("one_head", {"size": 64, "block": 16, "blocks": 20}, {"DECODE_CHUNK_LANES": 32, "DECODE_ROWS": 1})):
        for rotary, lengths in (("neox", [300, 131]), ("interleaved", [289, 288]), (None, [257, 1])):
            cases.append(Call(1, total=lengths[0], rotary=rotary, heads=8, kv_heads=2, local=3, stride=4, batch=2, lengths=lengths, seed=423, scale=1.5, **form).case(
                f"decode_chunk_{name}_at_{lengths[0]}", tunables={"DECODE_SHORT": 0, **tunables}))
        mess = [[[(3 * i + 5 * row + layout) % form["blocks"] for i in range(form["blocks"])] if row % 3 else [] for row in range(form["blocks"])] for layout in range(4)]
        for total in (290, 320):
            cases.append(Call(1, total=total, heads=8, kv_heads=2, mask=lists(mess), seed=424, **form).case(f"decode_chunk_{name}_any_order_at_{total}", tunables={"DECODE_SHORT": 0, **tunables}))
    # A few tokens split over the key axis, some of them in the next block; all splits of a call in one dispatch.
    for dtype, more in ((F16, {"size": 128, "heads": 4, "kv_heads": 1, "scale": 2.0}), (F32, {"size": 40, "heads": 6, "kv_heads": 2, "packed": True})):
        element = "f16" if dtype == F16 else "f32"
        call = {"dtype": dtype, "rotary": "neox", "seed": 420, "blocks": 20, "local": 4, "stride": 4, "batch": 2, **more}
        for splits, workgroups in (("few", 3), ("many", 600)):
            cases.append(Call(3, total=290, lengths=[290, 129], **call).case(
                f"continuation_split_{splits}_{element}", tunables={"DECODE_WORKGROUPS": workgroups}))
        cases.append(Call(1, total=300, lengths=[300, 131], **call).case(f"decode_one_dispatch_{element}", tunables={"DECODE_SHORT": 1000}))
    return cases


def untouched():
    """Bit by bit: all of the caches but the appended rows stays as it was, NaNs and zeros included, also where keys are rotated."""
    cases = []
    for name, sequence, total, lengths_ in (("prompt", 37, 37, [37, 5]), ("decode", 1, 90, [90, 17]), ("few_tokens", 3, 66, [66, 3]),
                                            ("continuation", 19, 83, [83, 40])):
        for dtype, form in ((F32, {"rotary": "neox", "size": 40}), (F16, {"rotary": "interleaved", "size": 32, "packed": True}),
                            (F16, {"rotary": "neox", "size": 128, "heads": 8})):
            call = Call(sequence, total=total, batch=2, lengths=lengths_, dtype=dtype, blocks=7, capacity=101, seed=430, **form)
            case = call.case(f"appended_rows_of_{name}_{'packed_' if call.packed else ''}{'f16' if dtype == F16 else 'f32'}")
            for port in CACHES:
                expected = case["outputs"][port]
                expected.pop("tolerance", None)
                expected["data"] = {"kind": "input", "port": port}
                starts = [((item * call.kv_heads + head) * call.capacity + call.past(item)) * call.size for item in range(2) for head in range(call.kv_heads)]
                expected["ignore"] = [[start, start + sequence * call.size] for start in starts]
            cases.append(case)
    return cases


def empty():
    cases = []
    for name, call in (("batch", Call(4, batch=0, lengths=[])), ("sequence", Call(0, total=0, lengths=[0], blocks=2)),
                       ("sequence_with_past", Call(0, total=7, lengths=[7], blocks=2, dtype=F16))):
        case = call.case(f"empty_{name}")
        for port in CACHES:
            case["inputs"][port].pop("pokeRange", None)
            case["outputs"][port]["data"] = {"kind": "input", "port": port}
        cases.append(case)
    return cases


def refused():
    """Requests that must fail before anything is written."""
    cases = []

    def add(name, error, change=None, attrs=None, call=None):
        call = call or Call(20, total=40, blocks=4, rotary="neox")
        inputs, attributes_ = call.inputs(), call.attributes()
        if change:
            change(inputs)
        for key, value in (attrs or {}).items():
            if value is None:
                attributes_.pop(key, None)
            else:
                attributes_[key] = value
        cases.append({"name": f"refused_{name}", "attrs": attributes_, "inputs": inputs, "error": error})

    def put(port, shape, dtype=F32):
        return lambda inputs: inputs.__setitem__(port, tensor(dtype, shape, const(1)))

    def set_ints(port, shape, items):
        return lambda inputs: inputs.__setitem__(port, ints(shape, items))

    def drop(*ports):
        return lambda inputs: [inputs.pop(port) for port in ports]

    def together(*changes):
        return lambda inputs: [change(inputs) for change in changes]

    add("query_rank_2", "request/rank", put("queryT", [20, 64]))
    add("query_rank_4", "request/rank", put("queryT", [1, 4, 20, 16]))
    add("query_width", "request/shape", put("queryT", [1, 20, 60]))
    add("query_of_packed_width", "request/shape", put("queryT", [1, 20, 128]))
    add("key_alone", "request/missing", drop("valueT"))
    add("value_alone", "request/missing", drop("keyT"))
    add("packed_width", "request/shape", drop("keyT", "valueT"))
    for name, shape in (("rank", [1, 2, 20, 16]), ("batch", [2, 20, 32]), ("sequence", [1, 19, 32]), ("width", [1, 20, 16])):
        add(f"key_{name}", "request/shape", put("keyT", shape))
    add("value_shape", "request/shape", put("valueT", [1, 20, 16]))
    add("past_key_rank", "request/rank", put("pastKeyT", [1, 2, 1024]))
    add("past_key_batch", "request/shape", put("pastKeyT", [2, 2, 64, 16]))
    add("past_key_heads", "request/shape", put("pastKeyT", [1, 4, 64, 16]))
    add("past_value_shape", "request/shape", put("pastValueT", [1, 2, 63, 16]))
    add("past_value_head_size", "request/shape", put("pastValueT", [1, 2, 64, 8]))
    for size in (0, 4, 12, 20):
        add(f"head_size_{size}", "request/shape", together(put("pastKeyT", [1, 2, 64, size]), put("pastValueT", [1, 2, 64, size]),
                                                           put("queryT", [1, 20, 4 * size]), put("keyT", [1, 20, 2 * size]), put("valueT", [1, 20, 2 * size])))
    add("cache_below_sequence", "request/shape", together(put("pastKeyT", [1, 2, 19, 16]), put("pastValueT", [1, 2, 19, 16])),
        call=Call(20, rotary="neox"))
    for attr in ("num_heads", "kv_num_heads", "sparse_block_size"):
        add(f"no_{attr}", "request/missing", attrs={attr: None})
    for attr in ("num_heads", "kv_num_heads"):
        for value in (0, -2, 2.5):
            add(f"{attr}_{value}".replace("-", "minus_").replace(".", "_"), "request/attribute", attrs={attr: value})
    for value in (0, 1, 8, 24, 100, 256):
        add(f"block_size_{value}", "request/attribute", attrs={"sparse_block_size": value})
    add("kv_heads_no_divisor", "request/attribute", attrs={"kv_num_heads": 3})
    add("kv_heads_above_heads", "request/attribute", attrs={"kv_num_heads": 8})
    add("unknown_attribute", "request/unknown", attrs={"softcap": 1.0})
    add("text_scale", "request/attribute", attrs={"scale": "0.5"})
    for port in ("queryT", "pastKeyT", "pastValueT", "blockRowIndicesT", "blockColIndicesT", "totalSequenceLengthT", "keyTotalSequenceLengthsT"):
        add(f"no_{port}", "request/missing", drop(port))
    for port in ("queryT", "keyT", "pastValueT", "cosCacheT"):
        add(f"mixed_dtype_{port}", "request/dtype", lambda inputs, port=port: inputs[port].update(dtype=F16, data=const(1)))
    add("int64_lengths", "request/dtype", lambda inputs: inputs["keyTotalSequenceLengthsT"].update(dtype="int64"))
    # The mask.
    add("rows_rank", "request/rank", set_ints("blockRowIndicesT", [5], [0, 1, 2, 3, 4]))
    add("no_layout", "request/shape", together(set_ints("blockRowIndicesT", [0, 5], []), set_ints("blockColIndicesT", [0, 4], [])))
    add("no_block", "request/shape", set_ints("blockRowIndicesT", [2, 1], [0, 0]))
    add("layouts_no_divisor", "request/shape", together(set_ints("blockRowIndicesT", [3, 5], [0, 1, 1, 1, 1] * 3), set_ints("blockColIndicesT", [3, 1], [0] * 3)))
    add("columns_rank", "request/rank", set_ints("blockColIndicesT", [4], [0] * 4))
    add("columns_layouts", "request/shape", set_ints("blockColIndicesT", [4, 9], [0] * 36))
    add("blocks_below_sequence", "request/shape", together(set_ints("blockRowIndicesT", [2, 2], [0, 1, 0, 1]), set_ints("blockColIndicesT", [2, 1], [0, 0])))
    rows, columns = [0, 1, 3, 5, 7], [0, 0, 1, 1, 2, 2, 3]

    def mask(pointers, cols, width=None):
        return together(set_ints("blockRowIndicesT", [2, 5], pointers), set_ints("blockColIndicesT", [2, width or len(cols) // 2], cols))

    good = columns + columns
    for name, pointers in (("start", [1, 1, 3, 5, 7] + rows), ("second_start", rows + [1, 1, 3, 5, 7]), ("decreasing", [0, 3, 1, 5, 7] + rows),
                           ("negative", rows + [0, -1, 3, 5, 7]), ("above_width", rows + [0, 1, 3, 5, 8])):
        add(f"row_pointers_{name}", "request/value", mask(pointers, good))
    for name, cols in (("negative", columns[:-1] + [-1] + columns), ("too_large", columns[:-1] + [4] + columns), ("in_second_layout", columns + columns[:3] + [4] + columns[4:])):
        add(f"column_{name}", "request/value", mask(rows + rows, cols))
    # The lengths.
    add("total_of_two", "request/shape", set_ints("totalSequenceLengthT", [2], [40, 40]))
    add("total_of_none", "request/shape", set_ints("totalSequenceLengthT", [0], []))
    add("total_of_rank_2", "request/shape", set_ints("totalSequenceLengthT", [1, 1], [40]))
    add("total_above_cache", "request/value", together(put("pastKeyT", [1, 2, 39, 16]), put("pastValueT", [1, 2, 39, 16])))
    add("total_above_blocks", "request/value", together(set_ints("blockRowIndicesT", [2, 3], [0, 1, 2] * 2), set_ints("blockColIndicesT", [2, 2], [0, 1] * 2)))
    add("total_above_rotary", "request/value", together(put("cosCacheT", [39, 8]), put("sinCacheT", [39, 8])))
    add("total_below_sequence", "request/value", together(set_ints("totalSequenceLengthT", [1], [19]), set_ints("keyTotalSequenceLengthsT", [1], [19])))
    add("total_negative", "request/value", set_ints("totalSequenceLengthT", [1], [-40]))
    add("lengths_rank", "request/rank", set_ints("keyTotalSequenceLengthsT", [1, 1], [40]))
    add("lengths_scalar", "request/rank", set_ints("keyTotalSequenceLengthsT", [], [40]))
    add("lengths_count", "request/shape", set_ints("keyTotalSequenceLengthsT", [2], [40, 40]))
    add("length_above_total", "request/value", set_ints("keyTotalSequenceLengthsT", [1], [41]))
    add("length_below_sequence", "request/value", set_ints("keyTotalSequenceLengthsT", [1], [19]))
    add("prompt_length_zero", "request/value", set_ints("keyTotalSequenceLengthsT", [1], [0]), call=Call(20))
    # The rotation.
    add("no_cosine", "request/missing", drop("cosCacheT"))
    add("no_sine", "request/missing", drop("sinCacheT"))
    add("no_tables", "request/missing", drop("cosCacheT", "sinCacheT"))
    add("tables_rank_1", "request/rank", together(put("cosCacheT", [64]), put("sinCacheT", [64])))
    add("tables_rows_differ", "request/shape", put("sinCacheT", [63, 8]))
    add("tables_widths_differ", "request/shape", put("sinCacheT", [64, 16]))
    for width in (0, 4, 12, 16):
        add(f"tables_width_{width}", "request/shape", together(put("cosCacheT", [64, width]), put("sinCacheT", [64, width])))
    return cases


def tests():
    return {"cases": combinations(all_pairs(OPTIONS)) + masks() + probes() + numbers() + lengths() + sizes() + attributes() + tunables() + untouched() + empty() + refused()}


def full_tests():
    return {"cases": full_product()}


if __name__ == "__main__":
    case_writer.main(__doc__, [(PACKAGE / "test.json", tests, True), (PACKAGE / "bench.json", benches, True), (None, full_tests, False)])
