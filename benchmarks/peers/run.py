#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures public peers on the benchmark cases of a package, on this machine.

  run.py kernels/com.microsoft.SkipSimplifiedLayerNormalization --tag cpu --peers ort-cpu,torch-cpu --out peers.json
  run.py kernels/com.microsoft.SkipGroupNorm --tag h200 --peers cuda --out -

Peers: ort-cpu; ort-webgpu, ort-webgpu-kernels and ort-webgpu-chain (in a Python environment with that build), torch-cpu, cuda (with --jobs several
processes compile side by side and then time one after the other). A peer that is missing or refuses a case is
reported in the result, never fatal. Only results that agree with float64 are timed.
"""

import argparse
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np

import cuda_peers
from cases import load
from keep_awake import keep_awake
from results import Results, check, summary

OPERATORS = {
    "com.microsoft.SkipSimplifiedLayerNormalization": "skip_simplified_layer_normalization",
    "com.microsoft.SkipGroupNorm": "skip_group_norm",
    "com.microsoft.SparseAttention": "sparse_attention",
}
SAMPLES = 30
ALIVE = []      # sessions: destroying one crashes some builds, which must not cost its figures


def host_times(function, limit_seconds=3.0):
    """Wall seconds of single calls: at least five, at most SAMPLES, about `limit_seconds` in all."""
    function()
    seconds = []
    start = time.perf_counter()
    while len(seconds) < SAMPLES and (len(seconds) < 5 or time.perf_counter() - start < limit_seconds):
        begin = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - begin)
    return seconds


def expected_outputs(operator, case):
    """The ports that peers return, in order, and their float64 values."""
    reference = operator.reference(case)
    ports = [port for port in reference if port in case.outputs]
    return ports, [reference[port] for port in ports]


def ort_session(model, provider):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1" if provider != "CPUExecutionProvider" else "0")
    return ort.InferenceSession(model.SerializeToString(), options, providers=[provider])


def measure_ort(operator, case, results, provider, peer):
    import onnxruntime as ort

    if provider not in ort.get_available_providers():
        raise ImportError(f"this onnxruntime has no {provider}")
    model, feeds, ports = operator.onnx_model(case)
    session = ort_session(model, provider)
    ALIVE.append(session)
    names = [output.name for output in session.get_outputs()]
    in_place = getattr(operator, "IN_PLACE", {})
    binding = session.io_binding()
    device = "cpu" if provider == "CPUExecutionProvider" else "webgpu"
    on_device = {}
    for name, value in feeds.items():
        try:
            on_device[name] = ort.OrtValue.ortvalue_from_numpy(value, device, 0)
            binding.bind_ortvalue_input(name, on_device[name])
        except Exception:   # this build cannot place tensors there: the host copy is timed with the call, and said so
            device = "host copies"
            binding.bind_cpu_input(name, value)
    for name in names:
        if name in in_place:
            binding.bind_ortvalue_output(name, on_device[in_place[name]])
        else:
            binding.bind_output(name, "cpu" if device != "webgpu" else "webgpu")
    session.run_with_iobinding(binding)
    outputs = binding.copy_outputs_to_cpu()[: len(ports)]
    wanted = dict(zip(*expected_outputs(operator, case)))
    error = check(outputs, [wanted[port] for port in ports], case.dtype())

    def call():
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    results.add(case, peer, host_times(call), f"wall time of one call, I/O binding ({device})", cold=False, error=error)


def kernel_times(model, feeds, provider, runs=8):
    """Seconds of the provider's own kernels in each run, out of its profile: the device's clock, without submission and waiting."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(tempfile.gettempdir(), "peer")
    session = ort.InferenceSession(model.SerializeToString(), options, providers=[provider])
    ALIVE.append(session)
    for _ in range(runs):
        session.run(None, feeds)
    path = pathlib.Path(session.end_profiling())
    events = [e for e in json.loads(path.read_text()) if e.get("cat") not in ("Session", "Node") and e.get("dur") is not None]
    path.unlink()
    kernels = {}
    for event in events:
        kernels.setdefault(event["name"], []).append(event["dur"] * 1e-6)
    per_run = [0.0] * runs
    for durations in kernels.values():
        each, rest = divmod(len(durations), runs)
        if each == 0 or rest:
            continue        # what runs once, for setting up
        for i in range(runs):
            per_run[i] += sum(durations[i * each:(i + 1) * each])
    if not any(per_run):
        raise ValueError("its profile has no kernel times")
    return per_run[2:]


