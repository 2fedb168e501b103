#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test.json and bench.json of com.microsoft.SkipGroupNorm; --full FILE writes the full product of options at small sizes."""
import itertools
import pathlib
import random

import case_writer
from case_writer import F16, F32, const, tensor
from skip_group_norm_bench import benches

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "kernels/com.microsoft.SkipGroupNorm/build/webgpu"

Y_TOLERANCE = {F32: {"abs": 2e-5, "rel": 2e-5}, F16: {"abs": 4e-3, "rel": 2e-3}}
Y_LARGE = {F32: {"abs": 5e-5, "rel": 5e-5}, F16: {"abs": 4e-3, "rel": 2e-3}}
# The oracle's S has the one rounding in it already; half a unit in the last place is left for float16, so any other rounding shows.
S_TOLERANCE = {F32: {"abs": 1e-6, "rel": 2e-7}, F16: {"abs": 3e-8, "rel": 4.8829e-4}}

# Workgroups share groups at sizes that a software adapter can afford.
SHARED_GROUPS = {"LANES_TOGETHER": 1 << 20, "COOPERATIVE_LEAST": 0, "COOPERATIVE_FEW": 1024, "COOPERATIVE_LANES": 64, "COOPERATIVE_MANY": 0, "COOPERATIVE_VALUES": 32, "COOPERATIVE_WORKGROUPS": 1,
                 "PATIENCE": 2}

OPTIONS = {
    "width": [1, 2, 3, 4, 5, 8, 10, 20, 40],       # channels per group
    "groups": [1, 2, 3, 8, 32],
    "spatial": [(1, 1), (2, 3), (7, 9), (8, 8), (16, 16)],
    "batch": [1, 2, 3],
    "t": [F32, F16],
    "m": [F32, F16],
    "last": [1, 0],
    "bias": [False, True],
    "s": [False, True],
    "skip": ["full", "nc", "n11c"],
    "silu": [0, 1],
}


def grid(seed, r=255, step=0.0078125, offset=0):
    return case_writer.grid(seed, r, step, offset)


def values(*items):
    return case_writer.values(items)


def image(batch, spatial, channels, last):
    return [batch, *spatial, channels] if last else [batch, channels, *spatial]


def skip_shape(kind, batch, channels, shape):
    return {"full": shape, "nc": [batch, channels], "n11c": [batch, 1, 1, channels]}[kind]


def case(name, shape, groups, t=F32, m=F32, last=1, bias=False, s=True, skip="full", silu=1, seed=1, x=None, k=None, attrs=None, tolerance=None,
         ignore=None, x_more=None, gamma=None, beta=None, **more):
    """One call; data of X, skip, gamma and beta can be given."""
    channels = shape[3] if last else shape[1]
    inputs = {
        "X": tensor(t, shape, x or grid(seed), **(x_more or {})),
        "gamma": tensor(m, [channels], gamma or grid(seed + 2, 64, 0.015625, 1)),
        "beta": tensor(m, [channels], beta or grid(seed + 3, 64, 0.015625)),
        "skip": tensor(t, skip_shape(skip, shape[0], channels, shape), k or grid(seed + 1, 255, 0.00390625)),
    }
    if bias:
        inputs["bias"] = tensor(t, [channels], grid(seed + 4, 100, 0.03125))
    outputs = {"Y": {"dtype": t, "shape": list(shape), "tolerance": Y_TOLERANCE[t] if tolerance is None else tolerance}}
    if s:
        outputs["S"] = {"dtype": t, "shape": list(shape), "tolerance": S_TOLERANCE[t]}
    for expectation in outputs.values():
        if ignore:
            expectation["ignore"] = ignore
    attributes = {"groups": groups, "activation": silu, **({} if last == 1 else {"channels_last": last}), **(attrs or {})}
    return {"name": name, "attrs": attributes, "inputs": inputs, "outputs": outputs, **more}


def of_options(o, seed):
    channels = o["width"] * o["groups"]
    shape = image(o["batch"], o["spatial"], channels, o["last"])
    name = "_".join([
        "x".join(map(str, shape)), f"g{o['groups']}", "t16" if o["t"] == F16 else "t32", "m16" if o["m"] == F16 else "m32",
        "nhwc" if o["last"] else "nchw", o["skip"], *(["bias"] if o["bias"] else []), *(["s"] if o["s"] else []), *(["silu"] if o["silu"] else [])])
    return case(name, shape, o["groups"], o["t"], o["m"], o["last"], o["bias"], o["s"], o["skip"], o["silu"], seed)


def pairs_of(option):
    return set(itertools.combinations(option.items(), 2))


def all_pairs():
    """Options so that any two values of two different options meet: greedy, from a fixed source of candidates."""
    source = random.Random(20)
    names = list(OPTIONS)
    left = {pair for a, b in itertools.combinations(names, 2) for pair in (((a, x), (b, y)) for x in OPTIONS[a] for y in OPTIONS[b])}
    chosen = []
    while left:
        (a, x), (b, y) = min(left, key=repr)
        best, gain = None, -1
        for _ in range(60):
            option = {name: source.choice(OPTIONS[name]) for name in names} | {a: x, b: y}
            covered = len(left & pairs_of(option))
            if covered > gain:
                best, gain = option, covered
        chosen.append(best)
        left -= pairs_of(best)
    return chosen


def combinations():
    """All pairs of all options."""
    return [of_options(option, 100 * i + 1) for i, option in enumerate(all_pairs())]


