# SPDX-License-Identifier: Apache-2.0
"""Peers of com.microsoft.SkipSimplifiedLayerNormalization: r = input + skip + bias; y = r / sqrt(mean(r^2) + epsilon) * gamma."""

import numpy as np

OP = "com.microsoft.SkipSimplifiedLayerNormalization"
PORTS = ["inputT", "skipT", "gammaT", "biasT"]
ONNX_INPUTS = ["input", "skip", "gamma", "bias"]
ONNX_OUTPUTS = {"outputT": 0, "meanT": 1, "invStdT": 2, "residualT": 3}


def supports(case):
    return True


def _onnx_supports(case):
    if not set(case.outputs) <= {"outputT", "residualT"}:
        raise NotImplementedError("only calls with the normalised output, with or without the sum, have this peer")


def reference(case, xp=np):
    x = case.inputs(xp)
    r = x["inputT"].astype(np.float64) + x["skipT"]
    if "biasT" in x:
        r = r + x["biasT"]
    inverse = 1 / xp.sqrt((r * r).mean(-1, keepdims=True) + case.attrs.get("epsilon", 1e-12))
    return {"outputT": r * inverse * x["gammaT"].astype(np.float64), "meanT": xp.zeros_like(inverse), "invStdT": inverse, "residualT": r}


def onnx_model(case):
    import onnx
    from onnx import TensorProto, helper

    _onnx_supports(case)
    element = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}[case.dtype()]
    inputs = [helper.make_tensor_value_info(onnx_name, element, case.specs[port]["shape"])
              for port, onnx_name in zip(PORTS, ONNX_INPUTS) if port in case.specs]
    shape = case.specs["inputT"]["shape"]
    names = ["output", "", "", "sum" if "residualT" in case.outputs else ""]
    node = helper.make_node("SkipSimplifiedLayerNormalization", [i.name for i in inputs], names, domain="com.microsoft",
                            epsilon=case.attrs.get("epsilon", 1e-12))
    outputs = [helper.make_tensor_value_info(name, element, shape) for name in names if name]
    graph = helper.make_graph([node], "peer", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = min(model.ir_version, 9)
    feeds = {onnx_name: case.inputs()[port] for port, onnx_name in zip(PORTS, ONNX_INPUTS) if port in case.specs}
    ports = [port for port in ("outputT", "residualT") if port == "outputT" or port in case.outputs]
    onnx.checker.check_model(model, full_check=False)
    return model, feeds, ports


def onnx_chain(case, nodes):
    """`nodes` calls, each on the two results of the one before, over tensors that are made on the device; eight elements of each come back."""
    import onnx
    from onnx import helper, numpy_helper

    if "biasT" in case.specs or "residualT" not in case.outputs:
        raise NotImplementedError("a chain needs both results and no bias")
    rows, hidden = case.specs["inputT"]["shape"]
    dtype = np.dtype(case.dtype())
    element = helper.np_dtype_to_tensor_dtype(dtype)
    random = np.random.default_rng(1)
    constants = {"gamma": random.standard_normal(hidden), "zero": np.zeros(2, np.int64), "end": np.array([1, 8], np.int64), "axes": np.arange(2)}
    graph_nodes = []
    for name in ("input", "skip"):
        constants |= {f"{name}_column": random.standard_normal((rows, 1)), f"{name}_row": random.standard_normal((1, hidden))}
        graph_nodes.append(helper.make_node("Mul", [f"{name}_column", f"{name}_row"], [f"{name}0"]))
    for i in range(nodes):
        graph_nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [f"input{i}", f"skip{i}", "gamma"], [f"input{i + 1}", "", "", f"skip{i + 1}"],
                                            domain="com.microsoft", epsilon=case.attrs.get("epsilon", 1e-12)))
    for name in ("input", "skip"):
        graph_nodes.append(helper.make_node("Slice", [f"{name}{nodes}", "zero", "end", "axes"], [f"{name}_part"]))
    weights = [numpy_helper.from_array(value if value.dtype == np.int64 else value.astype(dtype), name) for name, value in constants.items()]
    outputs = [helper.make_tensor_value_info(f"{name}_part", element, [1, 8]) for name in ("input", "skip")]
    model = helper.make_model(helper.make_graph(graph_nodes, "chain", [], outputs, weights), opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = min(model.ir_version, 9)
    onnx.checker.check_model(model, full_check=False)
    return model


def torch_eager(case):
    import torch

    epsilon, outputs = case.attrs.get("epsilon", 1e-12), set(case.outputs)
    with_mean, with_inverse, with_sum = (port in outputs for port in ("meanT", "invStdT", "residualT"))

    def run(inputT, skipT, gammaT, biasT=None):
        r = inputT + skipT
        if biasT is not None:
            r = r + biasT
        results = [torch.nn.functional.rms_norm(r, (r.shape[-1],), gammaT, epsilon)]
        if with_mean:
            results.append(torch.zeros((*r.shape[:-1], 1), device=r.device))
        if with_inverse:
            results.append(torch.rsqrt(r.float().square().mean(-1, keepdim=True) + epsilon))
        if with_sum:
            results.append(r)
        return tuple(results)

    return run


def cuda_peers(case):
    """Peer name -> function of the ports as CUDA tensors, giving (output[, sum]). Import errors name the missing package."""
    yield "floor: reads 2, writes 2", lambda: _streams(case)
    yield "PyTorch eager", lambda: torch_eager(case)
    yield "torch.compile", lambda: _compiled(case)
    yield "Triton row kernel", lambda: _triton(case)
    yield "Liger", lambda: _liger(case)
    yield "FlashInfer", lambda: _flashinfer(case)
    yield "QuACK", lambda: _quack(case)


def _need_plain_sum(case, name):
    if "biasT" in case.specs or set(case.outputs) != {"outputT", "residualT"}:
        raise NotImplementedError(f"{name} has the form with sum and without bias only")


def _compiled(case):
    from cuda_timing import compiled

    return compiled(torch_eager(case))


def _streams(case):
    from triton_norm import streams

    _need_plain_sum(case, "the floor")
    return streams


def _triton(case):
    from triton_norm import row_norm

    return row_norm(case.attrs.get("epsilon", 1e-12), set(case.outputs))


def _liger(case):
    from liger_kernel.ops.fused_add_rms_norm import fused_add_rms_norm_forward

    _need_plain_sum(case, "Liger")
    epsilon = case.attrs.get("epsilon", 1e-12)

    def run(inputT, skipT, gammaT):
        y, r, *_ = fused_add_rms_norm_forward(inputT, skipT, gammaT, epsilon, 0.0, "llama")
        return y, r

    return run


def _flashinfer(case):
    import flashinfer

    _need_plain_sum(case, "FlashInfer")
    if case.dtype() != "float16" or case.specs["inputT"]["shape"][-1] > 16384:
        raise NotImplementedError("FlashInfer runs float16 rows up to 16384 here")
    epsilon = case.attrs.get("epsilon", 1e-12)

    def run(inputT, skipT, gammaT):
        flashinfer.norm.fused_add_rmsnorm(inputT, skipT, gammaT, epsilon)   # in place: input becomes y, skip the sum
        return inputT, skipT

    run.in_place = True
    return run


def _quack(case):
    from quack.rmsnorm import rmsnorm_fwd

    _need_plain_sum(case, "QuACK")
    epsilon = case.attrs.get("epsilon", 1e-12)

    def run(inputT, skipT, gammaT):
        y, r, _ = rmsnorm_fwd(inputT, gammaT, residual=skipT, eps=epsilon, store_rstd=False)
        return y, r

    return run