def measure_ort_kernels(operator, case, results):
    model, feeds, _ = operator.onnx_model(case)
    results.add(case, "ONNX Runtime WebGPU, kernels", kernel_times(model, feeds, "WebGpuExecutionProvider"), "kernel times of its profile", cold=False)


def measure_ort_chain(operator, case, results):
    """What one more call costs in a chain: recording and kernel, without submitting and waiting. Its data are results of the call before, so small cases stay in the cache."""
    import onnxruntime as ort

    if not hasattr(operator, "onnx_chain"):
        raise NotImplementedError("this operator has no chain")
    small = max(int(np.prod(spec["shape"])) for spec in case.specs.values()) < 1 << 22
    short, long = (1, 401) if small else (1, 41)
    walls = {}
    for nodes in (short, long):
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL     # or constants would be folded on the host
        session = ort.InferenceSession(operator.onnx_chain(case, nodes).SerializeToString(), options, providers=["WebGpuExecutionProvider"])
        ALIVE.append(session)
        session.run(None, {})
        walls[nodes] = summary(host_times(lambda: session.run(None, {}), 0.6))
    if walls[long]["p10"] <= 1.2 * walls[short]["p90"]:
        raise ValueError("the long chain was not clearly slower than the short one")
    per_node = [(walls[long][q] - walls[short]["median"]) / (long - short) for q in ("p10", "median", "p90")]
    results.add(case, "ONNX Runtime WebGPU, chain", per_node, f"({long} nodes - {short}) / {long - short}, wall time, graph without optimisation", cold=False)


def measure_torch_cpu(operator, case, results):
    import torch

    function = operator.torch_eager(case)
    inputs = {port: torch.from_numpy(value) for port, value in case.inputs().items()}
    outputs = [value.double().numpy() for value in function(**inputs)]
    error = check(outputs, expected_outputs(operator, case)[1], case.dtype())
    with torch.inference_mode():
        results.add(case, "PyTorch CPU", host_times(lambda: function(**inputs)), "wall time of one call", cold=False, error=error)


def measure_cuda(operator, case, results):
    cuda_peers.measure(operator, case, cuda_peers.prepare(operator, case), results)


MEASURE = {
    "ort-cpu": ("ONNX Runtime CPU", lambda o, c, r: measure_ort(o, c, r, "CPUExecutionProvider", "ONNX Runtime CPU")),
    "ort-webgpu": ("ONNX Runtime WebGPU", lambda o, c, r: measure_ort(o, c, r, "WebGpuExecutionProvider", "ONNX Runtime WebGPU")),
    "ort-webgpu-kernels": ("ONNX Runtime WebGPU, kernels", measure_ort_kernels),
    "ort-webgpu-chain": ("ONNX Runtime WebGPU, chain", measure_ort_chain),
    "torch-cpu": ("PyTorch CPU", measure_torch_cpu),
    "cuda": (cuda_peers.PEER, measure_cuda),
}


def measure_isolated(folder, case, peer, results):
    """In a process of its own: a peer that crashes takes no other figure with it."""
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "one.json"
        done = subprocess.run([sys.executable, __file__, folder, "--case", case.name, "--peers", peer, "--out", str(out)], check=False)
        if not out.exists():
            raise RuntimeError(f"its process ended with status {done.returncode}")
        results.benchmarks += json.loads(out.read_text())["benchmarks"]


def versions():
    found = {"python": platform.python_version(), "processor": platform.processor() or platform.machine()}
    for name in ("numpy", "onnxruntime", "torch", "triton", "liger_kernel", "flashinfer", "quack"):
        try:
            module = importlib.import_module(name)
            found[name] = getattr(module, "__version__", "installed")
        except Exception:
            found[name] = "missing"
    return found


