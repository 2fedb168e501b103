# SPDX-License-Identifier: Apache-2.0
"""Peers of com.microsoft.SparseAttention. ONNX Runtime's CPU provider has the operator itself; the CUDA peers compute the attention alone (no rotary,
no cache append, which our figures include): FlexAttention with the block mask, and dense causal attention through cuDNN and FlashAttention-2."""

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


def _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT):
    import torch

    shape = Shape(case)
    q = queryT.view(shape.batch, shape.queries, shape.heads, shape.head_size).transpose(1, 2)
    if shape.past == 0:
        k = keyT.view(shape.batch, shape.queries, shape.kv_heads, shape.head_size).transpose(1, 2)
        v = valueT.view(shape.batch, shape.queries, shape.kv_heads, shape.head_size).transpose(1, 2)
    else:
        k, v = pastKeyT[:, :, : shape.total], pastValueT[:, :, : shape.total]
    return torch, shape, q, k, v


def cuda_peers(case):
    """The dense peers compute more than the sparse operator asks for, so only their time counts; they are checked against nothing here and say so."""
    yield "FlexAttention, block mask", lambda: _flex(case)
    yield "cuDNN dense causal", lambda: _sdpa(case, "CUDNN_ATTENTION")
    yield "FlashAttention-2 dense causal", lambda: _sdpa(case, "FLASH_ATTENTION")


def _sdpa(case, backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def run(queryT, keyT, valueT, pastKeyT, pastValueT, **_):
        _, shape, q, k, v = _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            out = scaled_dot_product_attention(q, k, v, is_causal=shape.past == 0, enable_gqa=True, scale=float(shape.scale))
        return (out.transpose(1, 2).reshape(queryT.shape),)

    run.unchecked = "dense attention: a different result by design"
    return run


def _flex(case):
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    shape = Shape(case)
    x = case.inputs()
    layouts, blocks = x["blockRowIndicesT"].shape[0], x["blockRowIndicesT"].shape[1] - 1
    live = np.zeros((layouts, blocks, blocks), bool)
    for layout in range(layouts):
        for row in range(-(-shape.total // shape.block)):
            live[layout, row, live_blocks(case, layout, row)] = True
    table = torch.from_numpy(live).cuda()

    def mask(b, h, q, k):
        return (q + shape.past >= k) & table[h % layouts, (q + shape.past) // shape.block, k // shape.block]

    block_mask = create_block_mask(mask, None, shape.heads, shape.queries, shape.total, device="cuda")
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False)

    def run(queryT, keyT, valueT, pastKeyT, pastValueT, **_):
        _, _, q, k, v = _dense_inputs(case, queryT, keyT, valueT, pastKeyT, pastValueT)
        out = compiled(q, k, v, block_mask=block_mask, scale=float(shape.scale), enable_gqa=True)
        return (out.transpose(1, 2).reshape(queryT.shape),)

    run.unchecked = "attention alone: rotary and append are left out, so the result differs"
    return run
