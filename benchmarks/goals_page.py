# SPDX-License-Identifier: Apache-2.0
"""The goals of a machine (goals.json): what each asks for, what was measured, and what it came to."""

import collections

import derived_goals
from figures import (beside_empty, beside_fastest, figure, floor_entries, floor_ratios, geometric_mean, GOALS, microseconds, MULTIPLES, ours_by_case, timed, trusted_pairs, turns_ratios)
from peer_ratios import LEAST_WEBGPU, ratios_of, rows_of
from verdicts import floor_cell, goal_state, mean_state, MISSED, OUT, out_of_reach, REACHED, reads_back

NAMED = 12     # cases of a state; the tables have the others


def short(package):
    return package.split(".")[-1]


def tally(states):
    """How many of the cases, [(case, state, what to say of it)], came to what; cases that are not reached by name."""
    groups = collections.OrderedDict()
    for case, state, said in states:
        groups.setdefault(state, []).append(f"{case}{f' {said}' if said else ''}")
    if set(groups) == {REACHED}:
        return f"**{REACHED}**"
    parts = [f"{len(groups.pop(REACHED, []))} of {len(states)} {REACHED}"]
    for state, cases in sorted(groups.items(), key=lambda item: (item[0] == MISSED, item[0])):
        shown = ", ".join(cases[:NAMED]) + (f" and {len(cases) - NAMED} more" if len(cases) > NAMED else "")
        parts.append(f"{len(cases)} {f'**{state}**' if state == MISSED else state}: {shown}")
    return "; ".join(parts)


def span(values):
    return f"{min(values):.3f} to {max(values):.3f}" if values else "-"


def case_states(machine):
    """(goal, entry, floors, state) of each goal of one case."""
    ratios = floor_ratios(machine)
    for goal in (goal for goal in GOALS if goal["machine"] == machine.name):
        package, case = goal["package"], goal["case"]
        entry = ours_by_case(machine.safe if goal["mode"] == "safe" else machine.trusted, package).get(case, {}).get("cold")
        entry = entry if entry and timed(entry) else None
        floors = (floor_entries(machine.safe, package).get(case), floor_entries(machine.safe, package, "sums").get(case), floor_entries(machine.safe, package, of=reads_back).get(case))
        of_floor = ratios.get((package, case))
        state = goal_state(goal, entry, *floors, of_floor)
        if state == MISSED and "of_floor" in goal and of_floor:
            state = beside_slower_floor(machine, case, of_floor, goal["of_floor"])
        yield goal, entry, floors, of_floor, state


def beside_slower_floor(machine, case, of_floor, most):
    """Of a case that takes too many times its floor: whether a floor that does more of what ours must do takes that many times it too."""
    for kind in ("sums", "rows", "row_sums"):
        if case in (found := beside_fastest(machine, kind)):
            _, c, _ = found[case]
            if of_floor / c["ratio"]["median"] > most and c["ratio"]["median"] > 0.99:
                return out_of_reach({"variant": c["b"]})
    return MISSED


def single_cases(machine, goal):
    rows = [(g, e, s) for g, e, _, _, s in case_states(machine) if g["package"] == goal["package"] and "us" in g and not ("of_floor" in g)]
    yield f"in us, {len(rows)} case{'s' * (len(rows) > 1)}", span([e["seconds"]["median"] * 1e6 / g["us"] for g, e, _ in rows if e]) + " of the goal", tally(
        [(g["case"], s, f"{figure(e)} [{g['us']:g}]" if e else "") for g, e, s in rows])


def of_floors(machine, goal):
    states, values = [], []
    for case, (report, c, _) in beside_fastest(machine, "streams").items():
        entry = next((e for e in report["benchmarks"] if e["case"] == case and e["variant"] == c["a"] and e["cold"] and timed(e)), None)
        if entry and entry["package"] == goal["package"] and entry["bytes"] >= 1e6 * goal["from_mb"] and c["b"].startswith("floor 2r2w"):
            values.append(c["ratio"]["median"])
            states.append((case, REACHED if values[-1] <= goal["at_most"] else beside_slower_floor(machine, case, values[-1], goal["at_most"]), f"{values[-1]:.3f}"))
    yield f"at most {goal['at_most']} times a kernel that only reads two and writes two such tensors, from {goal['from_mb']} MB", span(values), tally(states)


