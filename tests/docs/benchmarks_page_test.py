#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BENCHMARKS.md never sets a figure of cold buffers beside a ratio of hot ones, whatever order a run has them in, and takes the fastest floor for the floor.

usage: benchmarks_page_test.py REPOSITORY
"""

import pathlib
import sys
import unittest

REPOSITORY = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import derived_goals  # noqa: E402
import baseline  # noqa: E402
import figures  # noqa: E402
import report  # noqa: E402

PACKAGE, CASE = "com.example.Op", "8x8_f32"


def entry(variant, us, cold):
    return {"package": PACKAGE, "case": CASE, "variant": variant, "cold": cold, "bytes": 1e6, "seconds": {"median": us / 1e6, "samples": 30}}


def comparison(b, ratio, cold, a="rows"):
    return {"name": CASE, "a": a, "b": b, "cold": cold, "ratio": {"median": ratio, "p10": ratio, "p90": ratio}}


def machine(hot_last):
    """One run: cold buffers 40 us, floors 20 and 22, one with sums 25, trusted 10; hot ones take a tenth and have other ratios."""
    cold = ([entry("rows", 40, True), entry("rows (trusted)", 10, True), entry("floor 2r2w", 20, True), entry("floor 2r2w, 128 lanes x 1", 22, True), entry("floor 2r2w with sums, 32 lanes x 1", 25, True)],
            [comparison("floor 2r2w", 2.0, True), comparison("floor 2r2w, 128 lanes x 1", 1.8, True), comparison("floor 2r2w with sums, 32 lanes x 1", 1.6, True), comparison("rows", 0.25, True, "rows (trusted)")])
    hot = ([entry("rows", 4, False), entry("rows (trusted)", 8, False), entry("floor 2r2w", 1, False), entry("floor 2r2w with sums, 32 lanes x 1", 3.2, False)],
           [comparison("floor 2r2w", 4.0, False), comparison("floor 2r2w with sums, 32 lanes x 1", 1.25, False), comparison("rows", 2.0, False, "rows (trusted)")])
    first, last = (cold, hot) if hot_last else (hot, cold)
    made = figures.Machine("m")
    made.safe.append({"context": {"date": "2026-01-01", "packages": {PACKAGE: "d"}, "dependent_dispatch_seconds": 1e-6},
                      "benchmarks": first[0] + last[0], "comparisons": first[1] + last[1]})
    return made


class ColdAndHot(unittest.TestCase):
    MACHINES = [machine(hot_last) for hot_last in (True, False)]

    def test_floors_are_those_of_cold_buffers(self):
        for made in self.MACHINES:
            self.assertEqual(figures.floor_entries(made.safe, PACKAGE)[CASE]["seconds"]["median"], 20 / 1e6)
            self.assertEqual(figures.floor_entries(made.safe, PACKAGE, "sums")[CASE]["seconds"]["median"], 25 / 1e6)
            self.assertEqual(figures.floor_ratios(made), {(PACKAGE, CASE): 2.0})

    def test_tables_of_floors_have_cold_ratios(self):
        for made in self.MACHINES:
            page = "\n".join(report.comparisons_section(made))
            self.assertIn("| 8x8_f32 | rows | 2: floor 2r2w | 20.0 | 40.0 | 2.000 |", page)
            self.assertIn("| 8x8_f32 | rows | 1: floor 2r2w with sums, 32 lanes x 1 | 25.0 | 40.0 | 1.600 |", page)
            self.assertNotIn("4.000", page)
            self.assertNotIn("1.250", page)

    def test_both_modes_are_told_for_each(self):
        for made in self.MACHINES:
            page = "\n".join(report.trusted_section(made))
            self.assertIn("| 8x8_f32 | cold | 40.0 | 10.0 | 4.000 |", page)
            self.assertIn("| 8x8_f32 | hot | 4.00 | 8.00 | 0.500 |", page)


class Goals(unittest.TestCase):
    def state(self, us, floor, variant="floor 2r2w", back=None, **more):
        return report.goal_state({"us": 10}, entry("rows", us, True), entry(variant, floor, True) | more, None, back, None)

    def test_a_floor_above_the_goal_bounds_it(self):
        self.assertEqual(self.state(10, 9), "reached")
        self.assertEqual(self.state(12, 9), "missed")
        self.assertEqual(self.state(12, 11), "below the floor")
        self.assertEqual(self.state(12, 11, clock_held=False), "missed")
        self.assertEqual(self.state(12, 11, clock_retries=3), "missed")
        self.assertEqual(self.state(12, 11, clock_retries=3, clock_held=True), "below the floor")

    def test_a_rate_may_be_asked_for_too(self):
        states = [report.goal_state({"us": 10, "tflops": 5}, entry("rows", us, True) | {"flops_per_second": rate}, None, None, None, None)
                  for us, rate in ((10.04, 5.1e12), (10.04, 4.9e12), (10.06, 5.1e12))]
        self.assertEqual(states, ["reached", "missed", "missed"])

    def test_two_dispatches_bound_two_dispatches(self):
        self.assertEqual(self.state(12, 11, "floor 2r + 3r2w in two dispatches"), "below the floor in two dispatches")
        self.assertEqual(self.state(12, 11, "floor 3r2w in two dispatches"), "missed")

    def test_a_floor_that_reads_back_bounds_what_one_that_only_writes_does_not(self):
        writes, back = (entry(f"floor 2r{form} in two dispatches", us, True) for form, us in ((" + 2w", 9), ("1w + 1r1w", 11)))
        self.assertEqual([figures.reads_back(floor) for floor in (writes, back)], [False, True])
        self.assertEqual(self.state(12, 9, writes["variant"], back), "below the floor that reads back")
        self.assertEqual(self.state(12, 9, writes["variant"], entry(back["variant"], 9.5, True)), "missed")
        self.assertIn("9.00, in two dispatches, 11.0 reading back", report.floor_cell(writes, None, back, None))


class SeveralVariants(unittest.TestCase):
    """One run of the selected variant, of two of the card and of floors; the first variant asked for refuses the case."""

    def setUp(self):
        def of(variant, us):
            return entry(variant, us, True) | {"package": derived_goals.PACKAGE}

        refused = of("resident", 1) | {"error_occurred": True, "error_message": "it does not fit"}
        self.made = figures.Machine("m")
        self.made.safe.append({"context": {"date": "2026-01-01", "packages": {derived_goals.PACKAGE: "d"}, "dependent_dispatch_seconds": 1e-6},
                               "benchmarks": [refused, of("stream", 10), of("split_sum", 15), of("fused_sum", 40), of("floor 2r2w", 8)],
                               "comparisons": [comparison("floor 2r2w", 1.25, True, "stream"), comparison("floor 2r2w", 1.875, True, "split_sum"), comparison("floor 2r2w", 5.0, True, "fused_sum")]})
        self.made.peers.append({"context": {}, "benchmarks": [of("torch.compile", 12.4), of("Triton, three launches", 13), of("PyTorch eager", 60)]})

    def test_the_first_that_was_timed_is_ours(self):
        self.assertEqual(figures.ours_by_case(self.made.safe, derived_goals.PACKAGE)[CASE]["cold"]["variant"], "stream")
        self.assertEqual(figures.floor_ratios(self.made), {(derived_goals.PACKAGE, CASE): 1.25})

    def test_the_variants_of_the_card_stand_beside_it(self):
        page = "\n".join(derived_goals.card_section(self.made))
        self.assertIn("| 8x8_f32 | stream | 10.0 | 15.0 (1.50) | 40.0 (4.00) | 1.50 |", page)
        self.assertIn("takes 1.50 times as long, the split plan 1.50 (goal 1.3)", page)
        self.made.safe[0]["benchmarks"] = self.made.safe[0]["benchmarks"][:2]
        self.assertEqual(list(derived_goals.card_section(self.made)), [])

    def test_the_best_compiled_form_decides(self):
        page = "\n".join(derived_goals.compiled_section(self.made))
        self.assertIn("| 8x8_f32 | 1.0 | 10.0 | torch.compile, 12.4 | 1.24 | 1.3 | 9.54 | 8.00 | missed |", page)
        self.assertIn("PyTorch eager takes 6.00 times as long by geometric mean (1 cases; goal 5)", page)
        self.made.safe[0]["benchmarks"][1]["bytes"] = 2e8
        self.assertIn("| 1.05 | 11.8 | 8.00 | reached |", "\n".join(derived_goals.compiled_section(self.made)))


class Baseline(unittest.TestCase):
    """What the guard against slow-downs compares with is the newest steady figure of the selected kernel in safe mode with cold buffers, beside its own run's copy speed."""

    @staticmethod
    def report(date, copy, *entries):
        context = {name: "-" for name in baseline.FIRST} | {"date": date, "copy_bytes_per_second": copy, "empty_dispatch_seconds": 1, "dependent_dispatch_seconds": 1}
        return {"context": {**context, "packages": {PACKAGE: date, "wgk.Ceiling": "c"}}, "benchmarks": list(entries)}

    def test_the_newest_steady_figure_counts_and_others_are_kept(self):
        made = figures.Machine("m")
        made.safe = [self.report("2026-01-02", 2e12, entry("floor 2r2w", 1, True), entry("rows", 40, True), entry("rows (trusted)", 10, True), entry("rows", 4, False)),
                     self.report("2026-01-01", 1e12, entry("rows", 50, True)),
                     self.report("2026-01-03", 3e12, entry("rows", 60, True) | {"case": "unsteady", "clock_held": False}, entry("rows", 1, True) | {"package": "wgk.Ceiling"})]
        kept = entry("rows", 7, True) | {"case": "kept"}
        old = {"context": {"packages": {"com.example.Other": "o"}}, "benchmarks": [entry("rows", 99, True), kept, entry("rows", 8, True) | {"case": "unsteady"}]}
        result = baseline.baseline(made, old)
        self.assertEqual([(e["case"], e["seconds"]["median"], e.get("copy_beside")) for e in result["benchmarks"]],
                         [("kept", 7 / 1e6, None), ("unsteady", 8 / 1e6, None), (CASE, 40 / 1e6, 2e12)])
        self.assertEqual(result["context"]["packages"], {"com.example.Other": "o", PACKAGE: "2026-01-02"})


if __name__ == "__main__":
    unittest.main()
