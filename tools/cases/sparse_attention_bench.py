# SPDX-License-Identifier: Apache-2.0
"""bench.json of com.microsoft.SparseAttention, with the least work of each case; written by sparse_attention.py."""
from case_writer import F16, F32
from sparse_attention_inputs import CACHES, block_mask, ints


def live_pairs(heads, sequence, past, block, layouts, local, stride):
    """Live (query, key) pairs of one item over all heads."""
    step = max(1, stride // layouts)
    total = 0
    for layout in range(layouts):
        pairs, row = 0, None
        for p in range(past, past + sequence):
            if p // block != row:
                row = p // block
                full = sum(row - k < local or (k + layout * step + 1) % stride == 0 for k in range(row))
                diagonal = local > 0 or (row + layout * step + 1) % stride == 0
            pairs += full * block + (p % block + 1 if diagonal else 0)
        total += pairs * heads // layouts
    return total


def union_keys(heads, kv_heads, position, block, layouts, local, stride):
    """Keys that a decode step must read, over all KV heads: the union over the heads of each group."""
    step = max(1, stride // layouts)
    group, row, total = heads // kv_heads, position // block, 0
    for kv_head in range(kv_heads):
        for k in range(row + 1):
            if any(row - k < local or (k + head % layouts * step + 1) % stride == 0 for head in range(kv_head * group, (kv_head + 1) * group)):
                total += block if k < row else position % block + 1
    return total


def timed(name, sequence, past, dtype, heads=32, kv_heads=8, size=128, block=64, layouts=8, local=16, stride=8, batch=1, capacity=None,
          rotary=True, packed=False, tags=(), **more):
    total = past + sequence
    capacity = capacity or total + (64 - total % 64) % 64 + (0 if past == 0 else 64)
    blocks = -(-capacity // block)
    width = size // 2 // 8 * 8
    element = 2 if dtype == F16 else 4
    inputs = {"queryT": {"dtype": dtype, "shape": [batch, sequence, (heads + (2 * kv_heads if packed else 0)) * size]}}
    if not packed:
        inputs["keyT"] = {"dtype": dtype, "shape": [batch, sequence, kv_heads * size]}
        inputs["valueT"] = {"dtype": dtype, "shape": [batch, sequence, kv_heads * size]}
    for port in CACHES:
        inputs[port] = {"dtype": dtype, "shape": [batch, kv_heads, capacity, size]}
    inputs.update(block_mask(layouts, blocks, local, stride))
    inputs["totalSequenceLengthT"] = ints([1], [total])
    inputs["keyTotalSequenceLengthsT"] = ints([batch], [total] * batch)
    attrs = {"num_heads": heads, "kv_num_heads": kv_heads, "sparse_block_size": block}
    if rotary:
        attrs["do_rotary"] = 1
        for port in ("cosCacheT", "sinCacheT"):
            inputs[port] = {"dtype": dtype, "shape": [capacity, width]}
    pairs = batch * live_pairs(heads, sequence, past, block, layouts, local, stride)
    if sequence == 1:
        keys = batch * union_keys(heads, kv_heads, past, block, layouts, local, stride)
    else:
        keys = batch * kv_heads * total
    # Queries, outputs, new keys and values (read, and written to the caches), keys and values that are read.
    least = element * size * (2 * batch * sequence * heads + 4 * batch * sequence * kv_heads + 2 * keys)
    return {"name": name, "attrs": attrs, "inputs": inputs, "outputs": ["outputT"], "bytes": str(least), "flops": str(4 * size * pairs),
            "tags": list(tags), **more}


def benches():
    cases = []
    for sequence in (64, 512, 1024, 2048, 4096, 8192, 16384, 32768):
        tags = ["h200", "prompt"] + (["cpu"] if sequence in (64, 512) else [])
        cases.append(timed(f"phi3_prompt_{sequence}_f16", sequence, 0, F16, tags=tags))
    for sequence in (512, 1024, 2048, 4096):
        tags = ["h200", "prompt", "cpu"] if sequence != 1024 else ["h200", "prompt"]
        cases.append(timed(f"phi3_prompt_{sequence}_f32", sequence, 0, F32, tags=tags))
        cases.append(timed(f"phi3_prompt_{sequence}_f32_split", sequence, 0, F32, tags=["h200", "split"], tunables={"SPLIT_FLOAT32": True}))
    for total, label in ((1024, "1k"), (2048, "2k"), (4096, "4k"), (8192, "8k"), (16384, "16k"), (32768, "32k"), (131072, "128k")):
        cases.append(timed(f"phi3_decode_{label}_f16", 1, total - 1, F16, capacity=total + 64, tags=["h200", "decode"]))
    for total, label in ((1024, "1k"), (8192, "8k"), (32768, "32k"), (131072, "128k")):
        tags = ["h200", "decode"] + (["cpu"] if total <= 8192 else [])
        cases.append(timed(f"phi3_decode_{label}_f32", 1, total - 1, F32, capacity=total + 64, tags=tags))
    cases.append(timed("phi3_decode_8k_in_32k_f16", 1, 8191, F16, capacity=32768, tags=["h200", "decode", "capacity"]))
    cases.append(timed("phi3_decode_8k_in_128k_f16", 1, 8191, F16, capacity=131072, tags=["h200", "decode", "capacity"]))
    cases.append(timed("phi3_decode_4k_batch_32_f16", 1, 4095, F16, batch=32, capacity=4096 + 64, tags=["h200", "decode"]))
    cases.append(timed("phi3_decode_128_f16", 1, 127, F16, capacity=192, tags=["h200", "decode", "short"]))
    cases.append(timed("phi3_decode_256_f16", 1, 255, F16, capacity=256, tags=["h200", "decode", "short"]))
    cases.append(timed("phi3_chunk_512_on_8k_f16", 512, 8192, F16, tags=["h200", "chunk"]))
    for tokens in (2, 4, 8):
        cases.append(timed(f"phi3_speculative_{tokens}_on_8k_f16", tokens, 8192, F16, tags=["h200", "chunk"]))
    cases.append(timed("small_heads_prompt_1024_f16", 1024, 0, F16, heads=8, kv_heads=8, size=64, block=16, layouts=4, local=8, tags=["h200", "small", "cpu"]))
    cases.append(timed("small_heads_prompt_1024_f32", 1024, 0, F32, heads=8, kv_heads=8, size=64, block=16, layouts=4, local=8, tags=["h200", "small", "cpu"]))
    cases.append(timed("small_heads_decode_1k_f16", 1, 1023, F16, heads=8, kv_heads=8, size=64, block=16, layouts=4, local=8, tags=["h200", "small", "cpu"]))
    for size in (32, 64, 80, 112, 192, 256):
        for dtype, tag in ((F16, "f16"), (F32, "f32")):
            cases.append(timed(f"head_{size}_prompt_256_{tag}", 256, 0, dtype, heads=8, kv_heads=2, size=size, tags=["h200", "sizes"]))
    cases.append(timed("phi3_packed_prompt_2048_f16", 2048, 0, F16, packed=True, tags=["h200", "packed"]))
    cases.append(timed("phi3_packed_decode_8k_f16", 1, 8191, F16, packed=True, capacity=8192 + 64, tags=["h200", "packed"]))
    return {"cases": cases}
