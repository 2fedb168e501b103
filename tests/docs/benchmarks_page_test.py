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

import baseline  # noqa: E402
import derived_goals  # noqa: E402
import figures  # noqa: E402
import goals_page  # noqa: E402
import report  # noqa: E402
import verdicts  # noqa: E402

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

    def test_kinds_of_floors(self):
        kinds = {"rows": None, "floor 2r2w": "streams", "floor 2r2w by 4099 words, 832 lanes": "streams", "floor 2r2w by 4099 words with 2 inputs of a row, 832 lanes": "rows",
                 "floor 2r2w with sums, 32 lanes x 1": "sums", "floor 2r2w with sums by 4099 words with 2 inputs of a row, 832 lanes": "row_sums"}
        self.assertEqual({name: figures.floor_kind(name) for name in kinds}, kinds)
        self.assertEqual(verdicts.out_of_reach({"variant": "floor 2r2w with sums by 4099 words with 2 inputs of a row, 832 lanes"}), "out of reach row by row with a sum")

    def test_floors_are_those_of_cold_buffers(self):
        for made in self.MACHINES:
            self.assertEqual(figures.floor_entries(made.safe, PACKAGE)[CASE]["seconds"]["median"], 20 / 1e6)
            self.assertEqual(figures.floor_entries(made.safe, PACKAGE, "sums")[CASE]["seconds"]["median"], 25 / 1e6)
            self.assertEqual(figures.floor_ratios(made), {(PACKAGE, CASE): 2.0})

    def test_tables_of_floors_have_cold_ratios(self):
        for made in self.MACHINES:
            page = "\n".join(report.comparisons_section(made))
            self.assertIn("| Op | 8x8_f32 | rows | 2: floor 2r2w | 20.0 | 40.0 | 2.000 |", page)
            self.assertIn("| Op | 8x8_f32 | rows | 1: floor 2r2w with sums, 32 lanes x 1 | 25.0 | 40.0 | 1.600 |", page)
            self.assertNotIn("4.000", page)
            self.assertNotIn("1.250", page)

    def test_both_modes_are_told_for_each(self):
        for made in self.MACHINES:
            page = "\n".join(report.trusted_section(made))
            self.assertIn("| 8x8_f32 | cold | 40.0 | 10.0 | 4.000 |", page)
            self.assertIn("| 8x8_f32 | hot | 4.00 | 8.00 | 0.500 |", page)


