#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes BENCHMARKS.md from result files: every case, every peer, losses included.

  benchmarks/report.py benchmarks/results/*.json > BENCHMARKS.md

Files of `wgk bench --json` hold our figures, files of the peers runner theirs. Files that belong to one machine have the same first part of their
name: nvidia-h200.ours.json, nvidia-h200.cuda.json, llvmpipe.ours.json, llvmpipe.ort-cpu.json.
"""

import collections
import json
import math
import pathlib
import sys


def microseconds(seconds):
    us = seconds * 1e6
    return f"{us:.0f}" if us >= 100 else f"{us:.1f}" if us >= 10 else f"{us:.2f}"


def rate(value, unit):
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= scale:
            return f"{value / scale:.2f} {prefix}{unit}"
    return f"{value:.0f} {unit}"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


class Machine:
    def __init__(self, name):
        self.name = name
        self.ours, self.peers = None, []

    def add(self, report):
        if "copy_bytes_per_second" in report["context"]:
            self.ours = report
        else:
            self.peers.append(report)


def timed(entry):
    return not entry.get("error_occurred")


def best_of_ours(report):
    """(package, case) -> {cold: entry, hot: entry}: the selected variant is the one measured first."""
    found = collections.OrderedDict()
    for entry in report["benchmarks"]:
        places = found.setdefault((entry["package"], entry["case"]), {})
        places.setdefault("cold" if entry["cold"] else "hot", entry)
    return found


def context_lines(machine):
    c = machine.ours["context"]
    yield f"- {c['adapter']} ({c['driver']}), {c['backend']}, {c['mode']} mode, {c['date'][:10]}; clock: {c['clock']}"
    if c.get("software"):
        yield "- **A software adapter: these figures prove host cost and compare CPU programs, never GPU speed.**"
    yield (f"- copy {rate(c['copy_bytes_per_second'], 'B/s')} read + write; empty dispatch {microseconds(c['empty_dispatch_seconds'])} us; "
           f"dependent dispatch {microseconds(c['dependent_dispatch_seconds'])} us")
    for report in machine.peers:
        versions = ", ".join(f"{k} {v}" for k, v in report["context"]["versions"].items() if v != "missing")
        yield f"- peers ({report['context']['date'][:10]}): {versions}"


def package_section(package, cases, peers, copy):
    names = []
    for (peer_package, _), entries in peers.items():
        for entry in entries if peer_package == package else []:
            if entry["variant"] not in names:
                names.append(entry["variant"])
    yield f"### {package}\n"
    yield "| case | variant | data | us | 10-90 % | of copy | " + " | ".join(f"{n}, us" for n in names) + (" | best peer / ours |" if names else "")
    yield "|" + " --- |" * (6 + len(names) + (1 if names else 0))
    ratios = collections.defaultdict(list)
    best = []
    refused = []
    for (_, case), places in cases:
        theirs = {entry["variant"]: entry for entry in peers.get((package, case), [])}
        for data, entry in places.items():
            if not timed(entry):
                yield f"| {case} | {entry['variant']} | {data} | not timed: {entry['error_message']} |  |  |" + "  |" * (len(names) + (1 if names else 0))
                continue
            seconds = entry["seconds"]["median"]
            cells = [case, entry["variant"], data, microseconds(seconds),
                     f"{microseconds(entry['seconds']['p10'])} - {microseconds(entry['seconds']['p90'])}",
                     f"{100 * entry['bytes_per_second'] / copy:.0f} %" if copy and entry.get("bytes") else "-"]
            fastest = []
            for name in names:
                peer = theirs.get(name)
                if peer is None or not timed(peer):
                    cells.append("-")
                    if peer is not None and data == "cold":
                        refused.append(f"{case}, {name}: {peer['error_message']}")
                    continue
                cells.append(microseconds(peer["seconds"]["median"]))
                if data == ("cold" if "cold" in places else data):
                    ratios[name].append(peer["seconds"]["median"] / seconds)
                    fastest.append(peer["seconds"]["median"] / seconds)
            if names:
                cells.append(f"{min(fastest):.2f}" if fastest else "-")
                best += [min(fastest)] if fastest else []
            yield "| " + " | ".join(cells) + " |"
    if ratios:
        yield ""
        yield "Geometric means of peer time over ours: " + "; ".join(f"{n} {geometric_mean(r):.2f} ({len(r)} cases, {sum(x < 1 for x in r)} losses)" for n, r in ratios.items()) + "."
        yield f"Against the best peer of each case: {geometric_mean(best):.2f} ({len(best)} cases, {sum(x < 1 for x in best)} losses)."
    if refused:
        yield "\n<details><summary>Not measured</summary>\n"
        yield from (f"- {line}" for line in refused)
        yield "\n</details>"
    yield ""


def machine_section(machine):
    yield f"## {machine.ours['context']['adapter']}\n"
    yield from context_lines(machine)
    yield ""
    peers = collections.defaultdict(list)
    for report in machine.peers:
        for entry in report["benchmarks"]:
            peers[(entry["package"], entry["case"])].append(entry)
    cases = best_of_ours(machine.ours)
    for package in dict.fromkeys(key[0] for key in cases):
        yield from package_section(package, [item for item in cases.items() if item[0][0] == package], peers, machine.ours["context"]["copy_bytes_per_second"])
    comparisons = machine.ours.get("comparisons", [])
    if comparisons:
        yield "### Interleaved comparisons\n"
        yield "| case | a | b | time a / time b | 10-90 % |\n| --- | --- | --- | --- | --- |"
        for c in comparisons:
            yield f"| {c['name']} | {c['a']} | {c['b']} | {c['ratio']['median']:.3f} | {c['ratio']['p10']:.3f} - {c['ratio']['p90']:.3f} |"
        yield ""


HEAD = """# Benchmarks

Written by `benchmarks/report.py` from the files in `benchmarks/results`; `./dev bench` and `./dev bench peers` make new ones. Every case is
listed, losses included. Times are medians of device time per call, launch gaps included; "cold" rotates buffers past the last-level cache, "hot" uses one set. A
case is timed only after its result agreed with the float64 oracle. Peers on CUDA run in a captured graph of 20 calls with the cache emptied, checked against float64.
"""


def main(paths):
    machines = collections.OrderedDict()
    for path in sorted(paths):
        name = pathlib.Path(path).name.split(".")[0]
        machines.setdefault(name, Machine(name)).add(json.loads(pathlib.Path(path).read_text()))
    print(HEAD)
    for machine in machines.values():
        if machine.ours:
            print("\n".join(machine_section(machine)))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if len(sys.argv) > 1 else 2)
    sys.exit(main(sys.argv[1:]))
