#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes BENCHMARKS.md from result files: every case, every peer, losses included.

  benchmarks/report.py             # BENCHMARKS.md and the pictures in docs/ratios, from benchmarks/results
  benchmarks/report.py --check     # whether they are what it would write
  benchmarks/report.py FILE...     # the page of these files, to standard output

Files of `wgk bench --json` hold our figures (in safe and in trusted mode), files of the peers runner theirs, files of benchmarks/host/run.py what the
host costs. Files that belong to one machine have the same first part of their name: nvidia-h200.ours.json, nvidia-h200.cuda.json, llvmpipe.ours.json,
llvmpipe.ort-cpu.json; nvidia-h200.notes-ssln.md and other .md files are linked to by their titles. benchmarks/goals.json says what a case is to take.
"""

import argparse
import collections
import json
import pathlib
import statistics
import sys

import derived_goals
import goals_page
import ratio_plot
from figures import (Machine, beside_empty, beside_fastest, by_date, copy_held, figure, geometric_mean, is_floor, microseconds, MULTIPLES, ours_by_case, peer_entries, rate, run_date, samples, size_order,
                     SAMPLES, timed, trusted, trusted_pairs, turns_ratios, untimed_cases)
from peer_ratios import Ratios, ratios_of, their_entries, WEBGPU
from verdicts import mean_state, moves_more, STATES


def between(values, form):
    least, most = form(values[0]), form(values[-1])
    return least if least == most else f"{least} to {most}"


def context_lines(machine):
    """The device of the machine, then each run behind the tables, folded away."""
    c = machine.safe[0]["context"]
    yield f"{c['adapter']} ({c['driver']}), {c['backend']}; times by {', '.join(dict.fromkeys(r['context']['clock'] for r in machine.safe))}."
    if any(report["context"].get("software") for report in machine.safe):
        yield "**A software adapter: these figures prove host cost and compare CPU programs, never GPU speed.**"
    yield f"\n<details><summary>{len(machine.safe + machine.trusted + machine.modes + machine.peers)} runs: what the machine gave in them, versions of the peers</summary>\n"
    alike = collections.defaultdict(list)
    for report in machine.safe + machine.trusted + machine.modes:
        c = report["context"]
        alike[c["date"][:10], ", ".join(name.split(".")[-1] for name in c["packages"]), f"{c['mode']} mode{AWAKE if c.get('kept_awake') else ''}"].append(report)
    for (date, packages, mode), reports in sorted(alike.items()):
        runs, steady = len(reports), [report for report in reports if copy_held(report)] or reports
        rest = f" (of {runs - len(steady)} the clocks fell meanwhile)" if len(steady) < runs else ""
        copy, empty, dependent = (sorted(report["context"][name] for report in steady) for name in ("copy_bytes_per_second", "empty_dispatch_seconds", "dependent_dispatch_seconds"))
        yield (f"- {date}, {packages}, {mode}, {runs} run{'s' * (runs > 1)}{rest}: copy {between(copy, lambda v: rate(v, 'B/s'))} read + write, empty dispatch "
               f"{between(empty, microseconds)} us, dependent dispatch {between(dependent, microseconds)} us")
    peers = collections.Counter()
    for c in (report["context"] for report in machine.peers):
        versions = ", ".join(f"{k} {v}" for k, v in c["versions"].items() if v != "missing")
        node = f"; a node of a captured graph {microseconds(c['graph_node_seconds'])} us" if c.get("graph_node_seconds") else ""
        peers[f"{c['date'][:10]}, peers{': ' + c['source'] if c.get('source') else ''}{AWAKE if c.get('kept_awake') else ''}: {versions}{node}"] += 1
    yield from (f"- {line}{f' ({count} runs)' if count > 1 else ''}" for line, count in peers.items())
    yield "\n</details>"


def plain_product(machine):
    """FLOP/s of a plain float16 product (benchmarks/ceilings): what kernels on matrix instructions are held against."""
    return max((entry["flops_per_second"] for report in machine.safe for entry in report["benchmarks"]
                if entry["package"] == "wgk.MatrixProduct" and timed(entry)), default=0)


def flops_cell(entry, product):
    flops = entry.get("flops_per_second", 0)
    on_matrices = product and "f16mat" in entry["variant"]
    return (rate(flops, "FLOP/s") if flops else "-") + (f" ({100 * flops / product:.0f} %)" if flops and on_matrices else "")


def few_samples(peers):
    """name -> what the head of its column says, for peers all of whose figures have the same small number of samples."""
    numbers = collections.defaultdict(set)
    for entries in peers.values():
        for name, entry in entries.items():
            if timed(entry):
                numbers[name].add(samples(entry))
    return {name: f" (n {min(found)})" for name, found in numbers.items() if len(found) == 1 and min(found) < SAMPLES}


def untimed_lines(machine, package):
    found = untimed_cases(machine, package)
    if found:
        yield f"<details><summary>{sum(map(len, found.values()))} cases of its bench.json that no file of this machine has</summary>\n"
        yield from (f"- {tags}: {', '.join(sorted(cases, key=size_order))}" for tags, cases in sorted(found.items()))
        yield "\n</details>\n"


def other_variants(machine, package, ours):
    """Rows of what a package of benchmarks/ceilings was timed in beside the first, in the same run; it has no peers."""
    for case, places in ours.items():
        first = places.get("cold")
        for report in (report for report in machine.safe if any(entry is first for entry in report["benchmarks"])):
            copy = report["context"]["copy_bytes_per_second"]
            for entry in report["benchmarks"]:
                if entry["package"] == package and entry["case"] == case and entry["cold"] and timed(entry) and entry is not first and not is_floor(entry["variant"]):
                    of_copy = f"{100 * entry['bytes_per_second'] / copy:.0f} %" if entry.get("bytes") else "-"
                    yield (f"| {case} | {entry['variant']} | cold | {figure(entry)} | {microseconds(entry['seconds']['p10'])} - {microseconds(entry['seconds']['p90'])} | {of_copy} |" +
                           (f" {flops_cell(entry, 0)} |" if entry.get("flops") else "") + f" {run_date(report)} |")


def goal_of(machine, package, what):
    """The multiple that a package is to have on a machine, by geometric mean; 0: none."""
    return next((goal["at_least"] for goal in MULTIPLES if (goal["machine"], goal["package"], goal["of"]) == (machine.name, package, what)), 0)


def package_section(machine, package):
    peers = peer_entries(machine, package)
    names = list(dict.fromkeys(name for entries in peers.values() for name in entries))
    contexts = {package: report["context"] for report in machine.safe if package in report["context"]["packages"] and copy_held(report)}
    context = contexts.get(package, machine.safe[0]["context"])
    copy = context["copy_bytes_per_second"]
    yield f"### {package}\n"
    ours = ours_by_case(machine.safe, package)
    computes = any(entry.get("flops", 0) > 64 * entry.get("bytes", 0) for places in ours.values() for entry in places.values())
    product = plain_product(machine)
    if computes and product and not package.startswith("wgk."):
        yield f"In brackets: of a plain float16 product on the same device ({rate(product, 'FLOP/s')}, `benchmarks/ceilings`).\n"
    if package.startswith("wgk."):
        yield "From `benchmarks/ceilings`: no oracle, their own tests compare every element.\n"
    few = few_samples(peers)
    columns = ["case", "variant", "data", "us", "10-90 %", "of copy", *(["FLOP/s"] if computes else []), *(f"{n}, us{few.get(n, '')}" for n in names),
               *(["best peer / ours"] if names else []), "timed"]
    yield "| " + " | ".join(columns) + " |"
    yield "|" + " --- |" * len(columns)
    ratios, refused = ratios_of(machine, package), collections.OrderedDict()
    for case, places in ours.items():
        for data, entry in places.items():
            theirs = their_entries(peers, case, data, places)
            if not timed(entry):
                yield f"| {case} | {entry['variant']} | {data} | not timed: {entry['error_message']} |" + "  |" * (len(columns) - 4)
                continue
            seconds = entry["seconds"]["median"]
            cells = [case, entry["variant"], data, figure(entry),
                     f"{microseconds(entry['seconds']['p10'])} - {microseconds(entry['seconds']['p90'])}",
                     f"{100 * entry['bytes_per_second'] / copy:.0f} %" if copy and entry.get("bytes") else "-"]
            if computes:
                cells.append(flops_cell(entry, product))
            fastest = []
            for name in names:
                peer = theirs.get(name)
                if peer is None or not timed(peer):
                    cells.append("-")
                    if peer is not None:
                        refused.setdefault((name, peer["error_message"]), []).append(case)
                    continue
                cells.append(figure(peer, name not in few))
                if not is_floor(name):
                    fastest.append(peer["seconds"]["median"] / seconds)
            if names:
                cells.append(f"{min(fastest):.2f}" if fastest else "-")
            cells.append(entry["date"])
            yield "| " + " | ".join(cells) + " |"
    if package.startswith("wgk."):
        yield from other_variants(machine, package, ours)
    machine.ratios += [(case, name, ratio) for (case, ratio), name in zip(ratios.best, ratios.best_names)]
    yield ""
    yield from ratios.lines(len(ours), goal_of(machine, package, WEBGPU))
    if refused:
        yield "<details><summary>Not measured</summary>\n"
        yield from (f"- {name}: {why} ({', '.join(dict.fromkeys(cases))})" for (name, why), cases in refused.items())
        yield "\n</details>\n"
    yield from untimed_lines(machine, package)


AWAKE = ", the cores kept awake by a loop of idle priority on each"


def turns_section(machine):
    """Files of benchmarks/peers/turns.py: ours and a peer in turns, case by case."""
    for report in machine.turns:
        c = report["context"]
        versions = ", ".join(f"{name} {version}" for name, version in c["versions"].items() if version != "missing")
        counts = sorted({len(row["ours"]) for row in report["rows"] if "error" not in row}) or [c["rounds"]]
        yield f"### In turns with {c['peer']}\n"
        yield (f"{c['date'][:10]}, {c['adapter']} ({c['driver']}), {c['mode']} mode, wgkernels {c['library_version']}; {versions}. {' or '.join(map(str, counts))} rounds of each case, ours and the peer one "
               f"after the other, with one set of buffers on both sides{AWAKE if c.get('kept_awake') else ''}; ours by {c['clock']}, theirs by {c['peer_clock']}. The ratio is the median of the rounds, its range their least and "
               f"most. The floor is the fastest of the kernels tried that only read and write the case's tensors, timed between our samples.{' ' + c['note'] if c.get('note') else ''}\n")
        rows = sorted((row for row in report["rows"] if "error" not in row), key=lambda row: size_order(row["case"]))
        goal = goal_of(machine, rows[0]["package"], "turns") if rows else 0
        yield "| case | ours, us | theirs, us | theirs / ours | least - most | floor, us | theirs / floor |\n|" + " --- |" * 7
        means = [pair for _, pair in turns_ratios({"rows": rows})]
        for row, (ratio, at_floor) in zip(rows, means):
            each = [t / s for t, s in zip(row["theirs"], row["ours"])]
            ours, theirs, floor = (microseconds(statistics.median(row[side])) for side in ("ours", "theirs", "floor"))
            yield f"| {row['case']} | {ours} | {theirs} | {ratio:.2f} | {min(each):.2f} - {max(each):.2f} | {floor} | {at_floor:.2f} |"
        ratio, at_floor = (geometric_mean(values) for values in zip(*means))
        yield f"| geometric mean{f', goal {goal}: {mean_state(ratio, at_floor, goal)}' if goal else ''} | | | {ratio:.2f} | | | {at_floor:.2f} |"
        yield ""
        failed = [row for row in report["rows"] if "error" in row]
        yield from (f"- {row['case']}: {row['error']}" for row in failed)
        if failed:
            yield ""


def calls_section(machine):
    """Whole calls: tensors from the host, planning, the kernel, results on the host; ours beside the WebGPU peer that was timed the same way."""
    for package in machine.packages():
        peers, rows, ratios = peer_entries(machine, package), [], collections.OrderedDict()
        for case, places in ours_by_case([r for r in machine.safe if any("host_seconds" in e for e in r["benchmarks"])], package).items():
            entry = next((e for e in places.values() if "host_seconds" in e), None)
            calls = {name: peer for data in ("hot", "cold") for name, peer in peers.get((case, data), {}).items()
                     if name == WEBGPU and timed(peer) and peer["clock"].startswith("wall time of one call")}
            if entry is None or not calls:
                continue
            ours = entry["host_seconds"]["whole_call"]
            for name, peer in calls.items():
                ratio = peer["seconds"]["median"] / ours
                ratios.setdefault(name, []).append((case, ratio))
                rows.append(f"| {case} | {microseconds(ours)} | {name} | {microseconds(peer['seconds']['median'])} | {ratio:.2f} | {peer['clock']} |")
        if rows:
            yield f"### Whole calls of {package}\n"
            yield ("Ours: planning, upload of the inputs, one submission, read-back of the outputs, by the wall clock. The peer: one call, by the wall clock.\n")
            yield from (f"- {name}: {Ratios.text(pairs)}" for name, pairs in ratios.items())
            yield "\n| case | ours, us | peer | theirs, us | theirs / ours | how theirs was timed |\n| --- | --- | --- | --- | --- | --- |"
            yield from rows
            yield ""


STEPS = {"plan": "plan, new", "known_plan": "plan, known", "render": "render", "pipelines": "pipelines", "record": "record", "submit": "submit", "upload": "upload",
         "read_back": "read back", "whole_call": "whole call"}


def steps_section(machine):
    """What a call costs the host, step by step: of the newest report that has the case with host costs."""
    for package in machine.packages():
        rows = {}
        for report in by_date(machine.safe):
            rows |= {entry["case"]: entry["host_seconds"] for entry in report["benchmarks"]
                     if entry["package"] == package and "host_seconds" in entry and not trusted(entry["variant"])}
        if not rows:
            continue
        yield f"### Host costs of a call of {package}, us\n"
        yield ("Planning a shape that nobody asked for before (rendering its texts is a part of that), planning a known one, creating the pipelines (a driver may still know them), recording one "
               "call, submitting it, uploading the inputs from host memory, reading the outputs back, and the whole call: planning, upload, submission and read-back, by the wall clock.\n")
        yield "| case | " + " | ".join(STEPS.values()) + " |\n|" + " --- |" * (len(STEPS) + 1)
        for case, host in sorted(rows.items(), key=lambda row: size_order(row[0])):
            yield f"| {case} | " + " | ".join(microseconds(host[step]) for step in STEPS) + " |"
        yield ""


def trusted_section(machine):
    """Safe over trusted times of the same cases."""
    pairs = list(trusted_pairs(machine))
    if pairs:
        values = [ratio for _, _, _, ratio, *_ in pairs]
        yield "### Safe and trusted mode\n"
        yield (f"Geometric mean of safe over trusted time: {geometric_mean(values):.3f}; largest {max(values):.3f}. With a range the two modes were interleaved in one "
               "run; without one they are of two runs.\n")
        yield "| package | case | data | safe, us | trusted, us | safe / trusted | 10-90 % |\n| --- | --- | --- | --- | --- | --- | --- |"
        for package, case, data, ratio, spread, safe, in_trusted in pairs:
            yield f"| {package.split('.')[-1]} | {case} | {data} | {safe} | {in_trusted} | {ratio:.3f} | {spread or '-'} |"
        yield ""


def comparisons_section(machine):
    """Ours beside the fastest floor of each case, of each kind of floors."""
    for kind, title, text in (("streams", "the floor", FLOORS), ("rows", "a floor that goes by rows", ROW_FLOORS), ("row_sums", "a floor that goes by rows and sums up", ROW_SUM_FLOORS), ("sums", "a floor that sums up", SUM_FLOORS)):
        found = beside_fastest(machine, kind)
        if not found:
            continue
        yield f"### Beside {title}\n"
        yield text
        yield "| package | case | variant | fastest of | floor, us | ours, us | ours / floor | 10-90 % |\n|" + " --- |" * 8
        packages = {entry["case"]: entry["package"].split(".")[-1] for report in machine.safe for entry in report["benchmarks"]}
        for report, c, tried in sorted(found.values(), key=lambda row: (packages[row[1]["name"]], size_order(row[1]["name"]))):
            floor, ours = (next((e for e in report["benchmarks"] if e["case"] == c["name"] and e["variant"] == c[side] and e["cold"] and timed(e)), None) for side in "ba")
            more = ", moves more" if floor and ours and moves_more(floor, ours) else ""
            yield (f"| {packages[c['name']]} | {c['name']} | {c['a']} | {tried}: {c['b']} | {figure(floor) if floor else '-'}{more} | {figure(ours) if ours else '-'} | {c['ratio']['median']:.3f} | "
                   f"{c['ratio']['p10']:.3f} - {c['ratio']['p90']:.3f} |")
        yield ""


def empty_section(machine):
    """Small cases beside a dispatch that does nothing: ours, and the fastest of the floors."""
    rows = beside_empty(machine)
    if rows:
        yield "### Beside an empty dispatch\n"
        yield "A dispatch of one workgroup that does nothing, timed between the samples of each kernel; ratios sample by sample.\n"
        yield "| case | data | kernel | us | empty dispatch, us | ratio | 10-90 % |\n|" + " --- |" * 7
        for (case, data, floor), (report, c, tried) in sorted(rows.items(), key=lambda row: (size_order(row[0][0]), row[0][1], row[0][2])):
            ours, empty = (next(e for e in report["benchmarks"] if timed(e) and (e["case"], e["variant"], e["cold"]) == (case, c[side], data == "cold")) for side in "ab")
            name = f"the fastest of {tried} floors: {c['a']}" if floor else c["a"]
            yield f"| {case} | {data} | {name} | {figure(ours)} | {figure(empty)} | {c['ratio']['median']:.2f} | {c['ratio']['p10']:.2f} - {c['ratio']['p90']:.2f} |"
        yield ""


def machine_section(machine, with_picture):
    yield f"## {machine.safe[0]['context']['adapter']}\n"
    yield from context_lines(machine)
    yield ""
    yield from goals_page.sections(machine)
    if machine.notes:
        yield "What bounds these figures, and what was tried:\n"
        yield from (f"- [{title}]({path})" for path, title in machine.notes)
        yield ""
    if with_picture and machine.peers:
        yield f"![Time of the best peer over ours, case by case]({picture(machine)})\n"
    yield from derived_goals.sections(machine)
    for package in machine.packages():
        yield from package_section(machine, package)
    yield from turns_section(machine)
    yield from calls_section(machine)
    yield from steps_section(machine)
    yield from trusted_section(machine)
    yield from comparisons_section(machine)
    yield from empty_section(machine)


def host_section(report):
    """Files of benchmarks/host/run.py: the same commands by this library and by bare Dawn calls."""
    yield "### Host cost against bare Dawn\n"
    yield (f"{report['adapter']}, {report['date']}, {report['cpus']} CPU cores. The same commands on the same kind of device in the same run, by this library "
           f"and by C calls of Dawn; medians of {report['repetitions']} interleaved repetitions (`benchmarks/host/run.py`).{' ' + report['note'] if report.get('note') else ''}\n")
    yield "| what | ours | bare | ours - bare | ours / bare | goal |\n| --- | --- | --- | --- | --- | --- |"
    for row in report["rows"]:
        unit = f" {row['unit']}" if row["unit"] else ""
        bare, extra, ratio = (f"{row[name]:{form}}{suffix}" if row[name] is not None else "-"
                              for name, form, suffix in (("bare", ".3f", unit), ("extra", "+.3f", unit), ("ratio", ".3f", "")))
        yield f"| {row['what']} | {row['ours']:.3f}{unit} | {bare} | {extra} | {ratio} | {row['goal']} |"
    yield ""


FLOORS = """`floor NrMw` is a kernel that only reads N and writes M tensors of the case's size, timed between the samples of the case; the fastest of the tried shapes of
workgroups is shown. `NrMw + NrMw in two dispatches`: two such kernels of which the second waits for the first, for cases that take several dispatches; what the first
one reads is read again, or kept where it is written, or all is read at first. In three dispatches: a small one between the two hands the word on, as a plan does that merges apart. "Moves more" (older files): one in two dispatches that read everything twice, which bounds
nothing from below.
"""

ROW_FLOORS = """For rows that are no multiple of 16 bytes. These kernels stream the same bytes in a workgroup for each row, by vectors of 16 bytes on the tensor's grid (one in which two rows meet
belongs to the first of them), or for each one or two rows that are whole 4-byte words, by words; and each workgroup also reads once what every row needs (gamma, bias), as a kernel must that takes
a row at a time. They neither sum up nor bring gamma and bias to the columns of a row. The fastest of the tried shapes of workgroups is shown; all were timed between the samples of the case.
"""

ROW_SUM_FLOORS = """As those by rows, each with what every row needs, but they write only after one sum over all that a workgroup has read, as a norm must, and no unit in which two rows of different
workgroups meet: by 4-byte words, by 8 bytes and by vectors of 16 in as many rows together as are whole ones. They still compute nothing else and bring nothing to the columns of a row. The fastest of the
tried shapes is shown; all were timed between the samples of the case.
"""

SUM_FLOORS = """A kernel that only streams does not wait for anything, a norm cannot write before it has the sum over its row. These kernels stream the same bytes in as many
workgroups as the case's own kernel, and the last write of each workgroup waits for one sum over what the workgroup read (one barrier). Up to 64 rows there are also kernels of two, four and eight
workgroups a row, which read and sum up the whole row each and write a slice. The fastest of the tried numbers of workgroups, lanes and vectors a lane is shown; all were timed between the samples of the case.
"""

HEAD = """# Benchmarks

