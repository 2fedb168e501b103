# SPDX-License-Identifier: Apache-2.0
"""Peers of com.microsoft.SparseAttention. ONNX Runtime's CPU provider has the operator itself; the CUDA peers compute the attention alone (no rotary,
no cache append, which our figures include): FlexAttention with the pattern's block lists, and dense causal attention through PyTorch's own kernels."""

import numpy as np

OP = "com.microsoft.SparseAttention"
PORTS = {"queryT": "query", "keyT": "key", "valueT": "value", "pastKeyT": "past_key", "pastValueT": "past_value", "blockRowIndicesT": "block_row_indices",
         "blockColIndicesT": "block_col_indices", "totalSequenceLengthT": "total_sequence_length",
         "keyTotalSequenceLengthsT": "key_total_sequence_lengths", "cosCacheT": "cos_cache", "sinCacheT": "sin_cache"}
SAMPLED_ROWS = 8


def dtype_of(case):
    return case.specs["queryT"]["dtype"]


def supports(case):
    return "keyT" in case.specs


class Shape:
    """The sizes of one call."""

    def __init__(self, case):
        attrs, specs = case.attrs, case.specs
        self.heads, self.kv_heads, self.block = attrs["num_heads"], attrs["kv_num_heads"], attrs["sparse_block_size"]
        self.batch, self.queries, width = specs["queryT"]["shape"]
        self.head_size = width // self.heads
        self.capacity = specs["pastKeyT"]["shape"][2]
        values = case.inputs()
        self.total = int(values["totalSequenceLengthT"].ravel()[0])
        self.lengths = values["keyTotalSequenceLengthsT"].ravel()
        self.scale = attrs.get("scale", 0) or 1 / np.sqrt(self.head_size)
        self.past = 0 if self.total == self.queries else self.total - self.queries


def _rotate(x, positions, case):
    """x: (tokens, heads, head_size) in float64, rounded to the tensor's type afterwards."""
    if case.attrs.get("do_rotary", 0) != 1:
        return x
    cos, sin = (case.inputs()[port].astype(np.float64)[positions][:, None, :] for port in ("cosCacheT", "sinCacheT"))
    width = cos.shape[-1]
    out = x.copy()
    if case.attrs.get("rotary_interleaved", 0) == 1:
        a, b = x[..., 0 : 2 * width : 2], x[..., 1 : 2 * width : 2]
        out[..., 0 : 2 * width : 2], out[..., 1 : 2 * width : 2] = a * cos - b * sin, b * cos + a * sin
    else:
        a, b = x[..., :width], x[..., width : 2 * width]
        out[..., :width], out[..., width : 2 * width] = a * cos - b * sin, b * cos + a * sin
    return out.astype(np.dtype(dtype_of(case))).astype(np.float64)


def live_blocks(case, layout, row):
    rows, columns = case.inputs()["blockRowIndicesT"][layout], case.inputs()["blockColIndicesT"][layout]
    return np.unique(columns[rows[row] : rows[row + 1]])


