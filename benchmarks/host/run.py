#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the host's side against bare Dawn in one run and writes a JSON result.

usage: benchmarks/host/run.py BUILD_FOLDER [--repetitions N] [--min-time S] [--out FILE] [--kernels FOLDER] [--prefix "COMMAND WORDS"] [--note TEXT]

BUILD_FOLDER/bin holds the programs `runtime_bench` and `cold`; `--prefix` is what they are started by.

Bare and our own variants alternate. Every figure is a median; `ratio` and `extra` compare ours with bare.
"""

import argparse
import json
import pathlib
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

REPO = pathlib.Path(__file__).resolve().parent.parent.parent


def first_line_time(command):
    """Seconds from the start of the process to its first line."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        line = process.stdout.readline()
        spent = time.perf_counter() - start
        process.stdout.read()
    if process.returncode != 0 or not line:
        sys.exit(f"{command} failed")
    return spent


def micro(bench, repetitions, seconds):
    """Medians by name of the Google Benchmark program, repetitions of all benchmarks interleaved."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [*bench, f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}s", "--benchmark_enable_random_interleaving=true",
             "--benchmark_report_aggregates_only=true", f"--benchmark_out={out.name}", "--benchmark_out_format=json",
             "--benchmark_filter=BM_(Record|Threads|RoundTrip|Chain)"],
            check=True, stdout=subprocess.DEVNULL)
        report = json.load(open(out.name, encoding="utf-8"))
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    found = {}
    for entry in report["benchmarks"]:
        if entry.get("aggregate_name") == "median":
            name = entry["run_name"].split("/")
            key = "/".join(part for part in name if part not in ("manual_time", "real_time"))
            entry["seconds"] = entry["real_time"] * scale[entry["time_unit"]]
            found[key] = entry
    return found


def pair(what, ours, bare, unit, goal):
    return {"what": what, "ours": ours, "bare": bare, "unit": unit, "extra": ours - bare, "ratio": ours / bare if bare else 1.0, "goal": goal}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--min-time", type=float, default=0.3, help="seconds of one repetition")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--kernels", type=pathlib.Path, default=REPO / "kernels")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--note", default="", help="what a reader must know of the machine and the build")
    options = parser.parse_args()
    prefix = shlex.split(options.prefix)
    cold = [*prefix, options.build / "bin" / "cold"]
    norm = options.kernels / "com.microsoft.SkipSimplifiedLayerNormalization"
    os.environ["WGK_KERNELS"] = str(options.kernels)
    results = micro([*prefix, options.build / "bin" / "runtime_bench"], options.repetitions, options.min_time)

    rows = []

    def add(what, ours, bare, unit, goal):
        row = pair(what, ours, bare, unit, goal)
        rows.append(row)
        print(f"{what:68} ours {ours:10.3f} {unit:3} bare {bare:10.3f} {unit:3} extra {row['extra']:+9.3f}  ratio {row['ratio']:.3f}  goal {goal}", flush=True)

    def seconds(name, scale=1e6):
        return results[f"BM_{name}"]["seconds"] * scale

    record = {name: results[f"BM_Record{name}"] for name in ("Ours", "Bare")}
    add("record one dispatch", record["Ours"]["per_dispatch"] * 1e6, record["Bare"]["per_dispatch"] * 1e6, "us", "+0.2 us")
    add("allocations per recorded call, Dawn's included", record["Ours"]["allocations_per_call"], record["Bare"]["allocations_per_call"], "", "no more than bare")
    add("submit to mapped result", seconds("RoundTripOurs"), seconds("RoundTripBare"), "us", "+3 us")
    add("the same as one call with host data", seconds("RoundTripCall"), seconds("RoundTripBare"), "us", "none")
    add("the same on a trusted device", seconds("RoundTripTrusted"), seconds("RoundTripBare"), "us", "none (bare: safe)")
    scaling = {name: results[f"BM_Threads{name}/8"]["calls_per_second"] / results[f"BM_Threads{name}/1"]["calls_per_second"]
               for name in ("Ours", "Bare")}
    add("recording on 8 threads over one", scaling["Ours"], scaling["Bare"], "x", "0.95 of bare")
    add("chain of 32 x (norm, decode attention, norm)", seconds("ChainOurs", 1e3), seconds("ChainBare", 1e3), "ms", "1.05 x")
    add("the same, one awaited call after another (bare: ours in one submit)", seconds("ChainAwaited", 1e3), seconds("ChainOurs", 1e3), "ms", "at least 2.4 x")

    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.txt"
        subprocess.run([*cold, "plan", norm, plan], check=True)
        times = {"ours": [], "ahead": [], "bare": []}
        for _ in range(options.repetitions + 1):
            times["ours"].append(first_line_time([*cold, "ours", norm]))
            times["ahead"].append(first_line_time([*cold, "ahead", norm]))
            times["bare"].append(first_line_time([*cold, "bare", plan]))
        # The first of each fills the caches of the machine.
        medians = {name: statistics.median(values[1:]) * 1e3 for name, values in times.items()}
        add("new process to first result, the package opened beside the device", medians["ahead"], medians["bare"], "ms", "1.2 x")
        add("new process to first result, one step after another", medians["ours"], medians["bare"], "ms", "1.2 x")
        cached = []
        for _ in range(options.repetitions):
            done = subprocess.run([*cold, "pipelines", norm, pathlib.Path(folder) / "cache"], check=True, capture_output=True, text=True)
            cached.append(json.loads(done.stdout))
        add(f"{cached[0]['pipelines']} pipelines from a full disk cache", statistics.median(c["ours_us"] for c in cached) / 1e3,
            statistics.median(c["bare_us"] for c in cached) / 1e3, "ms", "1.2 x")

    if options.out:
        info = subprocess.run([*cold, "adapter"], capture_output=True, text=True, check=False).stdout.strip()
        report = {"kind": "host", "machine": platform.machine(), "adapter": info, "date": time.strftime("%Y-%m-%d", time.gmtime()),
                  "cpus": os.cpu_count(), "repetitions": options.repetitions, "note": options.note, "rows": rows}
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
