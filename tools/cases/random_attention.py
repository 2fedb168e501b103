# SPDX-License-Identifier: Apache-2.0
"""Random calls of SparseAttention: lengths around blocks, tiles and lists, ragged batches, any lists of blocks, every form of the request."""
from case_writer import F16, F32, const
from random_norms import chance, near, some
from sparse_attention import Call
from sparse_attention_inputs import CACHES, block_mask, ints, lists

SIZES = [8, 8, 16, 16, 24, 32, 32, 40, 48, 56, 64, 64, 72, 80, 96, 112, 120, 128, 128, 136, 192, 256, 264]
HEADS = [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (4, 2), (4, 4), (5, 1), (6, 2), (6, 3), (7, 1), (8, 1), (8, 2), (8, 4), (9, 3), (10, 2), (12, 1), (16, 2), (16, 16), (17, 1), (32, 4)]
# Tokens: rows of a tile of the portable, tiled and matrix kernels; totals: blocks, the longest cache that decodes in one dispatch, keys of a pass.
TOKENS = [2, 2, 3, 4, 4, 5, 7, 8, 9, 12, 16, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 66, 72, 96, 127, 128, 129]
TOTALS = [1, 2, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 96, 127, 128, 129, 144, 200, 256, 257, 384, 512, 639, 640, 641, 1024, 2112, 4224]

TUNABLES = {
    "MATRIX_ROW_FRAGMENTS": [1, 2, 4],
    "MATRIX_SUBGROUPS": [1, 2, 4, 8],
    "MATRIX_SHARERS": [1, 2, 4],
    "MATRIX_NEAR_HEADS": [1, 2],
    "TILED_ROWS": [8],
    "MATRIX_KEYS": [8, 16],
    "DECODE_LANES": [32, 64, 256, 512],
    "DECODE_UNROLL": [1, 2, 8, 16],
    "DECODE_WORKGROUPS": [1, 3, 50, 4000],
    "DECODE_SPREAD": [False],
    "DECODE_HEADS": [False],
    "DECODE_HEAD_UNROLL": [1, 2, 4, 16],
    "DECODE_TOUCH": [False],
    "DECODE_MERGE_LANES": [32, 64, 128],
    "DECODE_MERGE_SLICES": [1, 3, 8],
    "DECODE_SHORT": [0, 16, 300, 100000],
    "DECODE_TOKENS": [1, 4, 16],
    "DECODE_FUSED": [False],
    "HALVES": ["pack", "integer"],
    "SPLIT_FLOAT32": [True],
}


def row_of(source, row, blocks, density):
    """The list of one row: any order, sometimes blocks twice, right of the diagonal, or none at all."""
    picked = [k for k in range(row + 1) if source.random() < density]
    form = source.random()
    if form < 0.1:
        return []
    if form < 0.5 and row not in picked:
        picked.append(row)
    if form > 0.8:
        picked += [source.randrange(blocks) for _ in range(source.randint(0, 4))]
    if form > 0.6:
        source.shuffle(picked)
    return picked


def mask_of(source, layouts, blocks, rows):
    """Block lists; of long masks only `rows` have any."""
    if blocks <= 64 and chance(source, 0.4):
        return block_mask(layouts, blocks, source.choice([1, 1, 2, 3, 16]), source.choice([1, 2, 3, 4, 8, 1000]))
    density = source.choice([0.05, 0.2, 0.5, 0.9, 1.0]) if blocks <= 300 else source.choice([0.02, 0.1, 0.3])
    made = [[row_of(source, row, blocks, density) if blocks <= 64 or row in rows else [] for row in range(blocks)] for _ in range(layouts)]
    width = max(sum(map(len, layout)) for layout in made) + source.choice([0, 0, 1, 7])
    return lists(made, width, source.choice([-1, -1, -7, 2**31 - 1, blocks, 0]))


def lengths_of(source, batch, least, total):
    """Any legal lengths; the total need not be among them."""
    if chance(source, 0.3):
        return [total] * batch
    return [max(least, min(total, source.choice([total, least, source.randint(least, total), near(source, [16, 32, 64, 128])]))) for _ in range(batch)]