class Goals(unittest.TestCase):
    def state(self, us, floor, variant="floor 2r2w", back=None, with_sum=None, dispatches=None, **more):
        ours = entry("rows", us, True) | ({"dispatches": dispatches} if dispatches else {})
        return verdicts.goal_state({"us": 10}, ours, entry(variant, floor, True) | more, with_sum, back, None)

    def test_a_floor_above_the_goal_bounds_it(self):
        self.assertEqual(self.state(10, 9), "reached")
        self.assertEqual(self.state(12, 9), "missed")
        self.assertEqual(self.state(12, 11), "out of reach")
        self.assertEqual(self.state(12, 11, clock_held=False), "missed")
        self.assertEqual(self.state(12, 11, clock_retries=3), "missed")
        self.assertEqual(self.state(12, 11, clock_retries=3, clock_held=True), "out of reach")

    def test_a_rate_may_be_asked_for_too(self):
        states = [verdicts.goal_state({"us": 10, "tflops": 5}, entry("rows", us, True) | {"flops_per_second": rate}, None, None, None, None)
                  for us, rate in ((10.04, 5.1e12), (10.04, 4.9e12), (10.06, 5.1e12))]
        self.assertEqual(states, ["reached", "missed", "missed"])

    def test_two_dispatches_bound_two_dispatches(self):
        self.assertEqual(self.state(12, 11, "floor 2r + 3r2w in two dispatches"), "out of reach in two dispatches")
        self.assertEqual(self.state(12, 11, "floor 3r2w in two dispatches"), "missed")
        states = [self.state(12, 11, "floor 2r + 3r2w in two dispatches", dispatches=ours) for ours in (1, 2, 3)]
        self.assertEqual(states, ["missed"] + 2 * ["out of reach in two dispatches"])

    def test_a_floor_that_reads_back_bounds_what_one_that_only_writes_does_not(self):
        writes, back = (entry(f"floor 2r{form} in two dispatches", us, True) for form, us in ((" + 2w", 9), ("1w + 1r1w", 11)))
        self.assertEqual([verdicts.reads_back(floor) for floor in (writes, back)], [False, True])
        self.assertEqual(self.state(12, 9, writes["variant"], back), "out of reach in two dispatches")
        self.assertEqual(self.state(12, 9, writes["variant"], entry(back["variant"], 9.5, True)), "missed")
        self.assertIn("9.00, in two dispatches, 11.0 reading back", verdicts.floor_cell(writes, None, back, None))

    def test_a_floor_with_sums_bounds_plans_of_one_dispatch(self):
        for form, said in (("with sums", "with a sum in each workgroup"), ("with sums of 16 workgroups", "with an exchange of sums")):
            states = [self.state(12, 9, with_sum=entry(f"floor 2r2w {form}, 32 lanes x 1", 11, True), dispatches=ours) for ours in (1, 2)]
            self.assertEqual(states, [f"out of reach {said}", "missed"])
        self.assertEqual(self.state(12, 11, dispatches=2), "out of reach")

    def test_a_case_over_its_floor_is_out_of_reach_where_a_floor_that_does_more_is_too(self):
        goal = {"package": PACKAGE, "from_mb": 0, "at_most": 1.5}
        for sums, said in ((1.6, "1 **missed**: 8x8_f32 2.000"), (1.1, "1 out of reach with a sum in each workgroup: 8x8_f32 2.000")):
            made = machine(True)
            for c in made.safe[0]["comparisons"]:
                c["ratio"] = {"median": sums if "with sums" in c["b"] and c["cold"] else c["ratio"]["median"]}
            self.assertEqual([row[1:] for row in goals_page.of_floors(made, goal)], [("2.000 to 2.000", f"0 of 1 reached; {said}")])
        self.assertEqual([row[2] for row in goals_page.of_floors(machine(True), goal | {"at_most": 2})], ["**reached**"])

    def test_both_modes_are_held_to_the_goal_case_by_case(self):
        made = machine(False)
        row, = goals_page.both_modes(made, {"package": PACKAGE, "at_most": 1.03})
        self.assertIn("0.500 to 4.000", row[1])
        self.assertEqual(row[2], "1 of 2 reached; 1 **missed**: 8x8_f32 4.000")

    def test_small_cases_are_held_against_an_empty_dispatch(self):
        made = machine(True)
        made.safe[0]["comparisons"] += [comparison(figures.EMPTY, 2.0, False), comparison(figures.EMPTY, 1.2, True), comparison(figures.EMPTY, 1.6, False, "floor 2r2w")]
        row, = goals_page.of_empty(made, {"package": PACKAGE, "cases": "8x8", "at_most": 1.3})
        self.assertEqual(row[2], "1 of 2 reached; 1 out of reach: 8x8_f32 hot 2.00 (floor 1.60)")

    def test_every_goal_of_every_machine_is_of_a_kind_that_is_known(self):
        self.assertLessEqual({goal["of"] for goal in figures.MULTIPLES}, set(goals_page.KINDS))


class Order(unittest.TestCase):
    def test_cases_of_a_family_stand_together_by_size(self):
        cases = ["8x4096_f32", "32x64_f16", "512x64_f16", "512x64_f32", "llama2_13b_1_rows", "llama2_13b_16_rows", "smollm2_135m_1_rows", "phi3_prompt_64_f16", "phi3_decode_128_f16", "phi3_decode_1k_f16"]
        self.assertEqual(sorted(reversed(cases), key=figures.size_order), cases)


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
        self.assertEqual(derived_goals.card_ratios(self.made), ([1.5], [1.5]))
        self.made.safe[0]["benchmarks"] = self.made.safe[0]["benchmarks"][:2]
        self.assertEqual(list(derived_goals.card_section(self.made)), [])

    def test_the_best_compiled_form_decides(self):
        page = "\n".join(derived_goals.compiled_section(self.made))
        self.assertIn("| 8x8_f32 | 1.0 | 10.0 | torch.compile, 12.4 | 1.24 | 1.3 | 9.54 | 8.00 | **missed** |", page)
        self.assertEqual(derived_goals.compiled_rows(self.made)[1], [6.0])
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
        fell = self.report("2026-01-04", 1e11, entry("rows", 41, True))   # while the copy speed was measured
        fell["context"]["clock_held"] = False
        made.safe.append(fell)
        kept = entry("rows", 7, True) | {"case": "kept"}
        old = {"context": {"packages": {"com.example.Other": "o"}}, "benchmarks": [entry("rows", 99, True), kept, entry("rows", 8, True) | {"case": "unsteady"}]}
        result = baseline.baseline(made, old)
        self.assertEqual([(e["case"], e["seconds"]["median"], e.get("copy_beside")) for e in result["benchmarks"]],
                         [("kept", 7 / 1e6, None), ("unsteady", 8 / 1e6, None), (CASE, 40 / 1e6, 2e12)])
        self.assertEqual(set(result["benchmarks"][-1]), {"copy_beside", *entry("rows", 40, True)})
        self.assertEqual(result["context"]["packages"], {"com.example.Other": "o", PACKAGE: "2026-01-02"})


if __name__ == "__main__":
    unittest.main()