def full_product():
    """Everything with everything; groups, spatial size and batch follow from turns, so that the product stays finite."""
    cases, names = [], set()
    fixed = ["width", "t", "m", "last", "bias", "s", "skip", "silu"]
    for i, picks in enumerate(itertools.product(*(OPTIONS[name] for name in fixed))):
        for turn in range(2):
            option = dict(zip(fixed, picks)) | {
                "groups": OPTIONS["groups"][(i + turn) % 5], "spatial": OPTIONS["spatial"][(i // 5 + 2 * turn + i) % 5],
                "batch": OPTIONS["batch"][(i // 3 + turn) % 3]}
            made = of_options(option, 100 * len(cases) + 1)
            if made["name"] not in names:
                names.add(made["name"])
                cases.append(made)
    return cases


def shapes():
    """Large and odd sizes: partial rows, blocks and slabs, folds of the grid, groups wider than a workgroup."""
    cases = []

    def add(name, shape, groups, **more):
        more.setdefault("seed", 50000 + 10 * len(cases))
        cases.append(case(name, shape, groups, **more))

    # The small ones in both element types, the others in one.
    for t in (F32, F16):
        tag = "f16" if t == F16 else "f32"
        add(f"column_257x1_{tag}", [1, 257, 1, 24], 4, t=t, bias=True)
        add(f"row_1x257_{tag}", [2, 1, 257, 24], 4, t=t, skip="nc")
        add(f"odd_image_{tag}", [2, 13, 17, 15], 3, t=t, bias=True)
        add(f"odd_plane_{tag}", [2, 15, 13, 17], 3, t=t, last=0, bias=True)
        add(f"three_odd_images_{tag}", [3, 3, 5, 7], 7, t=t, skip="n11c", bias=True)
        add(f"even_image_of_odd_channels_{tag}", [2, 16, 18, 45], 9, t=t, bias=True)
        add(f"odd_rows_of_narrow_groups_{tag}", [1, 23, 29, 40], 4, t=t, bias=True)
        add(f"slabs_cut_groups_{tag}", [1, 6, 6, 1536], 32, t=t, bias=True)
        add(f"very_wide_group_{tag}", [1, 3, 3, 6152], 1, t=t)
        add(f"many_channels_odd_{tag}", [1, 6, 6, 1285], 5, t=t, bias=True)
        add(f"groups_past_the_fold_{tag}", [1, 1, 2, 65540], 65540, t=t)
        add(f"many_small_maps_{tag}", [24, 4, 4, 64], 32, t=t, skip="nc", s=False)
    add("seventeen_by_nineteen_f32", [3, 17, 19, 60], 12, bias=True)
    add("one_group_f16", [1, 40, 40, 96], 1, t=F16, bias=True)
    add("wide_group_f32", [1, 8, 8, 2560], 2, bias=True, skip="nc")
    add("wide_group_f16", [1, 4, 4, 2560], 2, t=F16, bias=True, skip="nc")
    add("planes_of_one_group_f16", [1, 640, 10, 10], 1, t=F16, last=0, bias=True)
    add("instance_norm_f32", [1, 16, 16, 320], 320, silu=0)
    add("planes_past_the_fold_f16", [1, 65540, 1, 4], 32770, t=F16, last=0, skip="nc")
    add("batch_past_the_fold_f32", [32770, 1, 1, 6], 2, silu=0)
    add("batch_past_the_fold_f16", [65540, 1, 1, 2], 1, t=F16, silu=0)
    add("unet_64x64x320_f32", [1, 64, 64, 320], 32, bias=True, tolerance=Y_LARGE[F32])
    add("unet_64x64x320_f16", [1, 64, 64, 320], 32, t=F16, bias=True, tolerance=Y_LARGE[F16])
    add("unet_nchw_320x64x64_f16", [1, 320, 64, 64], 32, t=F16, last=0, bias=True, skip="nc", tolerance=Y_LARGE[F16])
    add("unet_nchw_64x64x64_f32", [1, 64, 64, 64], 32, last=0, bias=True, tolerance=Y_LARGE[F32])
    add("unet_16x16x1280_f16", [1, 16, 16, 1280], 32, t=F16, m=F32, skip="nc", s=False)
    add("four_million_values_f32", [1, 1024, 1024, 4], 1, bias=True, silu=0, tolerance=Y_LARGE[F32])
    add("four_million_values_nchw_f16", [1, 4, 1024, 1024], 1, t=F16, last=0, tolerance=Y_LARGE[F16])
    add("vae_128x128x32_f16", [1, 128, 128, 32], 8, t=F16, tolerance=Y_LARGE[F16])
    add("odd_large_plane_f32", [1, 2, 301, 303], 1, last=0, bias=True, tolerance=Y_LARGE[F32])
    add("odd_large_plane_f16", [1, 2, 301, 303], 1, t=F16, last=0, bias=True, tolerance=Y_LARGE[F16])
    add("slabs_past_the_grid_f32", [1, 1, 2, 270336], 264, bias=True, tunables={"RESIDENT_BYTES": 0, "WORKGROUP_SIZE": 1, "FOLD": 1, "SLAB_COLUMNS": 1})
    # Were a lane to take in sixty thousand rows one after the other, these would be off by half a thousandth: all roundings go the same way.
    add("smooth_rows_f32", [1, 1, 2048, 1024], 1, last=0, skip="nc", s=False, silu=0, x={"kind": "axisIndex", "axis": 3, "step": 2.0**-9}, k=const(0),
        tunables={"PROFILE": "cpu", "STATS_WORKGROUPS": 1})
    return cases


def group_ranges(shape, last, groups, item, group):
    """The flat ranges of one group."""
    if not last:
        size = shape[1] // groups * shape[2] * shape[3]
        begin = (item * groups + group) * size
        return [[begin, begin + size]]
    channels, pixels = shape[3], shape[1] * shape[2]
    width = channels // groups
    return [[(item * pixels + p) * channels + group * width, (item * pixels + p) * channels + (group + 1) * width] for p in range(pixels)]


def numbers():
    """Magnitudes, cancellation, rounding, activation and containment."""
    cases = []
    for t in (F32, F16):
        tag = "f16" if t == F16 else "f32"
        for last in (1, 0):
            layout = "nhwc" if last else "nchw"
            shape = image(2, (4, 6), 24, last)
            # A constant group gives act(beta) exactly, at a value whose multiples round.
            for silu in (0, 1):
                cases.append(case(f"constant_groups_{layout}_silu{silu}_{tag}", shape, 4, t=t, last=last, silu=silu, x=const(1000.1), k=const(0),
                                  beta=grid(9, 64, 0.0625), tolerance=0 if silu == 0 else None))
            cases.append(case(f"one_value_per_group_{layout}_{tag}", image(2, (1, 1), 24, last), 24, t=t, last=last, silu=0, beta=grid(9, 64, 0.0625), tolerance=0))
            # Mean over spread is about 7000 in float32 and 700 in float16.
            far = (grid(11, 255, 0.0009765625, 1000) if t == F32 else grid(11, 1, 1, 1200))
            cases.append(case(f"large_mean_{layout}_{tag}", image(1, (24, 32), 40, last), 4, t=t, last=last, silu=0, x=far, k=const(0)))
            cases.append(case(f"large_mean_bias_cancels_{layout}_{tag}", image(1, (8, 8), 40, last), 4, t=t, last=last, silu=0, x=far, k=const(-1000)))
            for bad in ("nan", "inf"):
                for skip in ("full", "nc"):
                    spot = group_ranges(shape, last, 4, 1, 2)
                    cases.append(case(f"{bad}_stays_in_its_group_{layout}_{skip}_{tag}", shape, 4, t=t, last=last, skip=skip, bias=skip == "nc",
                                      x_more={"poke": [[spot[0][0] + 3, bad]]}, ignore=spot))
            # An outlier, also as the very first value that the statistics see.
            for place in (0, 77):
                cases.append(case(f"outlier_at_{place}_{layout}_{tag}", image(1, (16, 16), 24, last), 3, t=t, last=last, x_more={"poke": [[place, 3000]]}))
        deep = values(-100, -1e4, -6e4, 100, 50, -20, 0, -88)
        cases.append(case(f"silu_far_from_zero_{tag}", [1, 2, 2, 8], 2, t=t, gamma=const(0), beta=deep, tolerance={"abs": 1e-6, "rel": 1e-5 if t == F32 else 1e-3}))
        cases.append(case(f"gamma_signs_{tag}", [2, 3, 3, 12], 3, t=t, gamma=grid(5, 2, 1)))
        cases.append(case(f"epsilon_zero_{tag}", [1, 5, 5, 12], 3, t=t, attrs={"epsilon": 0}))
        cases.append(case(f"epsilon_1e_6_{tag}", [1, 5, 5, 12], 3, t=t, attrs={"epsilon": 1e-6}, x=grid(3, 255, 0.00001 if t == F32 else 0.0009765625), k=const(0)))
        cases.append(case(f"epsilon_dominates_{tag}", [1, 5, 5, 12], 3, t=t, attrs={"epsilon": 100}))
        for flag in (2, -1):
            cases.append(case(f"channels_last_{'two' if flag == 2 else 'minus_one'}_{tag}", [2, 3, 2, 8], 2, t=t, attrs={"channels_last": flag}))
    spot = group_ranges([2, 3, 2, 8], 1, 2, 0, 0)
    cases.append(case("half_sum_overflows_in_one_group", [2, 3, 2, 8], 2, t=F16, x_more={"poke": [[1, 60000]]}, k=grid(2, 1, 1, 9000), x=grid(1, 255, 0.5), ignore=spot))
    cases.append(case("half_squares_overflow", [1, 8, 8, 16], 2, t=F16, x=grid(1, 1, 30000), k=grid(2, 1, 20000)))
    # 2048 + 1 + 1: rounded after each addition it stays 2048.
    cases.append(case("half_sum_rounds_once", [1, 2, 2, 4], 1, t=F16, x=const(2048), k=const(1), silu=0, beta=const(0.5)))
    cases[-1]["inputs"]["bias"] = tensor(F16, [4], const(1))
    cases[-1]["outputs"]["S"] = {"dtype": F16, "shape": [1, 2, 2, 4], "data": const(2050), "tolerance": 0}
    # The order of the additions in float32: (2^24 + 1) - 2^24 is 0, not 1.
    cases.append(case("sum_adds_skip_before_bias", [1, 2, 2, 4], 1, x=const(16777216), k=const(1), silu=0, beta=const(0.5)))
    cases[-1]["inputs"]["bias"] = tensor(F32, [4], const(-16777216))
    cases[-1]["outputs"]["S"] = {"dtype": F32, "shape": [1, 2, 2, 4], "data": const(0), "tolerance": 0}
    # Statistics of the rounded S: half a unit of noise on 2048 vanishes, the group is constant.
    cases.append(case("statistics_use_the_rounded_sum", [1, 4, 4, 8], 2, t=F16, x=const(2048), k=grid(7, 1, 0.5), silu=0, beta=grid(9, 8, 0.25), tolerance=0))
    cases.append({"name": "default_attributes", "attrs": {"groups": 2, "activation": 0}, "inputs": {
        "X": tensor(F32, [1, 1, 2, 2], values(1, 5, 3, 5)), "gamma": tensor(F32, [2], values(2, 4)), "beta": tensor(F32, [2], values(10, -20)),
        "skip": tensor(F32, [1, 2], values(0, 1))}, "outputs": {
        "Y": {"dtype": F32, "shape": [1, 1, 2, 2], "data": values(8.00001, -20, 11.99999, -20), "tolerance": 1e-5},
        "S": {"dtype": F32, "shape": [1, 1, 2, 2], "data": values(1, 6, 3, 6), "tolerance": 0}}})
    return cases


def large():
    """The streaming plan's form for large tensors, at sizes that a test can afford."""
    cases = []

    def add(name, shape, groups, tunables=None, **more):
        cases.append(case(f"as_large_{name}", shape, groups, seed=80000 + 10 * len(cases), tunables={"PROFILE": "gpu", "RESIDENT_BYTES": 0, "LARGE": 0, **(tunables or {})},
                          tolerance=Y_LARGE[more.get("t", F32)], **more))

    add("rows_f16", [1, 130, 127, 32], 8, {"COMBINE_ABOVE": 0}, t=F16, bias=True)
    add("rows_without_s_f16", [2, 65, 67, 40], 8, {"COMBINE_ABOVE": 0}, t=F16, s=False)
    add("planes_f32", [1, 8, 260, 252], 2, last=0, bias=True)
    add("planes_per_item_f16", [3, 6, 100, 100], 3, {"COMBINE_ABOVE": 0}, t=F16, last=0, skip="nc")
    add("many_groups_f32", [1, 24, 25, 320], 160, bias=True, skip="nc")
    # More partial moments than a workgroup of the combine pass takes in one round.
    add("many_runs_f32", [1, 82, 101, 256], 4, {"LARGE_BYTES": 16, "WORKGROUP_SIZE": 64}, bias=True)
    return cases


def large_twins():
    """The class of large tensors at its least size (S above 100 MB): Y has the same bits with and without S, whatever the spelling of skip."""
    cases = []
    for t, last, across, channels in ((F16, 1, (400, 401), 320), (F32, 1, (320, 321), 256), (F16, 0, (400, 401), 320), (F32, 0, (320, 321), 256)):
        shape = image(1, across, channels, last)
        name = f"large_{'x'.join(map(str, shape))}_{'f16' if t == F16 else 'f32'}"
        first = f"{name}_full_s"
        for kind, s in itertools.product(("full", "nc", "n11c"), (True, False)):
            # One value of skip for each channel, so that all spellings mean the same.
            axis = {"full": 3 if last else 1, "nc": 1, "n11c": 3}[kind]
            made = case(f"{name}_{kind}{'_s' if s else ''}", shape, 32, t=t, last=last, bias=True, s=s, skip=kind, seed=70000,
                        k={"kind": "axisIndex", "axis": axis, "step": 0.03125}, tolerance=Y_LARGE[t], tunables={"PROFILE": "gpu"})
            cases.append(made if made["name"] == first else {**made, "twin": first})
    return {"cases": cases}


def shared():
    """Workgroups that share a group, and workgroups of whole rows: plans of GPUs, at sizes that a software adapter can afford."""
    cases = []

    def add(name, shape, groups, tunables, **more):
        cases.append(case(f"as_gpu_{name}", shape, groups, seed=90000 + 10 * len(cases), tunables={"PROFILE": "gpu", **tunables}, **more))

    for t in (F32, F16):
        tag = "f16" if t == F16 else "f32"
        small = {"RESIDENT_LANES": 60, "RESIDENT_MIN_LANES": 32}
        add(f"shared_{tag}", [2, 9, 11, 80], 8, small, t=t, bias=True)
        add(f"shared_by_three_{tag}", [1, 13, 7, 40], 4, {**small, "RESIDENT_SHARERS": 3}, t=t, bias=True)
        add(f"shared_planes_{tag}", [1, 40, 12, 10], 4, small, t=t, last=0, bias=True, skip="nc")
        add(f"shared_planes_by_three_{tag}", [1, 40, 9, 11], 4, {**small, "RESIDENT_SHARERS": 3}, t=t, last=0, s=False)
        add(f"whole_rows_{tag}", [1, 37, 29, 320], 32, {"RESIDENT_BYTES": 0, "WHOLE_FROM": 0, "STATS_WORKGROUPS": 9}, t=t, bias=True)
    # Lanes of the resident plan that are whole rows, and twice as many where a lane would have many vectors.
    even = {"RESIDENT_LANES": 128, "RESIDENT_MIN_LANES": 32, "WHOLE_SIZE": 160}
    few = {"RESIDENT_LANES": 32, "RESIDENT_MIN_LANES": 32}
    for t, channels in ((F32, 40), (F16, 80)):
        tag = "f16" if t == F16 else "f32"
        add(f"even_rows_{tag}", [1, 16, 16, channels], 2, even, t=t, bias=True)
        add(f"even_rows_broadcast_{tag}", [2, 15, 17, channels], 2, even, t=t, skip="nc", s=False)
        add(f"many_vectors_{tag}", [1, 20, 16, 16], 1, few, t=t, last=0, bias=True)
        add(f"many_vectors_padded_{tag}", [2, 40, 16, 15], 2, few, t=t, last=0, s=False)
    return cases


def far_pivots():
    """A lane of the streaming plan takes up to 512 values in one walk, as differences from the first of them: here that one lies far from all others, whose
    mean is large and whose spread is small."""
    cases = []
    for t in (F32, F16):
        width, (far, step, spread) = (4, (1000, 0.0009765625, 255)) if t == F32 else (8, (1200, 1, 1))
        lanes, rows = 32, 496 // width
        for last in (1, 0):
            across = (lanes // 8, rows) if last else (rows, lanes * width)
            shape = image(1, across, 8 * width if last else 2, last)
            for place in ("first", "every_lane"):
                # The first value of a lane's walk: a row of all lanes comes before the next row.
                spots = [0] if place == "first" else [width * lane for lane in range(lanes)]
                made = case(f"far_pivot_{place}_{'nhwc' if last else 'nchw'}_{'f16' if t == F16 else 'f32'}", shape, 2, t=t, last=last, silu=0, x=grid(13, spread, step, far), k=const(0),
                            tolerance=Y_LARGE[t], x_more={"poke": [[spot, 3000] for spot in spots]},
                            tunables={"PROFILE": "gpu", "RESIDENT_BYTES": 0, "WORKGROUP_SIZE": lanes, "STATS_WORKGROUPS": 1, "WHOLE_SIZE": 0})
                cases.append(made)
    return cases


def outlying_pivots():
    """The first value of a lane's walk is an outlier: squares of differences from it are off by as many roundings as the walk has values, which the
    outlier's own result shows. All others are equal, so that roundings do not even out."""
    cases = []
    for last in (1, 0):
        for rows, tunables in ((124, {}), (123, {}), (122, {"UNROLL": 2}), (121, {"UNROLL": 1})):
            shape = image(1, (4, rows), 32, last) if last else image(1, (rows, 128), 2, last)
            spots = [4 * lane for lane in range(32)]
            cases.append(case(f"outlying_pivots_{rows}_rows_{'nhwc' if last else 'nchw'}", shape, 1, last=last, silu=0, x=const(0), k=const(0), x_more={"poke": [[spot, 2080.37] for spot in spots]},
                              tunables={"PROFILE": "gpu", "RESIDENT_BYTES": 0, "WORKGROUP_SIZE": 32, "STATS_WORKGROUPS": 1, "WHOLE_SIZE": 0, **tunables}))
    return cases


def far_cells():
    """Groups that one lane takes alone, far from zero: their mean is no float32, and what its rounding lost counts. A compiler that takes
    (y - (y + z)) + z for zero loses it."""
    return [case(f"far_cells_{plan}_{'x'.join(map(str, shape))}", shape, groups, last=last, silu=0, s=last == 1, x=grid(17 + i, 3, 0.125, 1 << 20), k=const(0),
                 tunables=tunables, attrs={"epsilon": 1e-6})
            for i, (shape, groups, last) in enumerate([([4, 1, 1, 128], 32, 1), ([4, 1, 3, 40], 40, 1), ([2, 1, 3, 64], 32, 1), ([2, 64, 2, 2], 64, 0), ([2, 64, 1, 3], 32, 0)])
            for plan, tunables in (("gpu", {"PROFILE": "gpu"}), ("stream", {"PROFILE": "gpu", "RESIDENT_BYTES": 0}), ("cpu", {"PROFILE": "cpu"}))]


def twins():
    """Y has the same bits with and without S, whatever the spelling of skip, in each plan of GPUs; the twins of the class of large tensors at its own size are
    written by --large."""
    cases = []
    resident, stream = {"PROFILE": "gpu"}, {"PROFILE": "gpu", "RESIDENT_BYTES": 0}
    cooperative = {**stream, **SHARED_GROUPS}
    for plan, t, shape, last, tunables in (("resident", F16, [2, 9, 8, 80], 1, {**resident, "RESIDENT_LANES": 60, "RESIDENT_MIN_LANES": 32}),
                                           ("resident", F32, [1, 16, 12, 10], 0, resident), ("stream", F32, [2, 33, 31, 80], 1, stream),
                                           ("stream", F16, [1, 16, 48, 40], 0, stream), ("large", F16, [1, 65, 64, 80], 1, {**stream, "LARGE": 0, "COMBINE_ABOVE": 0}),
                                           # Vectors of a lane share reciprocals; where each is all of one group, gamma and beta come at other times with S.
                                           ("cooperative_8_vectors_whole_groups", F16, [2, 96, 4, 64], 1, {**cooperative, "COOPERATIVE_VALUES": 64}),
                                           ("cooperative_10_vectors", F16, [2, 118, 4, 80], 1, {**cooperative, "COOPERATIVE_VALUES": 80}),
                                           # S in a buffer of its own where the call does not return it.
                                           ("apart", F16, [2, 31, 33, 80], 1, {**stream, "SUM_APART": 0}), ("apart", F16, [1, 16, 48, 40], 0, {**stream, "SUM_APART": 0}),
                                           ("cooperative", F16, [2, 17, 9, 80], 1, cooperative), ("cooperative_f32", F32, [2, 17, 9, 40], 1, cooperative),
                                           ("cooperative_many", F16, [1, 31, 37, 80], 1, {**cooperative, "COOPERATIVE_VALUES": 128}),
                                           ("cooperative", F16, [2, 80, 12, 16], 0, cooperative), ("cooperative_f32", F32, [1, 40, 9, 28], 0, cooperative)):
        name = f"same_bits_{plan}_{'nhwc' if last else 'nchw'}"
        for kind, s in itertools.product(("full", "nc", "n11c"), (True, False)):
            axis = {"full": 3 if last else 1, "nc": 1, "n11c": 3}[kind]
            made = case(f"{name}_{kind}{'_s' if s else ''}", shape, 8, t=t, last=last, bias=True, s=s, skip=kind, seed=71000,
                        k={"kind": "axisIndex", "axis": axis, "step": 0.03125}, tolerance=Y_LARGE[t], tunables=tunables)
            cases.append(made if kind == "full" and s else {**made, "twin": f"{name}_full_s"})
    return cases


def absorbed():
    """X too small to change S, which is one constant: the variance is zero and Y is act(beta). A compiler that takes (x + c) - (y + c) for x - y finds moments of X
    instead, as one did in float32 where skip is (N, C) or there is a bias."""
    cases = []
    stream = {"PROFILE": "gpu", "RESIDENT_BYTES": 0}
    cooperative = {**stream, **SHARED_GROUPS}
    for plan, last, tunables in (("resident", 1, {"PROFILE": "gpu"}), ("resident", 0, {"PROFILE": "gpu"}), ("stream", 1, stream), ("stream", 0, stream),
                                 ("cooperative", 1, cooperative), ("cooperative", 0, {**cooperative, "COOPERATIVE_LANES": 32}), ("cpu", 1, {"PROFILE": "cpu"})):
        for t, (constant, step) in ((F32, (1048576, 0.0001)), (F16, (1024, 0.0009765625))):
            shape = image(2, (9, 8), 40, last)
            for skip, bias in (("nc", False), ("nc", True), ("full", True)):
                tag = f"{plan}_{'nhwc' if last else 'nchw'}_{'f16' if t == F16 else 'f32'}_{skip}{'_bias' if bias else ''}"
                made = case(f"absorbed_{tag}", shape, 4, t=t, last=last, bias=bias, s=False, skip=skip, x=grid(17, 255, step), k=const(constant), tunables=tunables)
                if bias:
                    made["inputs"]["bias"] = tensor(t, [40], const(constant))
                cases.append(made)
    return cases


def told():
    """Workgroups that tell each other their moments, a plan of GPUs, at sizes that a software adapter can afford. It runs few workgroups at once, so most take
    moments that did not come."""
    cases = []
    plan = {"PROFILE": "gpu", **SHARED_GROUPS}

    def add(name, shape, groups, tunables=None, **more):
        cases.append(case(f"cooperative_{name}", shape, groups, seed=92000 + 10 * len(cases), tunables={**plan, **(tunables or {})}, **more))

    for t in (F32, F16):
        tag = "f16" if t == F16 else "f32"
        for width, groups in ((1, 16), (2, 8), (3, 16), (5, 8), (10, 8), (20, 4), (40, 2)):
            add(f"groups_of_{width}_{tag}", [2, 11, 13, width * groups], groups, t=t, bias=width != 5, s=width != 10, skip="nc" if width == 20 else "full")
        add(f"whole_slices_{tag}", [1, 16, 24, 80], 8, t=t, m=F16, bias=True)
        add(f"one_vector_{tag}", [1, 7, 13, 40], 4, {"COOPERATIVE_VALUES": 1, "PATIENCE": 0}, t=t)
        add(f"last_slab_narrower_{tag}", [1, 9, 17, 112], 14, {"COOPERATIVE_COLUMNS": 5}, t=t, bias=True)
        add(f"narrow_columns_{tag}", [1, 15, 9, 18], 3, {"COOPERATIVE_COLUMNS": 100}, t=t, s=False)
        add(f"wide_slab_{tag}", [1, 9, 21, 160], 16, {"COOPERATIVE_COLUMNS": 40, "COOPERATIVE_LANES": 128}, t=t, bias=True, silu=0)
        add(f"more_slices_than_a_team_{tag}", [1, 61, 29, 40], 4, {"COOPERATIVE_VALUES": 8, "TEAM": 4}, t=t)
        add(f"patient_{tag}", [2, 12, 12, 40], 4, {"PATIENCE": 4096, "COOPERATIVE_LANES": 320}, t=t, bias=True)
        add(f"constant_{tag}", [1, 12, 13, 40], 4, {"COOPERATIVE_AFTER": 1}, t=t, x=const(-3.3), k=const(0), silu=0, tolerance=0)
        add(f"zero_mean_{tag}", [1, 12, 13, 40], 4, t=t, x=const(0), k=const(0))
        # More vectors than a lane asks for at once.
        many = {"COOPERATIVE_VALUES": 128}
        add(f"many_vectors_{tag}", [1, 31, 37, 40], 4, many, t=t, bias=True)
        add(f"many_vectors_exact_{tag}", [2, 24, 24, 40], 4, {**many, "COOPERATIVE_LANES": 60, "COOPERATIVE_AFTER": 0}, t=t, skip="n11c")
        add(f"many_vectors_one_ahead_{tag}", [1, 31, 37, 80], 2, {**many, "COOPERATIVE_AHEAD": 1, "COOPERATIVE_AFTER": 3}, t=t, s=False, silu=0)
        add(f"many_vectors_and_lanes_{tag}", [1, 61, 79, 80], 10, {**many, "COOPERATIVE_LANES": 640}, t=t, bias=True)
        add(f"many_vectors_nchw_{tag}", [1, 40, 48, 48], 4, many, t=t, last=0, bias=True)
        # Under channels_last 0, where a workgroup has one group.
        add(f"nchw_{tag}", [2, 40, 12, 16], 4, t=t, last=0, bias=True)
        add(f"nchw_two_wide_{tag}", [1, 12, 9, 10], 3, t=t, m=F16, last=0, bias=True, s=False, skip="nc")
        add(f"nchw_four_wide_{tag}", [2, 30, 14, 6], 2, {"COOPERATIVE_LANES": 100}, t=t, last=0, skip="n11c", silu=0)
        add(f"nchw_exact_{tag}", [1, 16, 16, 32], 4, t=t, last=0, skip="nc")
        add(f"nchw_patient_{tag}", [1, 40, 16, 24], 4, {"PATIENCE": 4096, "COOPERATIVE_LANES": 320}, t=t, last=0, s=False)
        wrong = group_ranges([2, 40, 12, 16], 0, 4, 1, 2)
        add(f"nchw_nan_stays_{tag}", [2, 40, 12, 16], 4, t=t, last=0, x_more={"poke": [[wrong[0][0] + 3, "nan"]]}, ignore=wrong)
        spot = group_ranges([2, 12, 13, 40], 1, 4, 1, 2)
        for bad in ("nan", "inf"):
            add(f"{bad}_stays_{tag}", [2, 12, 13, 40], 4, t=t, x_more={"poke": [[spot[0][0] + 3, bad]]}, ignore=spot)
    # Eight vectors of a lane and more share reciprocals in float16, up to four each; far from zero, too.
    for vectors, rows in ((8, 96), (10, 118), (11, 130), (16, 190)):
        add(f"{vectors}_vectors_f16", [2, rows, 4, 40], 4, {"COOPERATIVE_VALUES": 8 * vectors}, t=F16, bias=True)
    add("silu_far_from_zero_f16", [1, 96, 4, 40], 4, {"COOPERATIVE_VALUES": 64}, t=F16, gamma=const(0), beta=values(*[-100, -1e4, -6e4, 100, 50, -20, 0, -88] * 5),
        tolerance={"abs": 1e-6, "rel": 1e-3})
    # A channel that is NaN, and a group: that, and nothing else.
    add("nan_comes_out_f16", [1, 96, 4, 40], 4, {"COOPERATIVE_VALUES": 64}, t=F16, x_more={"poke": [[233, "nan"]]})
    cases[-1]["inputs"]["gamma"]["poke"] = [[3, "nan"]]
    cases[-1]["inputs"]["beta"]["poke"] = [[17, "nan"]]
    add("far_mean_f32", [1, 24, 20, 40], 4, x=grid(13, 255, 0.0009765625, 1000), k=const(0), tolerance=Y_LARGE[F32])
    add("outlier_first_f32", [1, 24, 20, 40], 4, x=grid(13, 255, 0.0009765625, 1000), k=const(0), x_more={"poke": [[0, 3000], [10, -3000]]}, tolerance=Y_LARGE[F32])
    # The value that differences are taken from is an outlier among as many as a slice can have, which are all equal, so that roundings do not even out.
    slices = {"COOPERATIVE_LANES": 640, "COOPERATIVE_VALUES": 128}
    for width, groups, last in ((80, 1, 1), (20, 4, 1), (10, 8, 1), (15, 4, 1), (75, 2, 1), (40, 2, 0)):
        shape = image(1, (64, 32), width * groups, last)
        add(f"outlier_among_equals_{width}_{'nhwc' if last else 'nchw'}_f16", shape, groups, slices, t=F16, last=last, silu=0, x=const(0), k=const(0),
            x_more={"poke": [[0, 30000]]}, gamma=const(1), beta=const(0), s=last == 1)
    # A cell far from the 4095 others: squares from its mean would be wrong by parts in ten thousand.
    add("outlying_cell_f32", [1, 16, 16, 64], 1, {"COOPERATIVE_VALUES": 4}, silu=0, x_more={"poke": [[i, 1e6] for i in range(4)]})
    # Groups of whole vectors, where reciprocals are shared but the power of SiLU is taken of Y.
    add("8_vectors_whole_groups_f16", [2, 96, 4, 40], 5, {"COOPERATIVE_VALUES": 64}, t=F16, bias=True)
    add("silu_far_from_zero_whole_groups_f16", [1, 96, 4, 40], 5, {"COOPERATIVE_VALUES": 64}, t=F16, gamma=const(0),
        beta=values(*[-100, -1e4, -6e4, 100, 50, -20, 0, -88] * 5), tolerance={"abs": 1e-6, "rel": 1e-3})
    # Four vectors that share reciprocals, four, and one that has its own.
    add("9_vectors_f16", [2, 107, 4, 40], 4, {"COOPERATIVE_VALUES": 72}, t=F16, bias=True)
    return cases


def spellings():
    """Every accepted spelling of skip at the edges where two of them meet."""
    cases = []
    for t in (F32, F16):
        tag = "f16" if t == F16 else "f32"
        cases.append(case(f"skip_1c_one_item_{tag}", [1, 3, 2, 8], 2, t=t, skip="nc"))
        cases.append(case(f"skip_111c_one_item_{tag}", [1, 3, 2, 8], 2, t=t, skip="n11c"))
        cases.append(case(f"skip_n11c_exact_{tag}", [3, 1, 1, 8], 2, t=t, skip="full"))
        cases.append(case(f"skip_n11c_under_nchw_{tag}", [3, 8, 2, 3], 2, t=t, last=0, skip="n11c"))
        cases.append(case(f"skip_nc11_exact_under_nchw_{tag}", [3, 8, 1, 1], 2, t=t, last=0, skip="full"))
        cases.append(case(f"skip_n11c_under_nchw_one_pixel_{tag}", [3, 8, 1, 1], 2, t=t, last=0, skip="n11c"))
        cases.append(case(f"skip_nc_one_pixel_{tag}", [3, 1, 1, 8], 2, t=t, skip="nc"))
    return cases


def empty():
    cases = []
    for last in (1, 0):
        for n, h, w in ((0, 3, 2), (2, 0, 2), (2, 3, 0), (0, 0, 0)):
            for t, skip in ((F32, "full"), (F16, "nc"), (F32, "n11c")):
                shape = image(n, (h, w), 8, last)
                cases.append(case(f"empty_{'x'.join(map(str, shape))}_{'nhwc' if last else 'nchw'}_{skip}", shape, 2, t=t, last=last, skip=skip, bias=True))
    return cases


def refused():
    """Requests that must fail before anything is written."""
    cases = []

    def add(name, error, change=None, shape=(2, 3, 2, 8), last=1, attrs=None, drop=()):
        made = case(f"refused_{name}", list(shape), 2, last=last, bias=True)
        inputs, attributes = made["inputs"], {**made["attrs"], **(attrs or {})}
        for key in drop:
            attributes.pop(key)
        for port, what in (change or {}).items():
            if what is None:
                inputs.pop(port)
            else:
                inputs[port] = tensor(what[1] if len(what) > 1 else F32, what[0], const(1))
        cases.append({"name": made["name"], "attrs": attributes, "inputs": inputs, "error": error})

    add("x_rank_3", "request/rank", {"X": ([2, 6, 8],)})
    add("x_rank_5", "request/rank", {"X": ([2, 3, 2, 1, 8],)})
    add("no_channels", "request/shape", {"X": ([2, 3, 2, 0],), "skip": ([2, 0],), "gamma": ([0],), "beta": ([0],), "bias": ([0],)})
    add("groups_do_not_divide", "request/attribute", attrs={"groups": 3})
    add("more_groups_than_channels", "request/attribute", attrs={"groups": 16})
    add("groups_zero", "request/attribute", attrs={"groups": 0})
    add("groups_negative", "request/attribute", attrs={"groups": -2})
    add("groups_fraction", "request/attribute", attrs={"groups": 2.5})
    add("groups_missing", "request/missing", drop=["groups"])
    add("activation_missing", "request/missing", drop=["activation"])
    add("activation_two", "request/attribute", attrs={"activation": 2})
    add("activation_negative", "request/attribute", attrs={"activation": -1})
    add("epsilon_negative", "request/attribute", attrs={"epsilon": -1e-5})
    add("epsilon_text", "request/attribute", attrs={"epsilon": "1e-5"})
    add("channels_last_text", "request/attribute", attrs={"channels_last": "no"})
    add("unknown_attribute", "request/unknown", attrs={"group": 2})
    for port in ("gamma", "beta", "bias"):
        add(f"{port}_rank", "request/rank", {port: ([1, 8],)})
        add(f"{port}_length", "request/shape", {port: ([7],)})
        add(f"{port}_one", "request/shape", {port: ([1],)})
    for name, size in (("c", [8]), ("1c", [1, 8]), ("111c", [1, 1, 1, 8]), ("n1c", [2, 1, 8]), ("nh1c", [2, 3, 1, 8]), ("n1wc", [2, 1, 2, 8]), ("nc11", [2, 8, 1, 1]),
                       ("flat", [2, 48]), ("other_batch", [3, 8]), ("other_channels", [2, 4]), ("other_image", [2, 2, 3, 8]), ("scalar", [])):
        add(f"skip_{name}", "request/shape", {"skip": (size,)})
    for name, size in (("nc11", [2, 8, 1, 1]), ("nhwc", [2, 3, 2, 8]), ("1c", [1, 8]), ("111c", [1, 1, 1, 8])):
        add(f"skip_{name}_under_nchw", "request/shape", {"skip": (size,)}, shape=(2, 8, 3, 2), last=0)
    for port in ("X", "gamma", "beta", "skip"):
        add(f"missing_{port}", "request/missing", {port: None})
    add("unknown_port", "request/unknown", {"mean": ([8],)})
    add("mixed_t_skip", "request/dtype", {"skip": ([2, 3, 2, 8], F16)})
    add("mixed_t_bias", "request/dtype", {"bias": ([8], F16)})
    add("mixed_m", "request/dtype", {"beta": ([8], F16)})
    add("integer_x", "request/dtype", {"X": ([2, 3, 2, 8], "int32"), "skip": ([2, 3, 2, 8], "int32"), "bias": ([8], "int32")})
    add("integer_gamma", "request/dtype", {"gamma": ([8], "int32"), "beta": ([8], "int32")})
    return cases


def tests():
    return {"cases": combinations() + shapes() + numbers() + large() + shared() + far_pivots() + outlying_pivots() + far_cells() + absorbed() + told() + twins() + spellings() + empty() + refused()}


def full_tests():
    return {"cases": full_product()}


if __name__ == "__main__":
    case_writer.main(__doc__, [
        (PACKAGE / "test.json", tests, True),
        (PACKAGE / "test.full.json", full_tests, False),
        (PACKAGE / "bench.json", benches, True),
    ], [("large", large_twins, "write calls whose S is above 100 MB, with and without S and with each spelling of skip, to FILE instead")])