def model_geometry(source, mode):
    """Heads as models have them, and enough tiles or keys for the plans of large calls."""
    size, block = 128, 64
    if mode == "decode":
        heads, kv_heads, batch, sequence, total = 32, 8, source.choice([1, 1, 2]), 1, source.choice([130, 700, 2112, 2113, 4224, 4300])
    else:
        heads, kv_heads, batch, sequence = *source.choice([(32, 8), (24, 8), (8, 2)]), source.choice([1, 2, 3]), source.choice([96, 128, 129, 160, 200])
        total = sequence + (source.choice([1, 64, 100]) if mode == "continuation" else 0)
    blocks = -(-total // block) + source.choice([0, 1, 9])
    return mode, block, size, heads, kv_heads, batch, sequence, total, blocks, source.choice([total, blocks * block])


def geometry(source, family, limit):
    """Sizes whose work fits the limit; what shader texts depend on is the family's where that fits."""
    block, size = family.choice([16, 16, 32, 64, 128]), family.choice(SIZES)
    heads, kv_heads = family.choice(HEADS)
    mode = family.choice(["decode", "decode", "prompt", "prompt", "continuation"])
    if limit >= 1 << 16 and chance(family, 0.3):
        return model_geometry(source, mode)
    for turn in range(1000):
        if turn > 20:
            size, (heads, kv_heads) = source.choice(SIZES), source.choice(HEADS)
        batch = source.choice([1, 1, 1, 2, 3, 5])
        sequence = 1 if mode == "decode" else near(source, TOKENS)
        total = sequence if mode == "prompt" else max(sequence + 1, near(source, TOTALS))
        if mode == "decode" and chance(source, 0.05):
            total = 1
        if mode == "decode" and chance(source, 0.08):
            block, size, heads, kv_heads, batch, total = 16, source.choice([8, 16, 64]), *source.choice([(1, 1), (4, 1), (2, 2)]), 1, source.randint(4000, 30000)
        blocks = -(-total // block) + source.choice([0, 0, 0, 1, 2, 9])
        if mode == "decode" and chance(source, 0.1):
            blocks += source.choice([60, 400, 1100, 2100])
        capacity = source.choice([blocks * block, total, total + source.randint(0, 40), blocks * block + 24])
        cache = batch * kv_heads * capacity * size
        if max(cache, batch * sequence * (heads + 2 * kv_heads) * size) <= 8 * limit and batch * sequence * heads * total * size <= 64 * limit:
            return mode, block, size, heads, kv_heads, batch, sequence, total, blocks, capacity
    raise RuntimeError("no call within the limit")


def attention(source, name, limit, family):
    """One call of SparseAttention."""
    mode, block, size, heads, kv_heads, batch, sequence, total, blocks, capacity = geometry(source, family, limit)
    prompt = total == sequence
    lengths = lengths_of(source, batch, 1 if prompt else sequence, total)
    dtype, rotary, packed, tuned, half_width = family.choice([F32, F16]), family.choice([None, "neox", "interleaved"]), chance(family, 0.4), family.random(), family.random()
    rotary = rotary if size >= 16 else None
    layouts = source.choice([d for d in range(1, heads + 1) if heads % d == 0])
    rows = set() if prompt else {position // block for length in lengths for position in range(length - sequence, length)}
    scale = source.choice([None, None, None, 0, 1.0, -0.5, 3.0, 0.001])
    sharp = abs(scale) * size**0.5 if scale else 1
    call = Call(sequence, total, dtype, packed, rotary, batch, heads, kv_heads, size, block, mask_of(source, layouts, blocks, rows),
                capacity=capacity, blocks=blocks, lengths=lengths, scale=scale, width=8 + int(half_width * (size // 16)) * 8 if rotary else None,
                rows=total + source.choice([0, 0, 1, 50]), seed=source.randrange(1 << 28), scalar_total=chance(source, 0.3))
    # Scores err in proportion to their size, and weights as much.
    tolerance = None
    if sharp > 1.5:
        tolerance = max(6e-3 if rotary else 3e-3, 2e-5 * sharp) if dtype == F16 else min(2e-3, (4e-5 if rotary else 1e-5) * sharp * sharp)
    label = f"{mode}_{'f16' if dtype == F16 else 'f32'}_b{batch}_s{sequence}_t{total}_c{capacity}_h{heads}k{kv_heads}_d{size}_bs{block}_l{layouts}"
    made = call.case(f"{name}_{label}", tolerance=tolerance)
    inputs = made["inputs"]
    if prompt and chance(source, 0.5):
        for item, length in enumerate(lengths):
            for port in ("queryT", "keyT", "valueT"):
                if port in inputs and length < sequence:
                    width = inputs[port]["shape"][2]
                    inputs[port].setdefault("pokeRange", []).append([(item * sequence + length) * width, (item + 1) * sequence * width, "nan"])
    if batch > 1 and chance(source, 0.15):
        # What is not a number in one item stays there.
        item, width = source.randrange(batch), inputs["queryT"]["shape"][2]
        inputs["queryT"].setdefault("pokeRange", []).append([item * sequence * width, (item + 1) * sequence * width, "nan" if packed else source.choice(["nan", "inf"])])
        width = heads * size
        made["outputs"]["outputT"].setdefault("ignore", []).append([item * sequence * width, (item + 1) * sequence * width])
    if not rotary and chance(source, 0.2):
        made["attrs"]["do_rotary"] = source.choice([0, 2, -1])
    if rotary == "neox" and chance(source, 0.2):
        made["attrs"]["rotary_interleaved"] = source.choice([0, 2])
    if chance(source, 0.08):
        inputs["queryT"]["data"] = const(0)  # the mean of what is seen
    if tuned < 0.35:
        made["tunables"] = some(family, TUNABLES)
    elif sequence > 1 and size <= 72 and tuned < 0.5:
        made["tunables"] = {"EMULATE_MATRICES": True, **family.choice([{}, {"EMULATED_ROWS": 4}, {"SPLIT_FLOAT32": True}, {"MATRIX_SHARERS": 2, "MATRIX_ROW_FRAGMENTS": 2}])}
    if not packed and "SPLIT_FLOAT32" not in made.get("tunables", {}) and chance(source, 0.15):
        # Values near the ends of the type, which two halves cannot hold.
        step = 0.125 * 2.0 ** (source.choice([-12, 13, 14]) if dtype == F16 else source.choice([-60, -20, 40, 80]))
        for port in ("valueT", "pastValueT"):
            inputs[port]["data"]["step"] = step
        made["outputs"]["outputT"]["tolerance"]["abs"] *= step / 0.125
    return [made]