def device_name(peers):
    if "cuda" in peers:
        try:
            import torch

            return torch.cuda.get_device_name(0)
        except Exception:
            return "no CUDA device"
    return platform.processor() or platform.machine()


def device_figures(peers):
    """What a launch costs there and how fast it copies, for figures without launch gaps."""
    if "cuda" not in peers:
        return {}
    try:
        import cuda_timing

        return {"graph_node_seconds": cuda_timing.graph_node_seconds(), "cuda_copy_bytes_per_second": cuda_timing.copy_rate()}
    except Exception as problem:
        return {"device_figures": f"{type(problem).__name__}: {problem}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="+", help="folder of a package with build/webgpu/bench.json")
    parser.add_argument("--peers", default="ort-cpu,torch-cpu", help="comma-separated; see above")
    parser.add_argument("--tag", action="append", default=[], help="only cases with one of these tags")
    parser.add_argument("--case", action="append", default=[], help="only these cases")
    parser.add_argument("--new-to", action="append", default=[], help="leave out the cases that were timed in this result file")
    parser.add_argument("--isolate", action="store_true", help="each measurement in a process of its own")
    parser.add_argument("--keep-awake", action="store_true", help="a loop of idle priority on each core, as wgk bench --keep-awake")
    parser.add_argument("--jobs", type=int, default=1, help="of cuda: so many processes compile side by side; each then times its cases alone")
    parser.add_argument("--turn", type=int, help=argparse.SUPPRESS)     # the lock that one of these processes is started with
    parser.add_argument("--seconds", type=float, default=1e9, help="start no further case after this time")
    parser.add_argument("--out", default="-", help="JSON file, - for standard output")
    args = parser.parse_args()
    peers = args.peers.split(",")
    unknown = [peer for peer in peers if peer not in MEASURE]
    if unknown:
        parser.error(f"unknown peers {', '.join(unknown)}; there are {', '.join(MEASURE)}")
    if args.jobs > 1 and peers != ["cuda"]:
        parser.error("--jobs is for --peers cuda")
    with keep_awake(args.keep_awake):
        run(args, peers, chosen_cases(args))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def chosen_cases(args):
    have = {(entry["package"], entry["case"]) for path in args.new_to for entry in json.loads(pathlib.Path(path).read_text())["benchmarks"]
            if not entry.get("error_occurred")}
    return [(folder, case) for folder in args.package for case in load(folder, args.tag, args.case) if (case.package, case.name) not in have]


def operator_of(case):
    return importlib.import_module(OPERATORS[case.package])


def run(args, peers, chosen):
    results = Results({"kept_awake": True} if args.keep_awake else {})

    def write():
        if args.out != "-":
            results.write(args.out)

    cases = [case for _, case in chosen]
    if args.turn is not None:
        cuda_peers.measure_in_turn(cases, operator_of, args.turn, args.seconds, results, write)
    elif args.jobs > 1:
        cuda_peers.measure_side_by_side(args.package, cases, args.jobs, args.seconds, results, write,
                                        lambda: results.context.update(adapter=device_name(peers), versions=versions()), lambda: device_figures(peers))
    else:
        results.context |= {"adapter": device_name(peers), "versions": versions(), **device_figures(peers)}
        one_after_the_other(args, peers, chosen, results, write)
    results.write(args.out)


def one_after_the_other(args, peers, chosen, results, write):
    start = time.perf_counter()
    for folder, case in chosen:
        operator = operator_of(case)
        for peer in peers:
            if time.perf_counter() - start > args.seconds:
                results.missing(case, MEASURE[peer][0], cuda_peers.TOO_LATE)
                continue
            try:
                if not operator.supports(case):
                    raise NotImplementedError(cuda_peers.NO_FORM)
                if args.isolate:
                    measure_isolated(folder, case, peer, results)
                    continue
                MEASURE[peer][1](operator, case, results)
            except Exception as problem:
                results.missing(case, MEASURE[peer][0], f"{type(problem).__name__}: {problem}")
        case.forget()
        write()


if __name__ == "__main__":
    main()
