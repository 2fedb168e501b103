# SPDX-License-Identifier: Apache-2.0
"""What a goal came to: reached, out of reach because a kernel that does less takes longer than the goal, or missed."""

import re

from figures import figure, floor_kind, unsteady

REACHED, MISSED, OUT = "reached", "missed", "out of reach"
TOLERANCE = 1.005  # of goals in us
STATES = f"""- **{REACHED}**: at most 0.5 % above a goal in us (and at least the rate in brackets, if there is one), or within the multiple that is asked for.
- **{OUT}**: a kernel that only reads and writes the case's tensors (its floor) takes longer than the goal in the same run.
- **{OUT} in two dispatches**, **with an exchange of sums**, **with a sum in each workgroup**, **row by row**, **row by row with a sum**: so does the fastest kernel tried that moves the tensors as our plan does, in two dispatches of which the second
  needs what the first read, or in workgroups that wait for each other's sums, or for one sum of their own before their last write, or each by rows, or both, and computes nothing else. This bounds plans of that form, no others.
- **{MISSED}**: no measurement shows that it cannot be done.

A floor counts where it would miss the goal itself by the same rule, its clock was steady, ours does not beat it by more than 1 %, and it moves no more than the case must ("moves more": it reads everything twice).
"""


def in_two(floor):
    """Whether a floor is the fastest of the tried ways in which two dispatches can move a case's streams."""
    return " + " in floor["variant"]


def reads_back(floor):
    """Whether the second of two dispatches reads at all: one that only writes knows nothing of what was read."""
    return re.search(r"\+ \d+r", floor["variant"]) is not None


def moves_more(floor, entry):
    """Whether a floor moves more bytes than two dispatches must: before there were several ways, it read everything twice."""
    if in_two(floor):
        return False
    streams = re.match(r"floor (\d+)r(\d+)w", floor["variant"])
    twice = (2 * int(streams[1]) + int(streams[2])) / (int(streams[1]) + int(streams[2])) if "in two dispatches" in floor["variant"] else 1
    return twice * floor.get("bytes", 0) > 1.01 * entry.get("bytes", 0)


def bounds(floor, entry, goal_us):
    """Whether a floor shows that the goal is out of reach: it would miss it itself, moves no more than the case must, its clock was steady, and ours
    does not beat it by more than 1 %."""
    us = floor["seconds"]["median"] * 1e6
    return not unsteady(floor) and not moves_more(floor, entry) and us > TOLERANCE * goal_us and entry["seconds"]["median"] * 1e6 > 0.99 * us


def dispatches_of(floor):
    return 3 if "in three dispatches" in floor["variant"] else 2 if "dispatches" in floor["variant"] else 1


def of_our_form(floor, entry):
    """Whether a plan with as many dispatches as ours does all that the floor does: one that streams in one dispatch bounds every plan."""
    ours, its = entry.get("dispatches"), dispatches_of(floor)
    return ours is None or (1 < its <= ours) or (its == 1 and (ours == 1 or floor_kind(floor["variant"]) == "streams"))


def out_of_reach(floor):
    """For what form of plan a floor bounds the goal."""
    name = floor["variant"]
    form = (f" in {'three' if 'in three' in name else 'two'} dispatches" if in_two(floor) else " with an exchange of sums" if "with sums of " in name else " row by row with a sum" if "with sums by " in name else " with a sum in each workgroup" if "with sums" in name
            else " row by row" if "of a row" in name else "")
    return OUT + form


def goal_state(goal, entry, floor, with_sum, back, of_floor):
    """`floor`: the fastest that only streams; `with_sum`: the fastest that waits for sums; `back`: the fastest whose second dispatch reads."""
    if entry is None:
        return "not timed"
    if "of_floor" in goal and of_floor:
        return REACHED if of_floor <= goal["of_floor"] else MISSED
    if "us" not in goal:
        return "no floor"
    if entry.get("flops_per_second", 0) < 1e12 * goal.get("tflops", 0):
        return MISSED
    if entry["seconds"]["median"] * 1e6 <= TOLERANCE * goal["us"]:
        return REACHED
    return next((out_of_reach(one) for one in (floor, back, with_sum) if one and of_our_form(one, entry) and bounds(one, entry, goal["us"])), MISSED)


def mean_state(ratio, at_floor, goal):
    """Of a multiple that is to be at least `goal`, and would be `at_floor` if ours took what its floor takes."""
    return REACHED if ratio >= goal else OUT if at_floor and at_floor < goal else MISSED


def floor_cell(floor, with_sum, back, entry):
    text = figure(floor) if floor else "-"
    if floor and entry and moves_more(floor, entry):
        text += ", moves more"
    if floor and in_two(floor):
        text += ", in two dispatches"
    if floor and back and not reads_back(floor):
        text += f", {figure(back)} reading back"
    return text + (f", with a sum {figure(with_sum)}" if with_sum else "")
