# SPDX-License-Identifier: Apache-2.0
"""Goals of the group norm that are multiples of other figures, case by case: of compiled CUDA forms, of the variants of its card."""

import collections

from figures import (by_date, figure, floor_entries, geometric_mean, GOALS, is_floor, microseconds, MULTIPLES, ours_by_case, peer_entries, size_order, timed, trusted)
from verdicts import floor_cell, goal_state, MISSED, reads_back

PACKAGE = "com.microsoft.SkipGroupNorm"
COMPILED = [goal for goal in MULTIPLES if goal["of"] == "compiled forms"]   # by the bytes of a case
CARDS = ("split_", "fused_")    # what the variants of the card begin with

Compiled = collections.namedtuple("Compiled", "case goal entry name best ratio needs state floor back")


def compiled_goal(entry):
    return next(goal for goal in COMPILED if goal.get("above_mb", 0) * 1e6 < entry["bytes"] <= goal.get("up_to_mb", float("inf")) * 1e6)


def compiled_rows(machine):
    """The best of torch.compile and Triton beside ours, a row for each case, those of the goals first; and how many times as long PyTorch eager takes in each."""
    ours, peers, rows, eager = ours_by_case(machine.safe, PACKAGE), peer_entries(machine, PACKAGE), [], []
    floors, reading_back, sums = floor_entries(machine.safe, PACKAGE), floor_entries(machine.safe, PACKAGE, of=reads_back), floor_entries(machine.safe, PACKAGE, "sums")
    for case in dict.fromkeys([goal["case"] for goal in GOALS if goal["machine"] == machine.name and goal["package"] == PACKAGE] + sorted(ours, key=size_order)):
        entry = ours.get(case, {}).get("cold")
        theirs = {name: peer for name, peer in peers.get((case, "cold"), {}).items() if timed(peer)}
        compiled = {name: peer for name, peer in theirs.items() if name.startswith(("torch.compile", "Triton"))}
        if entry is None or not timed(entry) or not compiled:
            continue
        name, best = min(compiled.items(), key=lambda item: item[1]["seconds"]["median"])
        seconds, peer, goal = entry["seconds"]["median"], best["seconds"]["median"], compiled_goal(entry)
        if "PyTorch eager" in theirs:
            eager.append(theirs["PyTorch eager"]["seconds"]["median"] / seconds)
        needs = peer / goal["at_least"]
        state = goal_state({"us": needs * 1e6}, entry, floors.get(case), sums.get(case), reading_back.get(case), None)
        rows.append(Compiled(case, goal, entry, name, best, peer / seconds, needs, state, (floors.get(case), sums.get(case)), reading_back.get(case)))
    return rows, eager


def compiled_section(machine):
    rows, _ = compiled_rows(machine)
    if not rows:
        return
    yield "### SkipGroupNorm beside the best of torch.compile and Triton\n"
    yield "| case | MB | us | best of them, us | theirs / ours | goal | needs, us | floor, us | verdict |\n|" + " --- |" * 9
    for row in rows:
        yield (f"| {row.case} | {row.entry['bytes'] / 1e6:.1f} | {figure(row.entry)} | {row.name}, {figure(row.best)} | {row.ratio:.2f} | {row.goal['at_least']} | {microseconds(row.needs)} | "
               f"{floor_cell(*row.floor, row.back, row.entry)} | {f'**{row.state}**' if row.state == MISSED else row.state} |")
    yield ""


def card_rows(machine):
    """case -> (the variant measured first, {variant of the card: entry}), both of the newest report that timed both in turns."""
    found = {}
    for report in by_date(machine.safe):
        here = {}
        for entry in report["benchmarks"]:
            if entry["package"] == PACKAGE and entry["cold"] and timed(entry) and not is_floor(entry["variant"]) and not trusted(entry["variant"]):
                first, card = here.setdefault(entry["case"], (entry, {}))
                if entry["variant"].startswith(CARDS):
                    card[entry["variant"]] = entry
        found |= {case: row for case, row in here.items() if row[1] and not row[0]["variant"].startswith(CARDS)}
    return dict(sorted(found.items(), key=lambda item: size_order(item[0])))


def card_ratios(machine):
    """Times of the card's variants over ours, of each case: the faster of the two plans, and the split plan where it takes the case."""
    forms = [{name.split("_")[0]: entry["seconds"]["median"] / ours["seconds"]["median"] for name, entry in card.items()} for ours, card in card_rows(machine).values()]
    return [min(ratios.values()) for ratios in forms], [ratios["split"] for ratios in forms if "split" in ratios]


def card_section(machine):
    """The selected variant beside those of the card, timed in turns."""
    rows = card_rows(machine)
    if not rows:
        return
    yield "### SkipGroupNorm beside the variants of its card\n"
    yield "The split and the fused plan of the operator's card are variants of this package too; timed in turns with the selected one, in brackets their time over ours.\n"
    yield "| case | variant | us | split, us | fused, us | faster of them / ours |\n|" + " --- |" * 6
    for (case, (ours, card)), best in zip(rows.items(), card_ratios(machine)[0]):
        times = {name.split("_")[0]: entry["seconds"]["median"] for name, entry in card.items()}
        cells = [f"{microseconds(times[form])} ({times[form] / ours['seconds']['median']:.2f})" if form in times else "-" for form in ("split", "fused")]
        yield f"| {case} | {ours['variant']} | {figure(ours)} | {' | '.join(cells)} | {best:.2f} |"
    yield ""


def sections(machine):
    yield from compiled_section(machine)
    yield from card_section(machine)
