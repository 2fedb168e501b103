#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the peers runner does around a peer: cores kept awake, processes that compile side by side and time alone.

usage: peers_test.py REPOSITORY
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import types
import unittest

PEERS = pathlib.Path(sys.argv.pop(1)).resolve() / "benchmarks/peers"
sys.path.insert(0, str(PEERS))

import cuda_peers  # noqa: E402
from keep_awake import keep_awake  # noqa: E402
from results import Results  # noqa: E402

# Stands for run.py: its peers sleep, and say when they were prepared and measured.
RUNNER = """
import argparse, pathlib, sys, time, types
sys.path.insert(0, PEERS)
import cuda_peers
from results import Results
parser = argparse.ArgumentParser()
parser.add_argument("folder")
for name in ("--case", "--peers", "--turn", "--seconds", "--out"):
    parser.add_argument(name, action="append")
args = parser.parse_args()
results = Results({})
def step(kind, case):
    begin = time.monotonic()
    time.sleep(0.1)
    results.benchmarks.append({"case": case.name, "kind": kind, "begin": begin, "end": time.monotonic()})
    if case.name == "breaks" and kind == "measured":
        sys.exit(3)
cuda_peers.prepare = lambda operator, case: step("prepared", case)
cuda_peers.measure = lambda operator, case, prepared, results: step("measured", case)
cases = [types.SimpleNamespace(name=name, package="p", tags=[]) for name in args.case]
operator = types.SimpleNamespace(supports=lambda case: True)
cuda_peers.measure_in_turn(cases, lambda case: operator, int(args.turn[0]), float(args.seconds[0]), results, lambda: results.write(args.out[0]))
"""


def case(name, size):
    return types.SimpleNamespace(name=name, package="p", tags=[], specs={"x": {"shape": [size]}})


def gone(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class KeepAwake(unittest.TestCase):
    def test_a_loop_of_idle_priority_runs_on_each_core(self):
        with keep_awake() as loops:
            self.assertEqual([os.sched_getaffinity(loop.pid) for loop in loops], [{core} for core in sorted(os.sched_getaffinity(0))])
            self.assertEqual({os.sched_getscheduler(loop.pid) for loop in loops}, {os.SCHED_IDLE})
        self.assertTrue(all(gone(loop.pid) for loop in loops))

    def test_none_runs_unless_it_is_asked_for(self):
        with keep_awake(False) as loops:
            self.assertEqual(loops, [])

    def test_they_end_with_a_process_that_does_not_end_them(self):
        script = f"import os, sys; sys.path.insert(0, {str(PEERS)!r}); from keep_awake import keep_awake\nwith keep_awake() as loops:\n    print(*(l.pid for l in loops), flush=True)\n    os._exit(0)"
        pids = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(len(pids), len(os.sched_getaffinity(0)))
        until = time.monotonic() + 20
        while time.monotonic() < until and not all(map(gone, pids)):
            time.sleep(0.05)
        self.assertTrue(all(map(gone, pids)))


class SideBySide(unittest.TestCase):
    def measured(self, cases, jobs, seconds=60):
        with tempfile.TemporaryDirectory() as place:
            runner, kept = pathlib.Path(place) / "runner.py", cuda_peers.RUNNER
            runner.write_text(f"PEERS = {str(PEERS)!r}\n" + textwrap.dedent(RUNNER))
            results, said = Results({}), []
            cuda_peers.RUNNER = runner
            try:
                cuda_peers.measure_side_by_side(["folder"], cases, jobs, seconds, results, lambda: said.append(len(results.benchmarks)), lambda: None, lambda: {"node": 1})
            finally:
                cuda_peers.RUNNER = kept
            self.assertEqual(results.context["node"], 1)
            return results.benchmarks

    def test_each_is_timed_alone_after_all_were_prepared(self):
        entries = self.measured([case(name, i) for i, name in enumerate("abcde")], 3)
        self.assertEqual(sorted((e["kind"], e["case"]) for e in entries), [(kind, name) for kind in ("measured", "prepared") for name in "abcde"])
        timings = sorted((e["begin"], e["end"]) for e in entries if e["kind"] == "measured")
        self.assertGreater(timings[0][0], max(e["end"] for e in entries if e["kind"] == "prepared"))
        self.assertTrue(all(a[1] <= b[0] for a, b in zip(timings, timings[1:])), timings)

    def test_a_process_that_ends_costs_the_others_nothing(self):
        entries = self.measured([case("breaks", 9), case("a", 8), case("lost", 7)], 2)
        self.assertEqual([e["case"] for e in entries if e.get("kind") == "measured"], ["a"])
        self.assertEqual({e["case"]: e["error_message"] for e in entries if "error_message" in e},
                         {name: "its process ended with status 3" for name in ("breaks", "lost")})

    def test_what_there_is_no_time_for_is_named(self):
        entries = self.measured([case("a", 2), case("b", 1)], 1, seconds=0.01)
        self.assertEqual({e["case"] for e in entries if e.get("error_message") == cuda_peers.TOO_LATE}, {"a", "b"})

    def test_the_largest_cases_come_first_in_each_share(self):
        shares = cuda_peers.shares([case("s", 1), case("l", 100), case("m", 10)], 2)
        self.assertEqual([[c.name for c in share] for share in shares], [["l", "s"], ["m"]])


if __name__ == "__main__":
    unittest.main()
