#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test.json and bench.json of com.microsoft.SkipSimplifiedLayerNormalization; --full FILE writes the full product."""
import pathlib

import case_writer
from case_writer import F16, F32, const, tensor

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "kernels/com.microsoft.SkipSimplifiedLayerNormalization/build/webgpu"

HIDDEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 127, 128, 129, 576, 896, 2048, 4097, 131072]
STATISTICS = ["", "mean", "inv", "both"]
FORMS = ["plain", "residual", "bias", "bias_residual"]

# Exact grids: every value is a multiple of a power of two that both dtypes hold, so that sums in float32 are exact too.
OUTPUT_TOLERANCE = {F32: {"abs": 1e-5, "rel": 1e-5}, F16: {"abs": 3e-3, "rel": 2.5e-3}}
# One rounding of the exact sum, to nearest: half a unit in the last place.
SUM_TOLERANCE = {F32: {"abs": 1e-6, "rel": 2e-7}, F16: {"abs": 3e-8, "rel": 4.8829e-4}}
INVERSE_TOLERANCE = {"abs": 0, "rel": 5e-6}


def grid(seed, r=256, step=0.0078125, offset=0):
    return case_writer.grid(seed, r, step, offset)


def values(*items):
    return case_writer.values(items)


def outputs_for(shape, dtype, form="plain", statistics=""):
    """The outputs of a combination, to be compared with the oracle."""
    row = [*shape[:-1], 1]
    result = {"outputT": {"dtype": dtype, "shape": list(shape), "tolerance": OUTPUT_TOLERANCE[dtype]}}
    if statistics in ("mean", "both"):
        result["meanT"] = {"dtype": F32, "shape": row, "tolerance": 0}
    if statistics in ("inv", "both"):
        result["invStdT"] = {"dtype": F32, "shape": row, "tolerance": INVERSE_TOLERANCE}
    if "residual" in form:
        result["residualT"] = {"dtype": dtype, "shape": list(shape), "tolerance": SUM_TOLERANCE[dtype]}
    return result


def inputs_for(shape, dtype, form="plain", seed=1):
    result = {
        "inputT": tensor(dtype, shape, grid(seed)),
        "skipT": tensor(dtype, shape, grid(seed + 1)),
        "gammaT": tensor(dtype, shape[-1:], grid(seed + 2, 64, 0.015625, 1)),
    }
    if "bias" in form:
        result["biasT"] = tensor(dtype, shape[-1:], grid(seed + 3))
    return result


def combination(shape, dtype, form, statistics, seed=1, name=None, **more):
    label = "_".join(part for part in (f"stats_{statistics}" if statistics else "", form) if part)
    where = "x".join(str(size) for size in shape)
    return {
        "name": name or f"{label}_{where}_{'f16' if dtype == F16 else 'f32'}",
        "attrs": {"epsilon": 1e-5},
        "inputs": inputs_for(shape, dtype, form, seed),
        "outputs": outputs_for(shape, dtype, form, statistics),
        **more,
    }


def shapes_of(hidden):
    if hidden >= 131072:
        return [[1, hidden], [2, hidden], [1, 2, hidden], [3, hidden]]
    if hidden >= 2048:
        return [[2, hidden], [1, hidden], [1, 3, hidden], [5, hidden]]
    return [[3, hidden], [2, 2, hidden], [1, hidden], [3, 3, hidden]]


