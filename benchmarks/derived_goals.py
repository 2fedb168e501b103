# SPDX-License-Identifier: Apache-2.0
"""Goals of the group norm that are multiples of other figures: of compiled CUDA forms, of PyTorch eager, of the variants of its card."""

from figures import (by_date, figure, floor_cell, floor_entries, geometric_mean, goal_state, GOALS, is_floor, microseconds, ours_by_case, peer_entries, reads_back, size_order,
                     timed, trusted)

PACKAGE = "com.microsoft.SkipGroupNorm"
SMALL = 1e8                     # bytes of a case's streams up to which it has the larger goal
COMPILED = {True: 1.3, False: 1.05}
EAGER, CARD = 5, 1.3            # geometric means
CARDS = ("split_", "fused_")    # what the variants of the card begin with


def compiled_section(machine):
    """The best of torch.compile and Triton, case by case."""
    ours, peers, rows, eager = ours_by_case(machine.safe, PACKAGE), peer_entries(machine, PACKAGE), [], []
    floors, reading_back = floor_entries(machine.safe, PACKAGE), floor_entries(machine.safe, PACKAGE, of=reads_back)
    for case in [goal["case"] for goal in GOALS if goal["machine"] == machine.name and goal["package"] == PACKAGE] + sorted(ours, key=size_order):
        entry = ours.get(case, {}).get("cold")
        theirs = {name: peer for name, peer in peers.get((case, "cold"), {}).items() if timed(peer)}
        compiled = {name: peer for name, peer in theirs.items() if name.startswith(("torch.compile", "Triton"))}
        if entry is None or not timed(entry) or not compiled or any(row[0] == case for row in rows):
            continue
        name, best = min(compiled.items(), key=lambda item: item[1]["seconds"]["median"])
        wanted = COMPILED[entry["bytes"] <= SMALL]
        seconds, peer = entry["seconds"]["median"], best["seconds"]["median"]
        goal = {"us": peer / wanted * 1e6}
        floor, back = floors.get(case), reading_back.get(case)
        if "PyTorch eager" in theirs:
            eager.append(theirs["PyTorch eager"]["seconds"]["median"] / seconds)
        rows.append((case, f"| {case} | {entry['bytes'] / 1e6:.1f} | {figure(entry)} | {name}, {figure(best)} | {peer / seconds:.2f} | {wanted} | {microseconds(peer / wanted)} | "
                     f"{floor_cell(floor, None, back, entry)} | {goal_state(goal, entry, floor, None, back, None)} |"))
    if not rows:
        return
    yield "### SkipGroupNorm beside the best of torch.compile and Triton\n"
    mean = f" PyTorch eager takes {geometric_mean(eager):.2f} times as long by geometric mean ({len(eager)} cases; goal {EAGER})." if eager else ""
    yield f"Goals: {COMPILED[True]} times in each case that moves at most 100 MB, {COMPILED[False]} times above. The last column reads as that of the goals above.{mean}\n"
    yield "| case | MB | us | best of them, us | theirs / ours | goal | needs, us | floor, us | |\n|" + " --- |" * 9
    yield from (row for _, row in rows)
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


def card_section(machine):
    """The selected variant beside those of the card, timed in turns."""
    rows = card_rows(machine)
    if not rows:
        return
    best, split = [], []
    lines = []
    for case, (ours, card) in rows.items():
        ratios = {name.split("_")[0]: entry["seconds"]["median"] / ours["seconds"]["median"] for name, entry in card.items()}
        best.append(min(ratios.values()))
        split += [ratios["split"]] if "split" in ratios else []
        cells = [f"{microseconds(ratios[form] * ours['seconds']['median'])} ({ratios[form]:.2f})" if form in ratios else "-" for form in ("split", "fused")]
        lines.append(f"| {case} | {ours['variant']} | {figure(ours)} | {' | '.join(cells)} | {best[-1]:.2f} |")
    yield "### SkipGroupNorm beside the variants of its card\n"
    yield (f"The split and the fused plan of the operator's card are variants of this package too; timed in turns with the selected one, in brackets their time over ours. By geometric mean the "
           f"faster of the two takes {geometric_mean(best):.2f} times as long, the split plan {geometric_mean(split):.2f} (goal {CARD}).\n")
    yield "| case | variant | us | split, us | fused, us | faster of them / ours |\n|" + " --- |" * 6
    yield from lines
    yield ""


def sections(machine):
    yield from compiled_section(machine)
    yield from card_section(machine)
