# SPDX-License-Identifier: Apache-2.0
"""Measures the CUDA peers of cases. Most of a run's time goes to compilers, so several processes can compile side by side; then one after the other
times its cases, alone on the device."""

import fcntl
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from results import check

RUNNER = pathlib.Path(__file__).with_name("run.py")
PEER = "CUDA"
NO_FORM, TOO_LATE = "no peer has this form of the operator", "the time limit of this run was reached"
PREPARING = 0.6      # of the seconds of a run: no further case is prepared after them


def array_module():
    """cupy where it is there: data and float64 references of large cases are then made on the device."""
    try:
        import cupy

        cupy.arange(2).sum()
        return cupy
    except Exception:
        import numpy

        return numpy


def forget(case, xp):
    """Data on the device are made anew when they are asked for again."""
    if xp.__name__ == "cupy":
        case.forget()
        xp.get_default_memory_pool().free_all_blocks()


def prepare(operator, case):
    """(peer, function of the ports or why there is none) of each peer, after a first call, so that all is compiled."""
    import torch

    xp, prepared = array_module(), []
    first = {port: torch.as_tensor(value, device="cuda") for port, value in case.inputs(xp).items()}
    for peer, build in operator.cuda_peers(case):
        try:
            with torch.inference_mode():
                function = build()
                getattr(function, "compile", function)(**{port: value.clone() for port, value in first.items()})
                torch.cuda.synchronize()
            prepared.append((peer, function))
        except Exception as problem:
            prepared.append((peer, problem))
    del first
    torch.cuda.empty_cache()
    forget(case, xp)
    return prepared


def measure(operator, case, prepared, results):
    """Checks each prepared peer against float64 and times it."""
    import torch

    import cuda_timing

    xp = array_module()
    arrays = case.inputs(xp)
    count = cuda_timing.input_sets(2 * sum(value.nbytes for value in arrays.values()))
    first = {port: torch.as_tensor(value, device="cuda") for port, value in arrays.items()}
    sets = [first] + [{port: value.clone() for port, value in first.items()} for _ in range(count - 1)]
    whole = []      # made when the first peer asks for it

    def expected(function):
        if hasattr(function, "reference"):
            return [xp.asarray(value) for value in function.reference()]
        if not whole:
            reference = operator.reference(case, xp)
            whole.extend(reference[port] for port in reference if port in case.outputs)
        return whole

    for peer, function in prepared:
        try:
            if isinstance(function, Exception):
                raise function
            with torch.inference_mode():
                unchecked = getattr(function, "unchecked", None)
                outputs = function(**{port: value.clone() for port, value in first.items()})
                outputs = [value.double().contiguous() for value in outputs]
                outputs = [value.cpu().numpy() if xp.__name__ == "numpy" else xp.asarray(value) for value in outputs]
                error = 0.0 if unchecked else check(outputs, expected(function), case.dtype())
                del outputs
                seconds = cuda_timing.time_graph(lambda i: function(**sets[i]), count)
            note = unchecked or getattr(function, "note", None)
            results.add(case, peer, seconds, cuda_timing.CLOCK + (f"; {note}" if note else ""), error=error)
        except Exception as problem:
            results.missing(case, peer, f"{type(problem).__name__}: {problem}")
        torch.cuda.empty_cache()
    del arrays, first, sets, whole
    forget(case, xp)


def measure_in_turn(cases, operator_of, lock, seconds, results, write):
    """One of several processes: prepares its cases, gives up the shared lock that it was started with, then times each under an exclusive one, which nobody
    gets before all have prepared theirs."""
    start, prepared = time.perf_counter(), []
    for case in cases:
        if not operator_of(case).supports(case):
            results.missing(case, PEER, NO_FORM)
        elif time.perf_counter() - start < PREPARING * seconds:
            prepared.append((case, prepare(operator_of(case), case)))
        else:
            results.missing(case, PEER, TOO_LATE)
    for case, functions in prepared:
        fcntl.flock(lock, fcntl.LOCK_UN)
        time.sleep(0.01)        # others come first, so that the largest cases of all are not left out
        fcntl.flock(lock, fcntl.LOCK_EX)
        if time.perf_counter() - start < seconds:
            measure(operator_of(case), case, functions, results)
        else:
            results.missing(case, PEER, TOO_LATE)
        write()
    write()
    fcntl.flock(lock, fcntl.LOCK_UN)


def shares(cases, jobs):
    """Lists of cases, the largest first in each."""
    def size(case):
        return -max(math.prod(spec["shape"]) for spec in case.specs.values())

    ordered = sorted(cases, key=size)
    return [ordered[i::jobs] for i in range(jobs) if ordered[i::jobs]]


def measure_side_by_side(folders, cases, jobs, seconds, results, write, describe, device_figures):
    """Starts the processes and gathers what they have measured, again and again, so that a run that is ended early leaves all that was measured."""
    before = list(results.benchmarks)
    with tempfile.TemporaryDirectory() as place:
        turn = pathlib.Path(place) / "turn"
        turn.touch()
        running = []
        for i, share in enumerate(shares(cases, jobs)):
            lock = os.open(turn, os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_SH)
            out = pathlib.Path(place) / f"{i}.json"
            names = [part for case in share for part in ("--case", case.name)]
            command = [sys.executable, str(RUNNER), *folders, *names, "--peers", "cuda", "--turn", str(lock), "--seconds", str(seconds), "--out", str(out)]
            environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}      # or each process would start as many compilers as there are cores
            running.append((subprocess.Popen(command, pass_fds=[lock], env=environment), share, out))
            os.close(lock)
        describe()
        with open(turn) as own:
            fcntl.flock(own, fcntl.LOCK_EX)
            results.context |= device_figures()
        while True:
            alive = any(process.poll() is None for process, _, _ in running)
            results.benchmarks = before + [entry for process, share, out in running for entry in gathered(process, share, out)]
            write()
            if not alive:
                return
            time.sleep(0.5)


def gathered(process, share, out):
    """What one process has measured so far; of one that has ended, also which cases it left out."""
    entries = json.loads(out.read_text())["benchmarks"] if out.exists() else []
    if process.poll() is None:
        return entries
    have = {entry["case"] for entry in entries}
    return entries + [{"name": f"{case.package}/{case.name}/{PEER}/cold", "package": case.package, "case": case.name, "variant": PEER, "tags": case.tags, "cold": True,
                       "error_occurred": True, "error_message": f"its process ended with status {process.returncode}"} for case in share if case.name not in have]
