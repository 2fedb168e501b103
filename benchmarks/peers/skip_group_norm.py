# SPDX-License-Identifier: Apache-2.0
"""Peers of com.microsoft.SkipGroupNorm: s = X + skip + bias; group norm of s with gamma, beta; SiLU.

No public kernel for exactly this operator was found outside CUDA providers, so the peers are compositions: PyTorch eager, torch.compile in two
forms, a hand-written Triton form of three launches, and ONNX graphs of Add, InstanceNormalization and Sigmoid.
"""

import numpy as np

OP = "com.microsoft.SkipGroupNorm"


def supports(case):
    return set(case.outputs) <= {"Y", "S"}


def _layout(case):
    shape = case.specs["X"]["shape"]
    last = case.attrs.get("channels_last", 1) != 0
    return last, (shape[0], shape[3], shape[1], shape[2]) if last else tuple(shape)


def reference(case, xp=np):
    x, (last, (n, c, h, w)) = case.inputs(xp), _layout(case)
    groups = case.attrs["groups"]
    skip = x["skip"].astype(np.float64)
    if skip.shape != x["X"].shape:
        skip = skip.reshape((n, 1, 1, c) if last else (n, c, 1, 1))
    s = x["X"].astype(np.float64) + skip
    if "bias" in x:
        s = s + (x["bias"].astype(np.float64) if last else x["bias"].astype(np.float64)[:, None, None])
    s = s.astype(np.float32).astype(x["X"].dtype).astype(np.float64)
    g = s.reshape(n, h * w, groups, c // groups) if last else s.reshape(n, groups, c // groups, h * w).transpose(0, 3, 1, 2)
    mean, variance = g.mean((1, 3), keepdims=True), g.var((1, 3), keepdims=True)
    y = (g - mean) / np.sqrt(variance + case.attrs.get("epsilon", 1e-5))
    y = y.reshape(s.shape) if last else y.transpose(0, 2, 3, 1).reshape(s.shape)
    broadcast = (slice(None),) if last else (slice(None), None, None)
    y = y * x["gamma"].astype(np.float64)[broadcast] + x["beta"].astype(np.float64)[broadcast]
    if case.attrs["activation"] == 1:
        y = y / (1 + np.exp(-y))
    return {"Y": y, "S": s}


def _sum(case, X, skip, bias):
    last, (n, c, _, _) = _layout(case)
    if skip.shape != X.shape:
        skip = skip.reshape((n, 1, 1, c) if last else (n, c, 1, 1))
    s = X + skip
    return s if bias is None else s + (bias if last else bias[:, None, None])


def _outputs(case, y, s):
    return (y, s) if "S" in case.outputs else (y,)


def torch_eager(case):
    import torch

    last, _ = _layout(case)
    groups, epsilon, silu = case.attrs["groups"], case.attrs.get("epsilon", 1e-5), case.attrs["activation"] == 1

    def run(X, gamma, beta, skip, bias=None):
        s = _sum(case, X, skip, bias)
        nchw = s.permute(0, 3, 1, 2) if last else s
        y = torch.nn.functional.group_norm(nchw, groups, gamma.to(s.dtype), beta.to(s.dtype), epsilon)
        if silu:
            y = torch.nn.functional.silu(y)
        return _outputs(case, y.permute(0, 2, 3, 1) if last else y, s)

    return run


def torch_channels_last_form(case):
    """The same written over (N, HW, groups, C / groups), which compilers keep in the operator's own layout."""
    import torch

    _, (n, c, h, w) = _layout(case)
    groups, epsilon, silu = case.attrs["groups"], case.attrs.get("epsilon", 1e-5), case.attrs["activation"] == 1

    def run(X, gamma, beta, skip, bias=None):
        s = _sum(case, X, skip, bias)
        g = s.float().view(n, h * w, groups, c // groups)
        variance, mean = torch.var_mean(g, (1, 3), correction=0, keepdim=True)
        y = ((g - mean) * torch.rsqrt(variance + epsilon)).view(n, h, w, c) * gamma.float() + beta.float()
        y = y * torch.sigmoid(y) if silu else y
        return _outputs(case, y.to(X.dtype), s)

    return run


def cuda_peers(case):
    yield "PyTorch eager", lambda: torch_eager(case)
    yield "torch.compile", lambda: _compiled(torch_eager(case))
    if _layout(case)[0]:
        yield "torch.compile, NHWC form", lambda: _compiled(torch_channels_last_form(case))
        yield "Triton, three launches", lambda: _triton(case)


def _compiled(function):
    from cuda_timing import compiled

    return compiled(function)


def _triton(case):
    from triton_norm_groups import group_norm

    full = case.specs["skip"]["shape"] == case.specs["X"]["shape"]
    if not full or "bias" not in case.specs:
        raise NotImplementedError("the Triton form has a full skip and a bias")
    _, (n, c, h, w) = _layout(case)
    return group_norm(n, h * w, c, case.attrs["groups"], case.attrs.get("epsilon", 1e-5), case.attrs["activation"] == 1, "S" in case.outputs)


def onnx_model(case):
    """Add, InstanceNormalization over (N, groups, ...), scale and offset, SiLU: what an exporter without this operator writes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    if case.specs["X"]["dtype"] != case.specs["gamma"]["dtype"]:
        raise NotImplementedError("the composed graph has one float type")
    last, (n, c, h, w) = _layout(case)
    groups, dtype = case.attrs["groups"], case.inputs()["X"].dtype
    element = helper.np_dtype_to_tensor_dtype(dtype)
    x = dict(case.inputs())
    if x["skip"].shape != x["X"].shape:
        x["skip"] = x["skip"].reshape((n, 1, 1, c) if last else (n, c, 1, 1))
    if not last:
        for port in ("gamma", "beta", "bias"):
            if port in x:
                x[port] = x[port].reshape(c, 1, 1)
    nodes, current = [], "X"
    for port in ("skip", "bias"):
        if port in x:
            nodes.append(helper.make_node("Add", [current, port], [f"plus_{port}"]))
            current = f"plus_{port}"
    total = current
    constants = {"ones": np.ones(groups, dtype), "zeros": np.zeros(groups, dtype), "rows": np.array([n, groups, -1], np.int64),
                 "shape": np.array([n, c, h, w], np.int64)}
    if last:
        nodes.append(helper.make_node("Transpose", [current], ["planes"], perm=[0, 3, 1, 2]))
        current = "planes"
    nodes.append(helper.make_node("Reshape", [current, "rows"], ["grouped"]))
    nodes.append(helper.make_node("InstanceNormalization", ["grouped", "ones", "zeros"], ["normal"], epsilon=case.attrs.get("epsilon", 1e-5)))
    nodes.append(helper.make_node("Reshape", ["normal", "shape"], ["normal4"]))
    current = "normal4"
    if last:
        nodes.append(helper.make_node("Transpose", [current], ["normal_last"], perm=[0, 2, 3, 1]))
        current = "normal_last"
    nodes.append(helper.make_node("Mul", [current, "gamma"], ["scaled"]))
    nodes.append(helper.make_node("Add", ["scaled", "beta"], ["affine"]))
    current = "affine"
    if case.attrs["activation"] == 1:
        nodes.append(helper.make_node("Sigmoid", ["affine"], ["gate"]))
        nodes.append(helper.make_node("Mul", ["affine", "gate"], ["silu"]))
        current = "silu"
    shape = case.specs["X"]["shape"]
    inputs = [helper.make_tensor_value_info(port, element, list(value.shape)) for port, value in x.items()]
    ports = ["Y"] + (["S"] if "S" in case.outputs else [])
    outputs = [helper.make_tensor_value_info({"Y": current, "S": total}[port], element, shape) for port in ports]
    graph = helper.make_graph(nodes, "peer", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = min(model.ir_version, 9)
    onnx.checker.check_model(model, full_check=False)
    return model, x, ports