def combinations():
    """Every hidden size with every combination of optional ports; dtypes and shapes take turns, so that all pairs occur."""
    cases = []
    for i, hidden in enumerate(HIDDEN):
        for j, statistics in enumerate(STATISTICS):
            for k, form in enumerate(FORMS):
                dtype = (F32, F16)[(i + j + k) % 2]
                shape = shapes_of(hidden)[(i + 2 * j + k + (j // 2)) % 4]
                cases.append(combination(shape, dtype, form, statistics, seed=10 * len(cases) + 1))
    # The pairs (hidden, dtype) for the plainest and the fullest combination that the turns left out.
    present = {case["name"] for case in cases}
    for i, hidden in enumerate(HIDDEN):
        for dtype in (F32, F16):
            for form, statistics in (("residual", ""), ("bias_residual", "both")):
                case = combination(shapes_of(hidden)[i % 4], dtype, form, statistics, seed=7000 + i)
                if case["name"] not in present:
                    cases.append(case)
                    present.add(case["name"])
    return cases


def full_product():
    cases = []
    for hidden in HIDDEN:
        for shape in shapes_of(hidden):
            for statistics in STATISTICS:
                for form in FORMS:
                    for dtype in (F32, F16):
                        cases.append(combination(shape, dtype, form, statistics, seed=10 * len(cases) + 1))
    return cases


def around_widths():
    """Sizes one step around vector, subgroup and workgroup widths, and row counts around the rows of a workgroup."""
    cases = []
    for i, hidden in enumerate([12, 16, 20, 24, 31, 32, 33, 40, 63, 64, 65, 72, 255, 256, 257, 260, 264, 511, 512, 513, 516,
                                1020, 1023, 1024, 1025, 1032, 2047, 2049, 2052, 2056, 2560, 3072, 4092, 4095, 4096, 4098, 4099,
                                4100, 4104, 5120, 8192, 8200, 16384, 16392]):
        for dtype in (F32, F16):
            rows = 3 if hidden < 4000 else 2
            cases.append(combination([rows, hidden], dtype, "bias_residual", "inv", seed=9000 + i, name=f"width_{hidden}_{dtype}"))
    for i, rows in enumerate([1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130]):
        for dtype in (F32, F16):
            cases.append(combination([rows, 128], dtype, "residual", "inv", seed=9200 + i, name=f"rows_{rows}_{dtype}"))
            cases.append(combination([rows, 9], dtype, "bias", "", seed=9300 + i, name=f"odd_rows_{rows}_{dtype}"))
    for rows, hidden in ((65535, 4), (65536, 3), (65537, 4), (70001, 1), (131075, 8), (530000, 2)):
        for dtype in (F32, F16):
            cases.append(combination([rows, hidden], dtype, "residual", "inv", seed=9400, name=f"fold_{rows}x{hidden}_{dtype}"))
    cases.append(combination([1, 262144], F16, "residual", "", seed=9500, name="long_row_f16"))
    cases.append(combination([1, 262144], F32, "residual", "both", seed=9501, name="long_row_f32"))
    cases.append(combination([2, 100001], F16, "bias_residual", "inv", seed=9502, name="long_odd_row_f16"))
    cases.append(combination([2, 100001], F32, "bias_residual", "inv", seed=9503, name="long_odd_row_f32"))
    return cases


def row_case(name, dtype, hidden, x, skip, gamma, expectation, epsilon=None, **more):
    """A case on a few rows with data of its own."""
    rows = more.pop("rows", 2)
    case = {
        "name": name,
        "inputs": {
            "inputT": tensor(dtype, [rows, hidden], x, **more.pop("input_more", {})),
            "skipT": tensor(dtype, [rows, hidden], skip),
            "gammaT": tensor(dtype, [hidden], gamma),
        },
        "outputs": expectation,
        **more,
    }
    if epsilon is not None:
        case["attrs"] = {"epsilon": epsilon}
    return case


def expect(dtype, shape, **more):
    return {"dtype": dtype, "shape": list(shape), **more}


def numbers():
    """Magnitudes, cancellation, rounding points."""
    cases = []
    output = OUTPUT_TOLERANCE
    for dtype in (F32, F16):
        tag = "f16" if dtype == F16 else "f32"
        # inverse 1 / sqrt(1e-12) and outputs exactly zero
        cases.append(row_case(f"zero_row_default_epsilon_{tag}", dtype, 8, const(0), const(0), grid(3, 64, 0.015625, 1), {
            "outputT": expect(dtype, [2, 8], data=const(0), tolerance=0),
            "invStdT": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
            "meanT": expect(F32, [2, 1], data=const(0), tolerance=0),
        }))
        cases.append(row_case(f"epsilon_zero_{tag}", dtype, 96, grid(5, 256, 0.0078125, 4), grid(6), grid(7, 64, 0.015625, 1), {
            "outputT": expect(dtype, [2, 96], tolerance=output[dtype]), "invStdT": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
        }, epsilon=0))
        cases.append(row_case(f"epsilon_dominates_{tag}", dtype, 96, grid(5), grid(6), grid(7, 64, 0.015625, 1), {
            "outputT": expect(dtype, [2, 96], tolerance=output[dtype]), "invStdT": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
        }, epsilon=1e4))
        # a bad value spoils its own row only
        for bad in ("nan", "inf"):
            for hidden in (8, 9, 640):
                cases.append(row_case(f"{bad}_stays_in_its_row_{hidden}_{tag}", dtype, hidden, grid(11), grid(12),
                                      grid(13, 64, 0.015625, 1), {
                    "outputT": expect(dtype, [5, hidden], tolerance=output[dtype], ignore=[[2 * hidden, 3 * hidden]]),
                    "residualT": expect(dtype, [5, hidden], tolerance=SUM_TOLERANCE[dtype], ignore=[[2 * hidden + 1, 2 * hidden + 2]]),
                    "invStdT": expect(F32, [5, 1], tolerance=INVERSE_TOLERANCE, ignore=[[2, 3]]),
                }, rows=5, input_more={"poke": [[2 * hidden + 1, bad]]}))
        # the sum cancels: what is left is small beside input, skip and bias
        case = row_case(f"bias_cancels_{tag}", dtype, 640, const(512 if dtype == F16 else 1000), grid(21),
                        grid(22, 64, 0.015625, 1), outputs_for([3, 640], dtype, "bias_residual", "inv"), epsilon=1e-5, rows=3)
        case["inputs"]["biasT"] = tensor(dtype, [640], const(-512 if dtype == F16 else -1000))
        cases.append(case)
        # statistics come from the unrounded sum: 2049 has no float16 form, 1 / 2049 shows which one was used
        cases.append(row_case(f"statistics_use_the_unrounded_sum_{tag}", dtype, 256, const(2048), const(1), const(1), {
            "outputT": expect(dtype, [2, 256], tolerance=output[dtype]), "invStdT": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
        }))
        # so does the normalization: only the rounding of the store may err
        cases.append(row_case(f"normalization_uses_the_unrounded_sum_{tag}", dtype, 256, grid(31, 1024, 1, 3072), grid(32, 8, 0.125),
                              const(1), {"outputT": expect(dtype, [2, 256], tolerance={F32: {"abs": 0, "rel": 1e-6},
                                                                                     F16: {"abs": 0, "rel": 4.91e-4}}[dtype]),
                                         "residualT": expect(dtype, [2, 256], tolerance=SUM_TOLERANCE[dtype])}))
        # gamma with sign and zero
        cases.append(row_case(f"gamma_signs_{tag}", dtype, 129, grid(41), grid(42), grid(43, 2, 1),
                              {"outputT": expect(dtype, [2, 129], tolerance=output[dtype])}))
        # many equal values: the rounding error of the sum of squares must not pile up
        cases.append(row_case(f"equal_values_{tag}", dtype, 131072, const(0.7001953125), const(0), const(1), {
            "outputT": expect(dtype, [1, 131072], tolerance=output[dtype]), "invStdT": expect(F32, [1, 1], tolerance=INVERSE_TOLERANCE),
        }, rows=1))
    cases.append(row_case("half_sum_overflows", F16, 8, const(60000), const(60000), const(1), {
        "outputT": expect(F16, [2, 8], data=const(1), tolerance=1e-3),
        "residualT": expect(F16, [2, 8], data=values(*["inf"] * 16)),
    }))
    # the sum lies between two halves, at a tie or where the next one is infinite
    for name, left, right, rounded in (("tie_down", 2048, 1, 2048), ("tie_up", 2050, 1, 2052), ("above_a_tie", 2048, 1.0009765625, 2050),
                                       ("largest", 65504, 15.9921875, 65504), ("tie_at_infinity", 65504, 16, "inf"), ("negative_tie", -2050, -1, -2052)):
        cases.append(row_case(f"half_rounds_{name}", F16, 64, const(left), const(right), const(1), {
            "residualT": expect(F16, [2, 64], data=values(*[rounded] * 128), tolerance=0),
        }))
    cases.append(row_case("half_squares_overflow", F16, 2048, const(60000), const(0), const(1), {
        "outputT": expect(F16, [2, 2048], data=const(1), tolerance=1e-3),
        "residualT": expect(F16, [2, 2048], data=const(60000), tolerance=0),
        "invStdT": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
    }))
    cases.append(row_case("half_300_by_2048", F16, 2048, const(300), const(0), const(1), {
        "outputT": expect(F16, [2, 2048], data=const(1), tolerance=1e-3),
    }))
    cases.append(row_case("half_smallest_subnormal", F16, 64, const(2.0**-24), const(0), const(1000), {
        "outputT": expect(F16, [2, 64], tolerance={"abs": 0, "rel": 1e-3}),
        "residualT": expect(F16, [2, 64], data=const(2.0**-24), tolerance=0),
    }))
    cases.append(row_case("subnormal_inputs_epsilon_one", F32, 8, const(1e-40), const(0), const(1), {
        "outputT": expect(F32, [2, 8], tolerance=2e-38),
    }, epsilon=1))
    # Squares leave the range of float32 in row 0, whose value is the device's; row 1 stays right.
    for name, value in (("overflow", 1e20), ("underflow", 1e-25)):
        case = row_case(f"squares_{name}_in_one_row", F32, 8, grid(51), const(0), const(1), {
            "outputT": expect(F32, [2, 8], tolerance=output[F32], ignore=[[0, 8]]),
            "residualT": expect(F32, [2, 8], tolerance=SUM_TOLERANCE[F32]),
        }, input_more={"pokeRange": [[0, 8, value]]}, epsilon=0)
        cases.append(case)
    cases.append({"name": "default_epsilon_and_upstream_names", "inputs": {
        "input": tensor(F32, [2, 4], values(1, 2, 3, 4, -1, 0.5, 0, 2)), "skip": tensor(F32, [2, 4], values(0, 0, 1, 0, 1, 1.5, 0, 0)),
        "gamma": tensor(F32, [4], values(1, 1, 2, 0.5)), "bias": tensor(F32, [4], values(0, 1, 0, 0)),
    }, "outputs": {"output": expect(F32, [2, 4], tolerance=output[F32]), "mean": expect(F32, [2, 1], tolerance=0),
                   "inv_std_var": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
                   "input_skip_bias_sum": expect(F32, [2, 4], data=values(1, 3, 4, 4, 0, 3, 0, 2), tolerance=0)}})
    return cases


def tuned():
    """What tunables and the other device profile change."""
    cases = []
    settings = [("gpu", {"PROFILE": "gpu"}), ("cpu", {"PROFILE": "cpu"}), ("gpu_one_item", {"PROFILE": "gpu", "ROW_ITEMS": 1}),
                ("gpu_eight_items", {"PROFILE": "gpu", "ROW_ITEMS": 8, "ROW_LANES": 64, "SPLIT_ITEMS": 4}), ("narrow", {"MAX_WORKGROUP_SIZE": 100}),
                ("gpu_many_rows", {"PROFILE": "gpu", "MANY_ROWS": 2, "WIDE_ROW": 64}),
                ("gpu_many_launches", {"PROFILE": "gpu", "MANY_LAUNCHES": 2, "SUBGROUP_ITEMS": 16})]
    for i, (name, tunables) in enumerate(settings):
        for rows, hidden in ((70, 128), (70, 129), (66, 640), (2, 20000)):
            for dtype in (F32, F16):
                form, statistics = (("residual", ""), ("bias_residual", "both"))[(i + hidden) % 2]
                cases.append(combination([rows, hidden], dtype, form, statistics, seed=9600 + i, name=f"tuned_{name}_{rows}x{hidden}_{dtype}",
                                         tunables=tunables))
    return cases


def held():
    """float16 rows that lanes of a CPU-like adapter keep in variables, and wider or ragged ones that they do not."""
    cases = []
    for i, (rows, hidden) in enumerate(((3, 320), (3, 328), (5, 1024), (1, 2624), (3, 4096), (3, 4160), (5, 4224))):
        for k, (form, statistics) in enumerate((("residual", ""), ("bias_residual", "both"), ("bias", "inv"), ("plain", "mean"))):
            if k < 2 or hidden in (320, 1024):
                cases.append(combination([rows, hidden], F16, form, statistics, seed=9900 + i, name=f"held_{rows}x{hidden}_{form}",
                                         tunables={"PROFILE": "cpu"}))
    for bad in ("nan", "inf"):
        rows, hidden, row, column = 5, 4096, 2, 4095
        at = row * hidden + column
        cases.append(row_case(f"held_{bad}_stays_in_its_row", F16, hidden, grid(11), grid(12), grid(13, 64, 0.015625, 1), {
            "outputT": expect(F16, [rows, hidden], tolerance=OUTPUT_TOLERANCE[F16], ignore=[[row * hidden, (row + 1) * hidden]]),
            "residualT": expect(F16, [rows, hidden], tolerance=SUM_TOLERANCE[F16], ignore=[[at, at + 1]]),
            "invStdT": expect(F32, [rows, 1], tolerance=INVERSE_TOLERANCE, ignore=[[row, row + 1]]),
        }, rows=rows, input_more={"poke": [[at, bad]]}, tunables={"PROFILE": "cpu"}))
    return cases


def lines():
    """Rows that begin anywhere in a memory line, as a GPU takes them."""
    cases = []
    for i, (rows, hidden) in enumerate(((3, 257), (33, 515), (5, 1025), (4, 1026), (1, 1027), (7, 2050), (5, 4099), (5, 4100), (3, 8190))):
        for j, dtype in enumerate((F32, F16)):
            for k, more in enumerate(({}, {"MANY_ROWS": 2, "NARROW_LANES": 256, "HALF_LANES": 128})):
                form, statistics = (("residual", ""), ("bias_residual", "both"), ("bias", "inv"), ("plain", "mean"))[(i + j + 2 * k) % 4]
                cases.append(combination([rows, hidden], dtype, form, statistics, seed=9800 + i, name=f"lines_{rows}x{hidden}_{dtype}{'_many' if more else ''}",
                                         tunables={"PROFILE": "gpu", **more}))
    # A bad value at either end of a row, where it shares a line with the next one, and a word of float16.
    for dtype in (F32, F16):
        for bad, row, column in (("nan", 2, 1024), ("inf", 3, 0), ("nan", 1, 1024), ("inf", 4, 0)):
            hidden = 1025
            at = row * hidden + column
            cases.append(row_case(f"lines_{bad}_stays_in_row_{row}_{dtype}", dtype, hidden, grid(11), grid(12), grid(13, 64, 0.015625, 1), {
                "outputT": expect(dtype, [5, hidden], tolerance=OUTPUT_TOLERANCE[dtype], ignore=[[row * hidden, (row + 1) * hidden]]),
                "residualT": expect(dtype, [5, hidden], tolerance=SUM_TOLERANCE[dtype], ignore=[[at, at + 1]]),
                "invStdT": expect(F32, [5, 1], tolerance=INVERSE_TOLERANCE, ignore=[[row, row + 1]]),
            }, rows=5, input_more={"poke": [[at, bad]]}, tunables={"PROFILE": "gpu"}))
    return cases


def beside():
    """Rows of several subgroups each, of which a workgroup takes several."""
    cases = []
    for i, (rows, hidden) in enumerate(((7, 300), (9, 768), (25, 96), (16, 520), (1, 384))):
        for j, dtype in enumerate((F32, F16)):
            for k, more in enumerate(({}, {"BESIDE_LANES": 1024})):
                form, statistics = (("residual", ""), ("bias_residual", "both"), ("bias", "inv"), ("plain", "mean"))[(i + j + 2 * k) % 4]
                cases.append(combination([rows, hidden], dtype, form, statistics, seed=9850 + i, name=f"beside_{rows}x{hidden}_{dtype}{'_1024' if more else ''}",
                                         tunables={"PROFILE": "gpu", "MANY_LAUNCHES": 1, "SUBGROUP_ITEMS": 32, **more}))
    for bad in ("nan", "inf"):
        rows, hidden, row = 7, 300, 3
        at = row * hidden + 299
        cases.append(row_case(f"beside_{bad}_stays_in_its_row", F32, hidden, grid(11), grid(12), grid(13, 64, 0.015625, 1), {
            "outputT": expect(F32, [rows, hidden], tolerance=OUTPUT_TOLERANCE[F32], ignore=[[row * hidden, (row + 1) * hidden]]),
            "residualT": expect(F32, [rows, hidden], tolerance=SUM_TOLERANCE[F32], ignore=[[at, at + 1]]),
            "invStdT": expect(F32, [rows, 1], tolerance=INVERSE_TOLERANCE, ignore=[[row, row + 1]]),
        }, rows=rows, input_more={"poke": [[at, bad]]}, tunables={"PROFILE": "gpu", "MANY_LAUNCHES": 1, "SUBGROUP_ITEMS": 32}))
    return cases


def joint():
    """Rows that many workgroups take together in one dispatch: also where nobody waits for the others, so that each works out what is missing."""
    cases = []
    settings = [("narrow", {"JOINT_LANES": 64, "JOINT_ITEMS": 1, "JOINT_FEW": 0}), ("wide", {"JOINT_LANES": 256, "JOINT_GROUPS": 8, "JOINT_FEW": 0}), ("one", {})]
    for i, (name, tunables) in enumerate(settings):
        for j, (rows, hidden) in enumerate(((1, 4096), (3, 2002), (2, 20000), (1, 65536), (17, 16392), (1, 131072))):
            for k, dtype in enumerate((F32, F16)):
                form, statistics = (("residual", ""), ("bias_residual", "both"), ("plain", "inv"))[(i + j + k) % 3]
                for looks in (1, 64):
                    cases.append(combination([rows, hidden], dtype, form, statistics, seed=9700 + 10 * i + j, name=f"joint_{name}_{looks}_looks_{rows}x{hidden}_{dtype}",
                                             tunables={"PROFILE": "gpu", "TOGETHER": 1000, "PATIENCE": looks, **tunables}))
    for dtype in (F32, F16):
        for bad in ("nan", "inf"):
            hidden = 4096
            cases.append(row_case(f"joint_{bad}_stays_in_its_row_{dtype}", dtype, hidden, grid(11), grid(12), grid(13, 64, 0.015625, 1), {
                "outputT": expect(dtype, [5, hidden], tolerance=OUTPUT_TOLERANCE[dtype], ignore=[[2 * hidden, 3 * hidden]]),
                "residualT": expect(dtype, [5, hidden], tolerance=SUM_TOLERANCE[dtype], ignore=[[2 * hidden + 1, 2 * hidden + 2]]),
            }, rows=5, input_more={"poke": [[2 * hidden + 1, bad]]}, tunables={"PROFILE": "gpu", "TOGETHER": 1000, "JOINT_LANES": 64, "JOINT_ITEMS": 1, "JOINT_FEW": 0}))
    # All sums are zero, which must not read as missing.
    cases.append(row_case("joint_zero_rows", F32, 4096, const(0), const(0), const(1), {
        "outputT": expect(F32, [2, 4096], data=const(0), tolerance=0), "invStdT": expect(F32, [2, 1], tolerance=INVERSE_TOLERANCE),
    }, tunables={"PROFILE": "gpu", "TOGETHER": 1000, "JOINT_LANES": 64, "JOINT_ITEMS": 1, "JOINT_FEW": 0}))
    return cases


def sliced():
    """Few rows that several workgroups read whole and of which each writes a slice, the last one a short one in most."""
    cases = []
    forms = (("residual", ""), ("bias_residual", "both"), ("bias", "inv"), ("plain", "mean"))
    for i, (rows, hidden) in enumerate(((1, 68), (3, 130), (57, 896), (5, 2002), (1, 4096), (2, 4100), (3, 8200), (2, 12296))):
        for j, slices in enumerate((2, 3, 4)):
            for k, dtype in enumerate((F32, F16)):
                form, statistics = forms[(i + j + 2 * k) % 4]
                cases.append(combination([rows, hidden], dtype, form, statistics, seed=9500 + i, name=f"sliced_{slices}_{rows}x{hidden}_{dtype}",
                                         tunables={"PROFILE": "gpu", "TOGETHER": 1000, "SLICES": slices, "SLICE_VECTORS": 1}))
    # A bad value in the slice of another workgroup counts for all of its row.
    for dtype in (F32, F16):
        for bad, at in (("nan", 2 * 4096), ("inf", 3 * 4096 - 1)):
            cases.append(row_case(f"sliced_{bad}_stays_in_its_row_{dtype}", dtype, 4096, grid(11), grid(12), grid(13, 64, 0.015625, 1), {
                "outputT": expect(dtype, [5, 4096], tolerance=OUTPUT_TOLERANCE[dtype], ignore=[[2 * 4096, 3 * 4096]]),
                "residualT": expect(dtype, [5, 4096], tolerance=SUM_TOLERANCE[dtype], ignore=[[at, at + 1]]),
                "invStdT": expect(F32, [5, 1], tolerance=INVERSE_TOLERANCE, ignore=[[2, 3]]),
            }, rows=5, input_more={"poke": [[at, bad]]}, tunables={"PROFILE": "gpu", "TOGETHER": 1000, "SLICE_VECTORS": 1}))
    return cases


def empty():
    cases = []
    for shape in ([0, 8], [0, 3, 8], [3, 0, 9]):
        for dtype in (F32, F16):
            where = "x".join(str(size) for size in shape)
            cases.append(combination(shape, dtype, "bias_residual", "both", name=f"empty_{where}_{dtype}"))
    return cases


def refused():
    """Requests that must fail before anything is written."""
    cases = []

    def add(name, error, change, shape=(2, 3, 8), dtype=F32, form="bias", **more):
        inputs = inputs_for(list(shape), dtype, form)
        change(inputs)
        cases.append({"name": f"refused_{name}", "inputs": inputs, "error": error, **more})

    def put(port, shape, dtype=F32):
        return lambda inputs: inputs.__setitem__(port, tensor(dtype, shape, const(1)))

    def nothing(_):
        pass

    add("input_rank_1", "request/rank", put("inputT", [8]))
    add("input_rank_4", "request/rank", put("inputT", [1, 2, 3, 8]))
    add("input_rank_0", "request/rank", put("inputT", []))
    for name, shape in (("2d_for_3d", [3, 8]), ("one_batch", [1, 3, 8]), ("other_batch", [4, 3, 8]), ("other_sequence", [2, 2, 8]),
                        ("other_hidden", [2, 3, 4]), ("rank_1", [8]), ("same_size", [3, 2, 8]), ("rank_4", [1, 2, 3, 8])):
        add(f"skip_{name}", "request/shape", put("skipT", shape))
    add("skip_2d_one_row", "request/shape", put("skipT", [1, 8]), shape=(4, 8))
    add("gamma_rank_2", "request/rank", put("gammaT", [1, 8]))
    add("gamma_rank_0", "request/rank", put("gammaT", []))
    add("gamma_length", "request/shape", put("gammaT", [7]))
    add("gamma_one", "request/shape", put("gammaT", [1]))
    add("bias_rank_2", "request/rank", put("biasT", [8, 1]))
    add("bias_length", "request/shape", put("biasT", [9]))
    add("hidden_zero", "request/shape", nothing, shape=(2, 0))
    add("epsilon_negative", "request/attribute", nothing, attrs={"epsilon": -1e-6})
    add("epsilon_text", "request/attribute", nothing, attrs={"epsilon": "1e-6"})
    add("unknown_attribute", "request/unknown", nothing, attrs={"eps": 1e-6})
    add("fifth_input", "request/unknown", put("betaT", [8]))
    for port in ("inputT", "skipT", "gammaT"):
        add(f"missing_{port}", "request/missing", lambda inputs, port=port: inputs.pop(port))
    for port, shape in (("skipT", [2, 3, 8]), ("gammaT", [8]), ("biasT", [8])):
        add(f"mixed_dtype_{port}", "request/dtype", put(port, shape, F16))
    add("integers", "request/dtype", lambda inputs: [put(port, inputs[port]["shape"], "int32")(inputs) for port in list(inputs)])
    add("integer_gamma", "request/dtype", put("gammaT", [8], "int32"))
    return cases


def tests():
    return {"cases": combinations() + around_widths() + tuned() + held() + lines() + beside() + joint() + sliced() + numbers() + empty() + refused()}


def full_tests():
    return {"cases": full_product()}


# ---- bench.json

def timed(rows, hidden, dtype, outputs=("residualT",), bias=False, epsilon=1e-5, name=None, tags=()):
    shape = [rows, hidden]
    inputs = {"inputT": {"dtype": dtype, "shape": shape}, "skipT": {"dtype": dtype, "shape": shape}, "gammaT": {"dtype": dtype, "shape": [hidden]}}
    if bias:
        inputs["biasT"] = {"dtype": dtype, "shape": [hidden]}
    streams, vectors = 3 + ("residualT" in outputs), 2 if bias else 1
    statistics = sum(port in outputs for port in ("meanT", "invStdT"))
    least = f"({streams} * rowCount + {vectors}) * hiddenSize * {2 if dtype == F16 else 4}"
    extras = "".join(f"_{tag}" for tag in (["bias"] if bias else []) + [port[:-1] for port in outputs if port != "residualT"]
                     + ([] if "residualT" in outputs else ["plain"]))
    return {
        "name": name or f"{rows}x{hidden}_{'f16' if dtype == F16 else 'f32'}{extras}",
        "attrs": {"epsilon": epsilon},
        "inputs": inputs,
        "outputs": ["outputT", *outputs],
        "bytes": least + (f" + {4 * statistics} * rowCount" if statistics else ""),
        "flops": f"{6 if bias else 5} * rowCount * hiddenSize",
        "tags": list(tags),
    }


def benches():
    cases = []
    # The shapes of the public comparison: regimes from one row to HBM-bound.
    for rows, hidden, regime in ((1, 4096, "decode"), (32, 4096, "decode"), (512, 4096, "prefill"), (2048, 2560, "prefill"),
                                 (4096, 4096, "large"), (4096, 5120, "large"), (16384, 4096, "huge"), (8192, 8192, "huge"),
                                 (65536, 128, "short_rows"), (1, 262144, "long_row")):
        for dtype in (F16, F32):
            tags = ["h200", regime] + (["cpu"] if (rows, hidden) in ((1, 4096), (32, 4096), (512, 4096), (4096, 4096), (65536, 128), (1, 262144)) else [])
            cases.append(timed(rows, hidden, dtype, tags=tags))
    # Further regimes: no residual, bias, statistics, rows that no vector divides, many long rows.
    cases.append(timed(1, 3072, F16, outputs=(), tags=["regime", "decode"]))
    cases.append(timed(8, 4096, F32, bias=True, tags=["regime", "decode"]))
    cases.append(timed(16384, 4096, F16, outputs=(), tags=["regime", "huge"]))
    cases.append(timed(65536, 768, F32, bias=True, tags=["regime", "huge"]))
    for dtype in (F16, F32):
        cases.append(timed(16, 131072, dtype, tags=["regime", "long_row"]))
        cases.append(timed(4096, 4099, dtype, bias=True, outputs=("residualT", "meanT", "invStdT"), tags=["regime", "odd"]))
        cases.append(timed(2048, 4100, dtype, tags=["regime", "odd"]))
        cases.append(timed(100000, 64, dtype, tags=["regime", "short_rows"]))
    # Layers of real models: decode, batched decode, prefill.
    models = (("smollm2_135m", 576, 1e-5), ("smollm2_360m", 960, 1e-5), ("smollm2_1_7b", 2048, 1e-5), ("qwen2_5_0_5b", 896, 1e-6),
              ("qwen2_5_1_5b", 1536, 1e-6), ("qwen2_5_7b", 3584, 1e-6), ("qwen3_0_6b", 1024, 1e-6), ("qwen3_4b", 2560, 1e-6),
              ("llama3_2_3b", 3072, 1e-5), ("llama3_8b", 4096, 1e-5), ("llama2_13b", 5120, 1e-5), ("llama3_70b", 8192, 1e-5))
    for model, hidden, epsilon in models:
        for rows, regime in ((1, "decode"), (16, "batched_decode"), (128, "prefill"), (2048, "prefill")):
            cases.append(timed(rows, hidden, F16, epsilon=epsilon, name=f"{model}_{rows}_rows", tags=["model", model, regime]))
    return {"cases": cases}


if __name__ == "__main__":
    case_writer.main(__doc__, [(PACKAGE / "test.json", tests, True), (PACKAGE / "bench.json", benches, True), (None, full_tests, False)])