Written by `benchmarks/report.py` from the files in `benchmarks/results`; `./dev bench` and `./dev bench peers` make new ones. Every case that was timed is
listed, losses included. Times are medians of device time per call, launch gaps included; "cold" rotates buffers past the last-level cache, "hot" uses one set
(kernels that are compared with hot buffers have up to six sets each, in turn one for a sample, which a call before it has just used). A case is timed only after its result agreed with the float64 oracle. Peers on CUDA run in a captured graph of 20 calls with the cache emptied, checked against float64.
"n" is the number of samples of a figure, or of all in a column, where it is below 30. "Clock unsteady": the device's clocks fell during this timing and during each of its three
repetitions, so the figure may be too large (in older files: during three in a row, whatever the fourth did). "timed" is when, UTC. Each machine begins with its goals; a verdict is one of

""" + STATES


REPOSITORY = pathlib.Path(__file__).resolve().parent.parent


def picture(machine):
    return f"docs/ratios/{machine.name}.svg"


def load(paths):
    machines = collections.OrderedDict()
    for path in sorted(paths):
        name = path.name.split(".")[0]
        machine, text = machines.setdefault(name, Machine(name)), path.read_text()
        if path.suffix == ".md":
            machine.notes.append((path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path, text.split("\n")[0].lstrip("# ")))
        else:
            machine.add(json.loads(text))
    return sorted(machines.values(), key=lambda machine: any(report["context"].get("software") for report in machine.safe))   # hardware first


def page(machines, with_pictures):
    parts = [HEAD]
    for machine in machines:
        if machine.safe:
            parts.append("\n".join(machine_section(machine, with_pictures)))
        elif machine.host:
            parts.append(f"## {machine.host['adapter']}\n")
        if machine.host:
            parts.append("\n".join(host_section(machine.host)))
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.files:
        print(page(load(args.files), False), end="")
        return 0
    machines = load((REPOSITORY / "benchmarks/results").iterdir())
    written = {"BENCHMARKS.md": page(machines, True)}
    written |= {picture(machine): ratio_plot.svg(machine.safe[0]["context"]["adapter"], machine.ratios) for machine in machines if machine.ratios}
    if args.check:
        stale = [name for name, text in written.items() if not (REPOSITORY / name).is_file() or (REPOSITORY / name).read_text() != text]
        print("\n".join(f"{name} is not what benchmarks/report.py writes: run it" for name in stale) or f"{len(written)} files of results are as written")
        return 1 if stale else 0
    for name, text in written.items():
        (REPOSITORY / name).parent.mkdir(parents=True, exist_ok=True)
        (REPOSITORY / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