def compiled_rows(machine, goal):
    rows = [row for row in ratios_of(machine, goal["package"]).gap_rows if rows_of(row[0]) >= goal["from_rows"]]
    states = [(case, REACHED if theirs >= goal["at_least"] * ours else OUT if floor and floor > theirs else MISSED, f"{theirs / ours:.3f}") for case, ours, _, theirs, _, floor in rows]
    yield f"torch.compile over ours, from {goal['from_rows']} rows up: at least {goal['at_least']:g} in each case", span([row[3] / row[1] for row in rows]), tally(states)


def best_peer(machine, goal):
    ratios = ratios_of(machine, goal["package"])
    plain, without = (geometric_mean([ratio for _, ratio in pairs]) for pairs in (ratios.best, ratios.best_without_gaps))
    node = max(report["context"].get("graph_node_seconds", 0) for report in machine.peers)
    dearest = geometric_mean([(theirs - node) / ours for ours, theirs in ratios.fastest_launched])
    yield (f"best CUDA kernel over ours, each without its launch: at least {goal['at_least']:g} by geometric mean",
           f"{without:.2f} ({len(ratios.best)} cases; {dearest:.2f} if a node of theirs costs {microseconds(node)} us, as in the run where it cost most; {plain:.2f} with launches)",
           f"**{mean_state(min(without, dearest), None, goal['at_least'])}**")


def webgpu(machine, goal):
    ratios = ratios_of(machine, goal["package"])
    pairs = [ratio for _, ratio in ratios.by_peer.get(LEAST_WEBGPU, [])]
    floors = geometric_mean([theirs / floor for _, _, theirs, floor in ratios.webgpu_rows]) if ratios.webgpu_rows else None
    yield (f"{LEAST_WEBGPU.split(',')[0]} over ours: at least {goal['at_least']} by geometric mean", f"{geometric_mean(pairs):.2f} ({len(pairs)} cases" + (f"; {floors:.2f} if ours took what its floors take)" if floors else ")"),
           f"**{mean_state(geometric_mean(pairs), floors, goal['at_least'])}**")


def in_turns(machine, goal):
    for report in machine.turns:
        means = [pair for package, pair in turns_ratios(report) if package == goal["package"]]
        if means:
            ratio, floors = (geometric_mean(values) for values in zip(*means))
            yield (f"{report['context']['peer'].split(',')[0]} over ours, in turns: at least {goal['at_least']} by geometric mean", f"{ratio:.2f} ({len(means)} cases; {floors:.2f} if ours took what its floors take)",
                   f"**{mean_state(ratio, floors, goal['at_least'])}**")


def both_modes(machine, goal):
    rows = [(case, data, ratio) for package, case, data, ratio, *_ in trusted_pairs(machine) if package == goal["package"]]
    cases, timed_cases = {case for case, _, _ in rows}, len(ours_by_case(machine.safe, goal["package"]))
    states = [(f"{case}{' hot' if data == 'hot' else ''}", REACHED if ratio <= goal["at_most"] else MISSED, f"{ratio:.3f}") for case, data, ratio in rows]
    rest = f"; {timed_cases - len(cases)} of the {timed_cases} cases not timed in both modes" if len(cases) < timed_cases else ""
    yield f"safe over trusted mode: at most {goal['at_most']}", f"{span([row[2] for row in rows])}, geometric mean {geometric_mean([row[2] for row in rows]):.3f}{rest}", tally(states)


def of_empty(machine, goal):
    ours, floors = ({key[:2]: c["ratio"]["median"] for key, (_, c, _) in beside_empty(machine).items() if key[2] == side} for side in (False, True))
    rows = [(case, data, ours[case, data], floors.get((case, data))) for case, data in ours if case.startswith(goal["cases"])]
    states = [(f"{case} {data}", REACHED if ratio <= goal["at_most"] else OUT if floor and floor > goal["at_most"] else MISSED, f"{ratio:.2f}{f' (floor {floor:.2f})' if floor else ''}")
              for case, data, ratio, floor in rows]
    yield f"{goal['cases']}: at most {goal['at_most']} empty dispatches", span([row[2] for row in rows]), tally(states)


def compiled_forms(machine, goal):
    rows = [row for row in derived_goals.compiled_rows(machine)[0] if row.goal is goal]
    bound = f"up to {goal['up_to_mb']} MB" if "up_to_mb" in goal else f"above {goal['above_mb']} MB"
    yield f"best of torch.compile and Triton over ours, {bound}: at least {goal['at_least']} in each case", span([row.ratio for row in rows]), tally(
        [(row.case, row.state, f"{row.ratio:.2f}") for row in rows])


def eager(machine, goal):
    ratios = derived_goals.compiled_rows(machine)[1]
    yield f"PyTorch eager over ours: at least {goal['at_least']} by geometric mean", f"{geometric_mean(ratios):.2f} ({len(ratios)} cases)", f"**{mean_state(geometric_mean(ratios), None, goal['at_least'])}**"


