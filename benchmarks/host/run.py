#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the host's side against bare Dawn in one run and writes a JSON result.

usage: benchmarks/host/run.py BUILD_FOLDER [--repetitions N] [--min-time S] [--out FILE] [--kernels FOLDER] [--prefix "COMMAND WORDS"] [--note TEXT]

BUILD_FOLDER/bin holds the programs `runtime_bench` and `cold`; `--prefix` is what they are started by.

Bare and our own variants take turns, call by call or process by process. Every figure is a median; `ratio` and `extra` compare ours with bare. Parts that fail are named at the end of
their place and make the exit status 1; the others are measured and written all the same.
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
        raise RuntimeError(f"{' '.join(map(str, command))} failed")
    return spent


def micro(bench, wanted, repetitions, seconds):
    """Medians by name of benchmarks of the Google Benchmark program, repetitions of all of them interleaved."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [*bench, f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}s", "--benchmark_enable_random_interleaving=true",
             "--benchmark_report_aggregates_only=true", f"--benchmark_out={out.name}", "--benchmark_out_format=json",
             f"--benchmark_filter=BM_({wanted})"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
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


class Table:
    """Rows, printed as they come. `bare` is None where there is nothing to compare with."""

    def __init__(self):
        self.rows, self.failed = [], []

    def add(self, what, ours, bare, unit, goal):
        row = {"what": what, "ours": ours, "bare": bare, "unit": unit, "extra": None if bare is None else ours - bare,
               "ratio": ours / bare if bare else None, "goal": goal}
        self.rows.append(row)
        beside = "" if bare is None else f" bare {bare:10.3f} {unit:3} extra {row['extra']:+9.3f}"
        ratio = "" if row["ratio"] is None else f"  ratio {row['ratio']:.3f}"
        print(f"{what:72} ours {ours:10.3f} {unit:3}{beside}{ratio}  goal {goal}", flush=True)

    def part(self, measure):
        """One part of the table; one that fails leaves the others standing."""
        try:
            measure(self)
        except (subprocess.CalledProcessError, RuntimeError, KeyError) as error:
            self.failed.append(measure.__name__)
            print(f"{measure.__name__} failed: {error}\n{getattr(error, 'stderr', None) or ''}", flush=True)


class Measure:
    """The parts of the table, in the order in which they are measured."""

    def __init__(self, options):
        prefix = shlex.split(options.prefix)
        self.bench = [*prefix, options.build / "bin" / "runtime_bench"]
        self.cold = [*prefix, options.build / "bin" / "cold"]
        self.norm = options.kernels / "com.microsoft.SkipSimplifiedLayerNormalization"
        self.repetitions, self.seconds = options.repetitions, options.min_time

    def medians(self, wanted):
        found = micro(self.bench, wanted, self.repetitions, self.seconds)
        return found, lambda name, scale=1e6: found[f"BM_{name}"]["seconds"] * scale

    def new_process(self, table):
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "plan.txt"
            subprocess.run([*self.cold, "plan", self.norm, plan], check=True)
            times = {"ours": [], "ahead": [], "bare": []}
            # One process differs from the next by more than what is measured: twice the rounds of other parts.
            for _ in range(2 * self.repetitions + 1):
                for name, spent in times.items():
                    spent.append(first_line_time([*self.cold, name, plan if name == "bare" else self.norm]))
        # The first of each fills the caches of the machine.
        medians = {name: statistics.median(values[1:]) * 1e3 for name, values in times.items()}
        table.add("new process to first result", medians["ours"], medians["bare"], "ms", "1.2 x")
        table.add("the same, the package opened by the caller beside the device", medians["ahead"], medians["bare"], "ms", "1.2 x")

    def round_trip(self, table):
        # A process for each: devices that other parts made cost both sides, and not the same.
        found = {}
        for part in ("Turns/", "TurnsUnnamed", "Call", "Modes"):
            found |= self.medians(f"RoundTrip{part}")[0]

        def turns(name, ours="ours", bare="bare"):
            return found[f"BM_RoundTrip{name}"][ours] * 1e6, found[f"BM_RoundTrip{name}"][bare] * 1e6

        table.add("submit to mapped result (one dispatch; plans with several in one pass keep a debug group each)", *turns("Turns"), "us", "+3 us")
        table.add("the same without the name of the dispatch", *turns("TurnsUnnamed"), "us", "+3 us")
        table.add("the same as one call with host data (bare: the same three writes)", *turns("Call"), "us", "none")
        parts = {part: round(found["BM_RoundTripCall"][part] * 1e6, 2) for part in ("plan", "prepare", "upload", "submit", "wait")}
        table.rows[-1]["parts"] = parts
        print(f"    of it {parts}", flush=True)
        table.add("submit to mapped result, ours on a trusted device (bare: ours on a safe one)", *turns("Modes", "trusted", "safe"), "us", "none")

    def record(self, table):
        found, _ = self.medians("Record")
        turns, modes = found["BM_RecordTurns"], found["BM_RecordModes"]
        table.add("record one dispatch", turns["ours"] * 1e6, turns["bare"] * 1e6, "us", "+0.2 us")
        table.add("allocations per recorded call, Dawn's included", turns["ours_allocations"], turns["bare_allocations"], "", "no more than bare")
        table.add("record one dispatch, ours on a trusted device (bare: ours on a safe one)", modes["trusted"] * 1e6, modes["safe"] * 1e6, "us", "none")

    def threads(self, table):
        found, _ = self.medians("Threads")
        scaling = {name: found[f"BM_Threads{name}/8"]["calls_per_second"] / found[f"BM_Threads{name}/1"]["calls_per_second"] for name in ("Ours", "Bare")}
        table.add("recording on 8 threads over one", scaling["Ours"], scaling["Bare"], "x", "0.95 of bare")

    def chain(self, table):
        found, seconds = self.medians("Chain")
        turns = found["BM_ChainTurns"]
        table.add("chain of 32 x (norm, decode attention, norm)", turns["ours"] * 1e3, turns["bare"] * 1e3, "ms", "1.05 x")
        table.add("the same, one awaited call after another (bare: ours in one submit)", seconds("ChainAwaited", 1e3), turns["ours"] * 1e3, "ms",
                  "at least 2.4 x")

    def pipelines(self, table):
        cached = []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(self.repetitions):
                done = subprocess.run([*self.cold, "pipelines", self.norm, pathlib.Path(folder) / "cache"], check=True, capture_output=True, text=True)
                cached.append(json.loads(done.stdout))
        first = cached[0]
        # The bare side keeps its blobs by the hooks that device_needs gives a caller's own device.
        table.add(f"{first['pipelines']} pipelines from a full disk cache (blobs loaded: {min(c['ours_blobs'] for c in cached)}, "
                  f"bare, through the hooks of `device_needs`, {min(c['bare_blobs'] for c in cached)})",
                  statistics.median(c["ours_us"] for c in cached) / 1e3, statistics.median(c["bare_us"] for c in cached) / 1e3, "ms", "1.2 x")
        table.add(f"the same pipelines with an empty cache (blobs loaded: {first['cold_blobs']}; once)", first["cold_us"] / 1e3, None, "ms", "none")

    def ten_thousand_calls(self, table):
        done = subprocess.run([*self.cold, "calls", self.norm], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        table.add(f"{found['calls']:,} calls with tensors of the device, read back: each", found["us_per_call"], None, "us", "none")
        table.add("buffers, bind groups, pipelines and plans they made after the third", found["made"], None, "", "0")
        table.add("growth of device memory after the third call", found["device_bytes"] / 1024, None, "KiB", "0")
        table.add("growth of the host heap after the 2,000th call", found["heap_bytes"] / 1024, None, "KiB", "flat")


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
    os.environ["WGK_KERNELS"] = str(options.kernels)
    measure, table = Measure(options), Table()
    info = subprocess.run([*measure.cold, "adapter"], capture_output=True, text=True, check=False).stdout.strip()
    report = {"kind": "host", "machine": platform.machine(), "adapter": info, "date": time.strftime("%Y-%m-%d", time.gmtime()),
              "cpus": os.cpu_count(), "repetitions": options.repetitions, "note": options.note, "rows": table.rows}
    for part in (measure.new_process, measure.round_trip, measure.record, measure.threads, measure.chain, measure.pipelines, measure.ten_thousand_calls):
        table.part(part)
        if options.out:  # what was measured stays if a later part is cut off
            options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