def sampled_reference(case):
    """(batch, query) -> the expected output row in float64, for the first, the last and some rows between."""
    shape, x = Shape(case), case.inputs()
    layouts, group = x["blockRowIndicesT"].shape[0], shape.heads // shape.kv_heads
    picked = np.unique(np.linspace(0, shape.queries - 1, SAMPLED_ROWS).astype(int))
    rows = {}
    for b in range(min(shape.batch, 2)):
        past = 0 if shape.total == shape.queries else int(shape.lengths[b]) - shape.queries
        new = x["keyT"][b].astype(np.float64).reshape(shape.queries, shape.kv_heads, shape.head_size)
        keys = np.concatenate([x["pastKeyT"][b, :, :past].astype(np.float64).transpose(1, 0, 2), _rotate(new, past + np.arange(shape.queries), case)])
        values = np.concatenate([x["pastValueT"][b, :, :past].astype(np.float64).transpose(1, 0, 2),
                                 x["valueT"][b].astype(np.float64).reshape(shape.queries, shape.kv_heads, shape.head_size)])
        for s in picked:
            position = past + int(s)
            q = _rotate(x["queryT"][b, s].astype(np.float64).reshape(1, shape.heads, shape.head_size), np.array([position]), case)[0]
            out = np.zeros((shape.heads, shape.head_size))
            for h in range(shape.heads):
                live = np.concatenate([np.arange(k * shape.block, (k + 1) * shape.block) for k in live_blocks(case, h % layouts, position // shape.block)] or [[]]).astype(int)
                live = live[live <= position]
                if live.size:
                    scores = shape.scale * keys[live, h // group] @ q[h]
                    weights = np.exp(scores - scores.max())
                    out[h] = weights @ values[live, h // group] / weights.sum()
            rows[(b, int(s))] = out.ravel()
    return rows


def reference(case, xp=np):
    """Rows that were not computed are NaN; `check` leaves them out."""
    shape = Shape(case)
    out = np.full((shape.batch, shape.queries, shape.heads * shape.head_size), np.nan)
    for (b, s), row in sampled_reference(case).items():
        out[b, s] = row
    return {"outputT": xp.asarray(out)}


def onnx_model(case):
    import onnx
    from onnx import helper

    inputs, feeds = [], {}
    for port, name in PORTS.items():
        if port in case.specs:
            value = case.inputs()[port]
            feeds[name] = value
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape)))
    names = [PORTS[port] if port in case.specs else "" for port in PORTS]
    cache = case.specs["pastKeyT"]["shape"]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype_of(case)))
    outputs = [helper.make_tensor_value_info("output", element, case.specs["queryT"]["shape"]),
               helper.make_tensor_value_info("present_key", element, cache), helper.make_tensor_value_info("present_value", element, cache)]
    node = helper.make_node("SparseAttention", names, ["output", "present_key", "present_value"], domain="com.microsoft", **case.attrs)
    graph = helper.make_graph([node], "peer", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = min(model.ir_version, 9)
    return model, feeds, ["outputT"]


# The caches are updated in place: present must be bound to the storage of past.
IN_PLACE = {"present_key": "past_key", "present_value": "past_value"}


def attention_reference(case):
    """The attention alone, as the CUDA peers compute it: sampled rows in float64 over keys and values as they are given, without rotary embedding."""
    shape, x = Shape(case), case.inputs()
    layouts, group = x["blockRowIndicesT"].shape[0], shape.heads // shape.kv_heads
    out = np.full((shape.batch, shape.queries, shape.heads, shape.head_size), np.nan)
    for b in range(min(shape.batch, 2)):
        if shape.past:
            keys, values = (x[port][b, :, : shape.total] for port in ("pastKeyT", "pastValueT"))
        else:
            keys, values = (x[port][b].reshape(shape.queries, shape.kv_heads, shape.head_size).transpose(1, 0, 2) for port in ("keyT", "valueT"))
        for s in np.unique(np.linspace(0, shape.queries - 1, SAMPLED_ROWS).astype(int)):
            position = shape.past + int(s)
            q = x["queryT"][b, s].astype(np.float64).reshape(shape.heads, shape.head_size)
            for h in range(shape.heads):
                blocks = live_blocks(case, h % layouts, position // shape.block)
                live = (blocks[:, None] * shape.block + np.arange(shape.block)).ravel()
                live = live[live <= position]
                scores = shape.scale * keys[h // group, live].astype(np.float64) @ q[h]
                weights = np.exp(scores - scores.max())
                out[b, s, h] = weights @ values[h // group, live].astype(np.float64) / weights.sum()
    return [out.reshape(shape.batch, shape.queries, -1)]


def _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT):
    shape = Shape(case)
    q = queryT.view(shape.batch, shape.queries, shape.heads, shape.head_size).transpose(1, 2)
    if shape.past == 0:
        k = keyT.view(shape.batch, shape.queries, shape.kv_heads, shape.head_size).transpose(1, 2)
        v = valueT.view(shape.batch, shape.queries, shape.kv_heads, shape.head_size).transpose(1, 2)
    else:
        k, v = pastKeyT[:, :, : shape.total], pastValueT[:, :, : shape.total]
    return shape, q, k, v


def cuda_peers(case):
    """FlexAttention is checked against the attention alone. The dense peers compute more than the sparse operator asks for, so only their time counts."""
    if case.specs["queryT"]["shape"][1] == 1:
        yield "FlexAttention decode, union list", lambda: _flex_decode(case)
    else:
        yield "FlexAttention, blocks of 64", lambda: _flex_prompt(case, 64)
        yield "FlexAttention, blocks of 128", lambda: _flex_prompt(case, 128)
    if dtype_of(case) == "float16":
        yield "cuDNN dense causal", lambda: _sdpa(case, "CUDNN_ATTENTION")
        yield "FlashAttention-2 dense causal", lambda: _sdpa(case, "FLASH_ATTENTION")
    else:
        yield "PyTorch SDPA, efficient dense", lambda: _sdpa_expanded(case)
        yield "PyTorch SDPA, math dense", lambda: _sdpa(case, "MATH")


def _sdpa(case, backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def run(queryT, keyT, valueT, pastKeyT, pastValueT, **_):
        shape, q, k, v = _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            out = scaled_dot_product_attention(q, k, v, is_causal=shape.past == 0, enable_gqa=True, scale=float(shape.scale))
        return (out.transpose(1, 2).reshape(queryT.shape),)

    run.unchecked = "dense attention: a different result by design"
    return run


def _sdpa_expanded(case):
    """The efficient kernel has no grouped queries: keys and values are seen by each head of a group, not copied."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def run(queryT, keyT, valueT, pastKeyT, pastValueT, **_):
        shape, q, k, v = _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT)
        group = shape.heads // shape.kv_heads
        q = q.unflatten(1, (shape.kv_heads, group)).flatten(0, 1)
        k, v = (t.unsqueeze(2).expand(-1, -1, group, -1, -1).flatten(0, 1) for t in (k, v))
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            out = scaled_dot_product_attention(q, k, v, is_causal=shape.past == 0, scale=float(shape.scale))
        return (out.unflatten(0, (shape.batch, shape.kv_heads)).flatten(1, 2).transpose(1, 2).reshape(queryT.shape),)

    run.unchecked = "dense attention: a different result by design"
    return run


def _live_table(case, shape):
    """[layout, query block, key block] -> whether it is live, for the blocks of this call."""
    blocks = -(-shape.total // shape.block)
    live = np.zeros((case.inputs()["blockRowIndicesT"].shape[0], blocks, blocks), bool)
    for layout in range(live.shape[0]):
        for row in range(shape.past // shape.block, blocks):
            columns = live_blocks(case, layout, row)
            live[layout, row, columns[columns < blocks]] = True
    return live


def _lists(listed):
    """Which blocks are listed, as counts and block numbers with the listed ones first."""
    import torch

    order = np.argsort(~listed, axis=-1, kind="stable")
    return tuple(torch.from_numpy(part.astype(np.int32)).cuda().contiguous() for part in (listed.sum(-1), order))


def _block_mask(any_live, all_live, block, mask, shape):
    from torch.nn.attention.flex_attention import BlockMask

    partial, full = _lists((any_live & ~all_live)), _lists(all_live)
    return BlockMask.from_kv_blocks(*partial, *full, BLOCK_SIZE=block, mask_mod=mask, seq_lengths=(shape.queries, shape.total))


def _compiled_flex():
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.reset()
    return torch.compile(flex_attention, dynamic=False)


def _flex_prompt(case, block):
    """Lists of blocks made ahead, as the operator's own are; blocks of the operator's size need the mask on the diagonal only."""
    import torch

    shape = Shape(case)
    if shape.past % shape.block or block % shape.block:
        raise NotImplementedError("blocks of queries that do not begin at a block of the pattern")
    live = _live_table(case, shape)
    layouts, table = live.shape[0], torch.from_numpy(live).cuda()
    first, blocks = shape.past // shape.block, live.shape[1]
    step = block // shape.block
    rows, columns = -(-(blocks - first) // step), -(-blocks // step)
    padded = np.zeros((layouts, rows * step, columns * step), bool)
    padded[:, : blocks - first, :blocks] = live[:, first:]
    tiles = padded.reshape(layouts, rows, step, columns, step).transpose(0, 1, 3, 2, 4).reshape(layouts, rows, columns, step * step)
    below = (np.arange(columns)[None, :] + 1) * block <= shape.past + np.arange(rows)[:, None] * block
    heads = np.arange(shape.heads) % layouts
    any_live, all_live = (part[heads][None] for part in (tiles.any(-1), tiles.all(-1) & below))

    def mask(b, h, q, k):
        if block == shape.block:    # live as a whole, so that only the order counts
            return q + shape.past >= k
        return (q + shape.past >= k) & table[h % layouts, (q + shape.past) // shape.block, k // shape.block]

    block_mask, compiled = _block_mask(any_live, all_live, (block, block), mask, shape), _compiled_flex()
    stages = 3 if dtype_of(case) == "float16" else 1
    options = {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": stages} if block == 64 else None

    def run(queryT, keyT, valueT, pastKeyT, pastValueT, **_):
        _, q, k, v = _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT)
        out = compiled(q, k, v, block_mask=block_mask, scale=float(shape.scale), enable_gqa=True, kernel_options=options)
        return (out.transpose(1, 2).reshape(queryT.shape),)

    run.reference, run.note = (lambda: attention_reference(case)), "attention alone: rotary and append are left out"
    return run


def _flex_decode(case):
    """The heads of a group share a list: the union of their live blocks, masked per head. So each key is read once."""
    import torch

    shape = Shape(case)
    live = _live_table(case, shape)[:, -1]
    layouts, blocks, group = live.shape[0], live.shape[1], shape.heads // shape.kv_heads
    table = torch.from_numpy(live).cuda()
    union = live[(np.arange(shape.heads) % layouts).reshape(shape.kv_heads, group)].any(1)
    any_live = np.tile(union, (shape.batch, 1))[:, None, None, :]

    def mask(b, h, q, k):
        return (k <= shape.total - 1) & table[((b % shape.kv_heads) * group + h) % layouts, k // shape.block]

    block_mask = _block_mask(any_live, np.zeros_like(any_live), (128, shape.block), mask, shape)
    compiled = _compiled_flex()

    def run(queryT, keyT, valueT, pastKeyT, pastValueT, **_):
        _, q, k, v = _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT)
        q = q.unflatten(1, (shape.kv_heads, group)).flatten(0, 1)
        out = compiled(q, *(t.flatten(0, 1).unsqueeze(1) for t in (k, v)), block_mask=block_mask, scale=float(shape.scale), enable_gqa=True)
        return (out.reshape(queryT.shape),)

    run.reference, run.note = (lambda: attention_reference(case)), "attention alone: rotary and append are left out"
    return run
