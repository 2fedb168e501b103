# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/report.py knows of the entries of result files: which one counts, how it is written, what a floor moves."""

import collections
import json
import math
import pathlib
import re
import statistics

MAX_RETRIES = 3      # of a timing during which the clocks fell: max_retries in src/bench/timer.h
SAMPLES = 30         # that a figure is to have
EMPTY = "empty dispatch"
GOALS, MULTIPLES = (json.loads((pathlib.Path(__file__).parent / "goals.json").read_text())[part] for part in ("goals", "multiples"))
CASES = pathlib.Path(__file__).resolve().parent.parent / "kernels"


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
    """What was measured on one machine: our reports in safe and in trusted mode, and those of peers."""

    def __init__(self, name):
        self.name = name
        self.safe, self.trusted, self.modes, self.peers, self.turns, self.host, self.notes = [], [], [], [], [], None, []
        self.ratios = []   # (case, best peer, its time over ours), of all packages

    def add(self, report):
        if report.get("kind") == "host":
            self.host = report
        elif report.get("kind") == "turns":
            self.turns.append(report)
        elif "mode" not in report["context"]:
            self.peers.append(report)
        elif report["context"]["mode"] == "trusted":
            self.trusted.append(report)
        elif any(trusted(entry["variant"]) for entry in report["benchmarks"]) and not any(is_floor(entry["variant"]) for entry in report["benchmarks"]):
            self.modes.append(report)   # only says how the modes compare: figures have their floors in the same file
        else:
            self.safe.append(report)

    def packages(self):
        return dict.fromkeys(entry["package"] for report in self.safe for entry in report["benchmarks"])


def timed(entry):
    return not entry.get("error_occurred")


def copy_held(report):
    """Whether the clocks held while the run measured its copy speed; figures of its cases say for themselves whether they held."""
    return report["context"].get("clock_held", True)


def run_date(report):
    """Day and minute, UTC."""
    return report["context"]["date"][:16].replace("T", " ")


def ours_by_case(reports, package):
    """case -> {"cold": entry, "hot": entry}: of the newest report that has it (one without host costs where there is one), and of several variants the
    one measured first, which is the selected one; floors are no variant. A variant that refuses a case counts only where none was timed."""
    found = collections.OrderedDict()
    for report in sorted(reports, key=lambda r: (not any("host_seconds" in e for e in r["benchmarks"]), r["context"]["date"]), reverse=True):
        for entry in report["benchmarks"]:
            if entry["package"] != package or is_floor(entry["variant"]) or entry["variant"] == EMPTY or trusted(entry["variant"]):
                continue
            entry["gap"], entry["date"] = report["context"]["dependent_dispatch_seconds"], run_date(report)
            places = found.setdefault(entry["case"], {})
            known = places.setdefault("cold" if entry["cold"] else "hot", entry)
            if not timed(known) and timed(entry) and any(known is other for other in report["benchmarks"]):
                places["cold" if entry["cold"] else "hot"] = entry
    return collections.OrderedDict(sorted(found.items(), key=lambda item: size_order(item[0])))


def unsteady(entry):
    """Whether the clocks fell during this timing and during each of its repetitions. Files of older versions say only how often it was repeated."""
    return not entry.get("clock_held", entry.get("clock_retries", 0) < MAX_RETRIES)


def samples(entry):
    return entry["seconds"].get("samples", 0)


def figure(entry, with_samples=True):
    """The median in us, with the number of samples where it is small and a mark where the clock was not steady."""
    notes = [f"n {samples(entry)}"] if with_samples and samples(entry) < SAMPLES else []
    notes += ["clock unsteady"] if unsteady(entry) else []
    return microseconds(entry["seconds"]["median"]) + (f" ({', '.join(notes)})" if notes else "")


def by_date(reports):
    return sorted(reports, key=lambda report: report["context"]["date"])


def floor_entries(reports, package, kind="streams", of=lambda entry: True):
    """case -> the fastest of its floor kernels of a kind, with cold buffers, of the newest report that has any; `of` can choose."""
    found = {}
    for report in by_date(reports):
        here = collections.defaultdict(list)
        for entry in report["benchmarks"]:
            if entry["package"] == package and floor_kind(entry["variant"]) == kind and entry["cold"] and timed(entry) and of(entry):
                here[entry["case"]].append(entry)
        found |= {case: min(entries, key=lambda e: e["seconds"]["median"]) for case, entries in here.items()}
    return found


def trusted(name):
    """A variant that ran on the device in trusted mode of a run with both."""
    return name.endswith("(trusted)")


def beside_floors(report, kind):
    """What was compared with a floor kernel of a kind: cold buffers, our kernel in safe mode."""
    return [c for c in report.get("comparisons", []) if floor_kind(c["b"]) == kind and not trusted(c["a"]) and c.get("cold", True)]


def untimed_cases(machine, package):
    """The cases of the package's bench.json that no file of the machine has, by tag."""
    paths = sorted(CASES.glob(f"{package}/**/bench.json"))
    have = {entry["case"] for report in machine.safe + machine.trusted for entry in report["benchmarks"] if entry["package"] == package}
    found = collections.defaultdict(list)
    for case in (case for path in paths for case in json.loads(path.read_text())["cases"]):
        if case["name"] not in have:
            found[", ".join(case.get("tags", [])) or "no tag"].append(case["name"])
    return found