def card(machine, goal):
    best, split = derived_goals.card_ratios(machine)
    yield (f"faster variant of the card over ours: at least {goal['at_least']} by geometric mean", f"{geometric_mean(best):.2f} ({len(best)} cases; the split plan {geometric_mean(split):.2f})",
           f"**{mean_state(geometric_mean(best), None, goal['at_least'])}**")


def pairs_of(machine, goal, other):
    """(case, its cold entry, that of the case that `other` names for it)."""
    cold = {case: places["cold"] for case, places in ours_by_case(machine.safe, goal["package"]).items() if "cold" in places and timed(places["cold"])}
    return [(case, entry, cold[twin]) for case, entry in cold.items() if (twin := other(case)) in cold]


def layouts(machine, goal):
    def channels_last(case):
        if "_nchw" in case:
            n, c, h, w = case.split("_")[0].split("x")
            return "_".join([f"{n}x{h}x{w}x{c}", *(part for part in case.split("_")[1:] if part != "nchw")])
        return None

    rows = [(case, a["seconds"]["median"] / b["seconds"]["median"]) for case, a, b in pairs_of(machine, goal, channels_last)]
    yield f"NCHW over the same NHWC size: at most {goal['at_most']}", span([ratio for _, ratio in rows]), tally(
        [(case, REACHED if ratio <= goal["at_most"] else MISSED, f"{ratio:.3f}") for case, ratio in rows])


def without_sum(machine, goal):
    rows = [(case, a["seconds"]["median"] / b["seconds"]["median"], a["bytes"] / b["bytes"]) for case, a, b in pairs_of(machine, goal, lambda case: case + "_s")]
    yield "without S over the same with S: less than 1", f"{span([row[1] for row in rows])} (bytes {span([row[2] for row in rows])})", tally(
        [(case, REACHED if ratio < 1 else MISSED, f"{ratio:.3f}") for case, ratio, _ in rows])


KINDS = {"floor": of_floors, "torch.compile": compiled_rows, "best CUDA kernel": best_peer, "ONNX Runtime WebGPU": webgpu, "turns": in_turns, "trusted": both_modes, "empty dispatch": of_empty,
         "compiled forms": compiled_forms, "PyTorch eager": eager, "card": card, "layouts": layouts, "without S": without_sum}


def summary(machine):
    packages = dict.fromkeys(goal["package"] for goal in GOALS + MULTIPLES if goal["machine"] == machine.name)
    for package in packages:
        goals = [{"package": package, "of": None}] + [goal for goal in MULTIPLES if goal["machine"] == machine.name and goal["package"] == package]
        for goal in goals:
            for asked, measured, verdict in (single_cases if goal["of"] is None else KINDS[goal["of"]])(machine, goal):
                yield f"| {short(package)} | {asked} | {measured} | {verdict} |"


def sections(machine):
    if not any(goal["machine"] == machine.name for goal in GOALS):
        return
    yield "### Goals\n"
    yield "Safe mode and cold buffers unless said. Ratios behind a case are what it came to; figures in brackets are goals.\n"
    yield "| package | goal | measured | verdict |\n|" + " --- |" * 4
    yield from summary(machine)
    yield ""
    yield "### Goals of single cases\n"
    yield "| package | case | us | goal, us | ours / goal | floor, us | ours / floor | verdict |\n|" + " --- |" * 8
    for goal, entry, (floor, with_sum, back), of_floor, state in case_states(machine):
        name = goal["case"] + (", trusted" if goal["mode"] == "trusted" else "")
        about = f"{goal['us']:g}" if "us" in goal else ""
        about += f" ({goal['tflops']} TFLOP/s)" if "tflops" in goal else ""
        target = f"{goal['of_floor']} of the floor{', about ' if about else ''}{about}" if "of_floor" in goal else about
        if entry and "tflops" in goal:
            state += f" ({entry['seconds']['median'] * 1e3:.3f} ms; {entry['flops_per_second'] / 1e12:.0f} TFLOP/s)"
        ours, ratio = figure(entry) if entry else "-", f"{entry['seconds']['median'] * 1e6 / goal['us']:.2f}" if entry and about else "-"
        yield (f"| {short(goal['package'])} | {name} | {ours} | {target} | {ratio} | {floor_cell(floor, with_sum, back, entry)} | {f'{of_floor:.3f}' if of_floor else '-'} | "
               f"{f'**{state}**' if state == MISSED else state} |")
    yield ""
