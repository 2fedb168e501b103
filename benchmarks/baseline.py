#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the baseline of a machine, which `wgk bench --check` compares with, out of its result files.

  benchmarks/baseline.py nvidia-h200

The newest figure of each case in safe mode counts, with cold buffers, of the selected variant, if its clock was steady; its cost is relative to the copy
speed of its own run, during which the clocks must have been steady too. Cases that no result file has stay as they were. `wgk bench --save-baseline` measures a baseline anew instead (three rounds, of each case the one
that cost most), which machines whose speed changes from minute to minute need.
A check copies between the samples, which result files do not: cases of a few microseconds took 2 to 7 % longer beside copies on an H200, so that a check leaves those
less room than its 10 %.
"""

import argparse
import json
import pathlib
import sys

from figures import copy_held, ours_by_case, timed, unsteady
from report import load

FOLDER = pathlib.Path(__file__).resolve().parent
FIRST = ("date", "library_version", "adapter", "driver", "backend", "device_type", "software", "mode", "clock", "cache_bytes")


def key(entry):
    return entry["package"], entry["case"], entry["cold"]


def newest(machine):
    """The entries that count, each with the copy speed of its run, and the reports that they are of."""
    steady = [report for report in machine.safe if copy_held(report)]
    for report in steady:
        for entry in report["benchmarks"]:
            entry["report"] = report
    for package in machine.packages():
        for entry in (places["cold"] for places in ours_by_case(steady, package).values() if "cold" in places):
            if package.startswith("com.") and timed(entry) and not unsteady(entry):
                report = entry["report"]
                kept = {name: value for name, value in entry.items() if name not in ("report", "gap", "date", "host_seconds")}
                yield {"copy_beside": report["context"]["copy_bytes_per_second"], **kept}, report


def baseline(machine, old):
    made = list(newest(machine))
    last = max((report["context"] for _, report in made), key=lambda context: context["date"])
    packages = dict(old["context"]["packages"])
    for _, report in sorted(made, key=lambda pair: pair[1]["context"]["date"]):
        packages |= {name: digest for name, digest in report["context"]["packages"].items() if name.startswith("com.")}
    context = {name: last[name] for name in FIRST}
    context |= {name: last[name] for name in ("copy_bytes_per_second", "empty_dispatch_seconds", "dependent_dispatch_seconds")}
    have = {key(entry) for entry, _ in made}
    return {"context": {**context, "packages": packages, "clock_held": True},
            "benchmarks": [entry for entry in old["benchmarks"] if key(entry) not in have] + [entry for entry, _ in made]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", help="the first part of the names of its result files")
    args = parser.parse_args()
    files = sorted((FOLDER / "results").glob(f"{args.machine}.*.json"))
    if not files:
        parser.error(f"there are no results of {args.machine}")
    machine, = load(files)
    path = FOLDER / f"baselines/{args.machine}.json"
    old = json.loads(path.read_text()) if path.exists() else {"context": {"packages": {}}, "benchmarks": []}
    made = baseline(machine, old)
    path.write_text(json.dumps(made, indent=2) + "\n")
    print(f"{len(made['benchmarks'])} cases, {len(made['benchmarks']) - len(old['benchmarks'])} more than before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