def size_order(case):
    """Cases of one family together, by size; types last."""
    sizes = [int(number) * (1024 if kilo else 1) for number, kilo in re.findall(r"(\d+)(k?)", case)]
    return "decode" in case, "prompt" in case, re.match(r"[a-z]*", case)[0], sizes, case


def peer_entries(machine, package):
    """(case, data) -> {peer: entry}; of several reports each peer's fastest figure counts. Each entry knows what a launch costs its peer."""
    found = collections.defaultdict(collections.OrderedDict)
    for report in machine.peers:
        for entry in report["benchmarks"]:
            if entry["package"] != package:
                continue
            entry["gap"] = report["context"].get("graph_node_seconds", 0)
            theirs = found[(entry["case"], "cold" if entry["cold"] else "hot")]
            known = theirs.get(entry["variant"])
            if known is None or not timed(known) or (timed(entry) and entry["seconds"]["median"] < known["seconds"]["median"]):
                theirs[entry["variant"]] = entry
    return found


def is_floor(name):
    return name.startswith("floor")


def floor_kind(name):
    """streams: only reads and writes; rows: also reads what belongs to each row, and goes by rows; sums: also sums up what each workgroup reads before it writes; row_sums: all of that."""
    if not is_floor(name):
        return None
    return ("row_sums" if "of a row" in name else "sums") if "with sums" in name else "rows" if "of a row" in name else "streams"


def floor_ratios(machine):
    """(package, case) -> our time over that of its fastest floor kernel, sample by sample in one run."""
    packages = {entry["case"]: entry["package"] for report in machine.safe for entry in report["benchmarks"]}
    return {(packages[case], case): c["ratio"]["median"] for case, (_, c, _) in beside_fastest(machine, "streams").items()}


def beside_fastest(machine, kind):
    """case -> (report, comparison with its fastest floor, how many were tried), of the newest report that has any."""
    found = {}
    for report in by_date(machine.safe):
        here = collections.defaultdict(list)
        for c in beside_floors(report, kind):
            here[c["name"], c["a"]].append(c)
        first = {case: tried for (case, _), tried in reversed(here.items())}     # of several variants the one measured first
        found |= {case: (report, max(tried, key=lambda c: c["ratio"]["median"]), len(tried)) for case, tried in first.items()}
    return found


def trusted_pairs(machine):
    """(package, case, data, safe over trusted time, its range or None, both figures) of the same cases and variants of the same text of a package: interleaved where a run had
    both modes (`wgk bench --both-modes`), else of two runs."""
    for package in machine.packages():
        pairs, medians = {}, {}
        for report in (report for report in by_date(machine.safe + machine.modes) if package in report["context"]["packages"]):
            found = {(c["name"], c["a"], c.get("cold", True)): c for c in report.get("comparisons", []) if c["a"] == f"{c['b']} (trusted)"}
            pairs |= found
            both = {(case, side, cold) for (case, _, cold), c in found.items() for side in (c["a"], c["b"])}
            medians |= {key: figure(e) for e in report["benchmarks"]
                        if e["package"] == package and timed(e) and (key := (e["case"], e["variant"], e["cold"])) in both}
        for (case, name, cold), c in sorted(pairs.items(), key=lambda item: (size_order(item[0][0]), not item[0][2])):
            spread = f"{1 / c['ratio']['p90']:.3f} - {1 / c['ratio']['p10']:.3f}"
            yield package, case, "cold" if cold else "hot", 1 / c["ratio"]["median"], spread, medians[case, c["b"], cold], medians[case, name, cold]
        in_trusted = ours_by_case(machine.trusted, package)
        digests = {report["context"]["packages"].get(package) for report in machine.trusted}
        safe = ours_by_case([r for r in machine.safe if r["context"]["packages"].get(package) in digests], package)
        for case in (case for case in safe if not any(case == name for name, _, _ in pairs)):
            for data in sorted(set(safe[case]) & set(in_trusted.get(case, {}))):
                a, b = safe[case][data], in_trusted[case][data]
                if timed(a) and timed(b) and a["variant"] == b["variant"]:
                    yield package, case, data, a["seconds"]["median"] / b["seconds"]["median"], None, figure(a), figure(b)


def beside_empty(machine):
    """(case, data, of a floor) -> (report, comparison, of how many) with a dispatch that does nothing, timed between the samples (`wgk bench --empty`); of floors the fastest."""
    rows = {}
    for report in by_date(machine.safe):
        found = collections.defaultdict(list)
        for c in report.get("comparisons", []):
            if c["b"] == EMPTY and not trusted(c["a"]):
                found[c["name"], "cold" if c.get("cold", True) else "hot", is_floor(c["a"])].append(c)
        rows |= {key: (report, min(pairs, key=lambda c: c["ratio"]["median"]) if key[2] else pairs[0], len(pairs)) for key, pairs in found.items()}
    return rows


def turns_ratios(report):
    """(package, (peer over ours, peer over the floor)) of each case of a comparison in turns: medians of its rounds."""
    for row in report["rows"]:
        if "error" not in row:
            yield row["package"], tuple(statistics.median(t / s for t, s in zip(row["theirs"], row[side])) for side in ("ours", "floor"))
