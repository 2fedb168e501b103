# SPDX-License-Identifier: Apache-2.0
"""Peer time over ours, case by case and by geometric mean; what BENCHMARKS.md says of it."""

import collections
import re

from figures import floor_entries, geometric_mean, is_floor, microseconds, ours_by_case, peer_entries, timed

WEBGPU = "ONNX Runtime WebGPU"
LEAST_WEBGPU = f"{WEBGPU}, least of its timings"
NAMED_LOSSES = 5     # the table has the others


class Ratios:
    """Peer time over ours, for each peer and for the best peer of each case, with and without what a launch costs each side."""

    def __init__(self):
        self.by_peer, self.at_floor = collections.OrderedDict(), collections.OrderedDict()
        self.fastest_launched = []   # (ours less its launch, the fastest peer whose launch is known), seconds
        self.best, self.best_names, self.best_without_gaps, self.compiled_without_gaps, self.gap_rows, self.webgpu_rows = [], [], [], [], [], []

    def add(self, case, seconds, gap, theirs, floor=None):
        ratios, without = [], []
        theirs = {n: e for n, e in theirs.items() if n != WEBGPU}   # whole calls have a section of their own
        webgpu = [e for n, e in theirs.items() if n.startswith(WEBGPU) and timed(e)]
        if webgpu:
            theirs[LEAST_WEBGPU] = min(webgpu, key=lambda e: e["seconds"]["median"])
            if floor:
                self.webgpu_rows.append((case, seconds, theirs[LEAST_WEBGPU]["seconds"]["median"], floor))
        for name, entry in theirs.items():
            if not timed(entry) or is_floor(name):
                continue
            peer = entry["seconds"]["median"]
            self.by_peer.setdefault(name, []).append((case, peer / seconds))
            if floor:
                self.at_floor.setdefault(name, []).append(peer / floor)
            ratios.append(peer / seconds)
            if entry["gap"] and seconds > gap:
                without.append((peer - entry["gap"]) / (seconds - gap))
                if name == "torch.compile":
                    self.compiled_without_gaps.append((case, without[-1]))
                    self.gap_rows.append((case, seconds, gap, peer, entry["gap"], floor))
        if ratios:
            self.best.append((case, min(ratios)))
            self.best_names.append(min((e["seconds"]["median"], n) for n, e in theirs.items() if timed(e) and not is_floor(n))[1])
        if without:
            self.best_without_gaps.append((case, min(without)))
            self.fastest_launched.append((seconds - gap, min(e["seconds"]["median"] for n, e in theirs.items() if timed(e) and e["gap"] and not is_floor(n))))

    @staticmethod
    def text(pairs):
        losses = sorted(((ratio, case) for case, ratio in pairs if ratio < 1))
        worst = ", ".join(f"{case} {ratio:.2f}" for ratio, case in losses[:NAMED_LOSSES])
        said = f"{len(losses)} losses, the largest {worst}" if len(losses) > NAMED_LOSSES else f"losses: {worst}" if losses else "no loss"
        return f"{geometric_mean([ratio for _, ratio in pairs]):.2f} ({len(pairs)} cases; {said})"

    def lines(self, timed_cases, webgpu_goal):
        if not self.best:
            return
        compared = len({case for case, _ in self.best})
        rest = f"; {timed_cases - compared} of the {timed_cases} timed cases have no peer here" if compared < timed_cases else ""
        yield f"Geometric means of peer time over ours (above 1: ours is faster{rest}):\n"
        for name, pairs in self.by_peer.items():
            floors = self.at_floor.get(name, [])
            most = f"; {geometric_mean(floors):.2f} if every case of ours took what its floor kernel takes" if len(floors) == len(pairs) else ""
            yield f"- {name}: {self.text(pairs)}{most}"
        yield f"- best peer of each case: {self.text(self.best)}"
        if self.best_without_gaps:
            yield f"- the same with each side's own launch gap (our dependent dispatch, their graph node) taken off: {self.text(self.best_without_gaps)}"
        for title, pairs in (("", self.by_peer.get("torch.compile", [])), (" and without launch gaps", self.compiled_without_gaps)):
            large = [(case, ratio) for case, ratio in pairs if rows_of(case) >= 512]
            if large:
                yield f"- torch.compile, from 512 rows up{title}: {self.text(large)}"
        yield ""
        yield from self.gap_lines()
        yield from self.webgpu_lines(webgpu_goal)

    def webgpu_lines(self, goal):
        """Case by case what is left to win against the WebGPU peer: a kernel that only streams the case's bytes is so many times faster, no more."""
        if not self.webgpu_rows or not goal:
            return
        yield (f"Against {WEBGPU} (the least of its timings), goal {goal:g} times. The floor is a kernel that only reads and writes the case's tensors, on this device in the same "
               "run as ours: ours are as fast at best, but for a percent or so, so where it stays below the goal the goal is out of reach.\n")
        yield "| case | ours, us | theirs, us | theirs / ours | floor, us | theirs / floor | |\n|" + " --- |" * 7
        rows = self.webgpu_rows
        for case, ours, theirs, floor in rows:
            yield (f"| {case} | {microseconds(ours)} | {microseconds(theirs)} | {theirs / ours:.2f} | {microseconds(floor)} | {theirs / floor:.2f} | "
                   f"{verdict(theirs / ours, theirs / floor, goal)} |")
        ours, floors = (geometric_mean([row[2] / row[side] for row in rows]) for side in (1, 3))
        yield f"| geometric mean | | | {ours:.2f} | | {floors:.2f} | {verdict(ours, floors, goal)} |"
        yield ""

    def gap_lines(self):
        """The arithmetic behind the two figures against torch.compile, case by case."""
        rows = [row for row in self.gap_rows if rows_of(row[0]) >= 512]
        if not rows:
            return
        yield ("Against torch.compile from 512 rows up, us: with launches as they are, and without them (ours less a dependent dispatch, theirs less a "
               "node of a captured graph). A case that is slower with launches and not without them loses by the launch alone. Where our floor kernel is slower than torch.compile too, nothing with "
               "these streams wins here; where it is faster, the case misses.\n")
        yield "| case | ours | torch.compile | theirs / ours | floor | ours less launch | theirs less launch | theirs / ours | slower because of |\n|" + " --- |" * 9
        for case, seconds, gap, peer, node, floor in rows:
            a, b = seconds - gap, peer - node
            why = "-" if peer >= seconds else "the launch" if b >= a else "**the kernel**"
            if peer < seconds and floor:
                why += "; the floor is slower too" if floor > peer else f"; **the floor is faster: missed by {100 * (1 - peer / seconds):.1f} %**"
            yield (f"| {case} | {microseconds(seconds)} | {microseconds(peer)} | {peer / seconds:.3f} | {microseconds(floor) if floor else '-'} | {microseconds(seconds)} - {microseconds(gap)} = {microseconds(a)} | "
                   f"{microseconds(peer)} - {microseconds(node)} = {microseconds(b)} | {b / a:.3f} | {why} |")
        yield ""


def verdict(ratio, at_floor, goal):
    return "reached" if ratio >= goal else "out of reach" if at_floor < goal else "missed"


ROWS = re.compile(r"^(\d+)x\d+_|_(\d+)_rows$")


def rows_of(case):
    """Of a norm over rows, from the case's name; 0 for others."""
    found = ROWS.search(case)
    return int(found[1] or found[2]) if found else 0


def their_entries(peers, case, data, places):
    """Those of a case with the same data as ours; peers that were timed with other data than ours still belong beside what we have."""
    theirs = dict(peers.get((case, data), {}))
    for other in {"cold", "hot"} - set(places):
        theirs |= {n: e for n, e in peers.get((case, other), {}).items() if n not in theirs}
    return theirs


def ratios_of(machine, package):
    peers, ratios = peer_entries(machine, package), Ratios()
    floors = {case: entry["seconds"]["median"] for case, entry in floor_entries(machine.safe, package).items()}
    for case, places in ours_by_case(machine.safe, package).items():
        for data, entry in places.items():
            if timed(entry):
                ratios.add(case, entry["seconds"]["median"], entry["gap"], their_entries(peers, case, data, places), floors.get(case) if data == "cold" else None)
    return ratios
