# SPDX-License-Identifier: Apache-2.0
"""Random calls of the two norms: sizes around what their manifests' guards and partitions compare with, magnitudes at the edges of the types."""
import skip_group_norm as sgn
import skip_simplified_layer_normalization as ssln
from case_writer import F16, F32, const, grid, tensor


def near(source, marks, reach=2):
    """One of the marks, often one or two beside it."""
    return max(1, source.choice(marks) + source.choice([0, 0, 0, *range(-reach, reach + 1)]))


def some(source, options, most=3):
    """A few of the tunables, each with one of its values."""
    names = source.sample(sorted(options), source.randint(1, most))
    return {name: source.choice(options[name]) for name in sorted(names)}


def chance(source, probability):
    return source.random() < probability


# ---- SkipGroupNorm

WIDTHS = [1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 12, 15, 16, 20, 24, 30, 32, 33, 40, 48, 60, 64, 80, 120, 128, 129, 160, 256, 320]
GROUPS = [1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8, 12, 16, 20, 31, 32, 32, 33, 64, 65, 128]
# The row of an odd image that the plans still take; planes from which on they stream; passes of a workgroup.
CHANNEL_MARKS = [80, 128, 256, 512, 800, 1024, 1280, 2048]
PIXEL_MARKS = [1, 4, 8, 16, 32, 64, 100, 128, 256, 257, 512, 1024, 2048, 4096]
# Values of a group at which a plan changes: registers of a lane, bytes of a workgroup, lanes of a workgroup.
GROUP_MARKS = [32, 64, 96, 160, 256, 512, 1024, 2048, 4096, 8192, 16384, 24576, 32768, 65536]

GROUP_TUNABLES = {
    "PROFILE": ["gpu", "cpu", "gpu", "cpu"],
    "RESIDENT_LANES": [32, 64, 100, 128, 256, 512, 1024],
    "RESIDENT_BYTES": [0, 16, 64, 640],
    "RESIDENT_WORKGROUPS": [1, 8, 500],
    "RESIDENT_LEAST": [0, 1000],
    "RESIDENT_SMALL": [0, 1 << 30],
    "RESIDENT_MIN_LANES": [32, 64, 512],
    "RESIDENT_VECTORS": [1, 2, 8],
    "RESIDENT_SHARERS": [1, 2, 3, 8],
    "RESIDENT_FILL": [1, 1000],
    "SUBGROUP_MERGE": [False, True],
    "WHOLE_SIZE": [0, 60, 96, 320, 512],
    "WHOLE_FROM": [0, 1 << 40],
    "APPLY_ONCE_FROM": [0, 1 << 40],
    "WORKGROUP_SIZE": [1, 16, 32, 64, 100, 128, 512],
    "SLAB_COLUMNS": [1, 2, 3, 16, 64],
    "PARTIALS": [1, 16, 100, 4000],
    "UNROLL": [1, 2, 3, 4, 8],
    "AT_ONCE": [1, 2, 4, 16],
    "INTERLEAVE": [False, True],
    "PREFETCH": [0, 1],
    "STATS_WORKGROUPS": [1, 2, 16, 100, 2000],
    "APPLY_UNROLL": [1, 2, 3, 4, 8],
    "APPLY_WORKGROUPS": [1, 2, 16, 100, 2000],
    "LARGE": [0, 0, 4096],
    "LARGE_BYTES": [4, 16, 64, 1024],
    "LARGE_APPLY_BYTES": [1, 16, 64, 256],
    "TEAM": [1, 2, 4, 8, 16, 64, 128],
    "COMBINE_ABOVE": [0, 1, 4, 1 << 20],
    "SLAB_LANES": [1, 16, 32, 64, 128, 512, 1024],
    "SLAB_WORKGROUPS": [1, 4, 64, 4000],
    "FUSED_VALUES": [1, 1024, 1 << 24],
    "ALIGN_SLABS": [False, True],
    "FOLD": [1, 2, 3, 10],
    "HALVES": ["pack", "auto"],
    "PACKING": ["pack", "integer", "auto"],
}

# Of the plan whose workgroups tell each other their moments, beside what makes a device take it.
COOPERATIVE_TUNABLES = {
    "TEAM": [2, 4, 8, 16],
    "COOPERATIVE_LANES": [16, 32, 64, 100, 160, 640],
    "COOPERATIVE_FEW": [32, 1024],
    "COOPERATIVE_MANY": [0, 128],
    "COOPERATIVE_MOST": [0, 640],
    "COOPERATIVE_AHEAD": [0, 1, 2, 100],
    "COOPERATIVE_VALUES": [1, 8, 16, 32, 64, 128],
    "COOPERATIVE_COLUMNS": [1, 3, 5, 20, 40],
    "COOPERATIVE_WORKGROUPS": [1, 4, 1000],
    "COOPERATIVE_AFTER": [0, 1, 3],
    "PATIENCE": [0, 1, 100],
}


def image_of(source, limit):
    """batch, height, width, channels per group, groups: within the limit."""
    for _ in range(1000):
        width, groups = source.choice(WIDTHS), source.choice(GROUPS)
        if chance(source, 0.25):
            channels = near(source, CHANNEL_MARKS)
            groups = source.choice([g for g in GROUPS if channels % g == 0])
            width = channels // groups
        pixels = near(source, PIXEL_MARKS)
        if chance(source, 0.4):
            pixels = max(1, near(source, GROUP_MARKS) // width + source.choice([-1, 0, 0, 0, 1, 2]))
        batch = source.choice([1, 1, 1, 2, 2, 3, 5, 16, 17, 33])
        if chance(source, 0.03):
            batch, pixels = near(source, [65535 // groups, 32768 // groups + 1]), source.choice([1, 1, 2])
        if batch * pixels * width * groups <= limit:
            divisors = [d for d in range(1, min(pixels, 64) + 1) if pixels % d == 0]
            height = source.choice(divisors)
            height, across = (height, pixels // height) if chance(source, 0.5) else (pixels // height, height)
            return batch, height, across, width, groups
    raise RuntimeError("no image within the limit")


def group_data(source, t, shape):
    """A style, and its data of X, skip and bias."""
    seed = source.randrange(1 << 30)
    half = t == F16
    bias = grid(seed + 4, 100, 0.03125)
    style = source.choice(["unit", "unit", "unit", "far", "far", "cancel", "huge", "tiny", "constant", "zero", "ramp", "axis", "outlier", "scaled", "nan", "inf"])
    x, skip = grid(seed, 255, 0.0078125), grid(seed + 1, 255, 0.00390625)
    if style == "far":
        offset = source.choice([-1, 1]) * (source.choice([64, 400, 1200]) if half else source.choice([100, 1000, 4096]))
        x = grid(seed, source.choice([1, 3]), 1, offset) if half else grid(seed, 255, 0.0009765625, offset)
        skip, bias = source.choice([const(0), const(1)]), const(source.choice([0, 2]))
    elif style == "cancel":
        offset = 256 if half else 1024
        x, skip = grid(seed, 255, 0.25 if half else 0.0009765625, offset), const(-offset)
    elif style == "huge":
        x, skip, bias = (grid(seed, 1, 30000), grid(seed + 1, 1, 20000), grid(seed + 4, 1, 8)) if half else (grid(seed, 255, 2.0**40), grid(seed + 1, 255, 2.0**39), grid(seed + 4, 3, 2.0**38))
    elif style == "tiny":
        step = 2.0**-24 if half else 2.0**-40
        x, skip, bias = grid(seed, 255, step), grid(seed + 1, 255, step), grid(seed + 4, 100, step)
    elif style == "constant":
        value = source.choice([1000.1, -3.3, 60000.0, 0.001])
        x, skip, bias = const(value), const(0), const(0)
    elif style == "zero":
        x, skip, bias = const(0), const(0), const(0)
    elif style == "ramp":
        x = {"kind": "linear", "start": source.choice([-8, 0, 5]), "step": 0.0009765625}
    elif style == "axis":
        axis = source.randrange(4)
        x = {"kind": "axisIndex", "axis": axis, "step": source.choice([step for step in (0.0009765625, 0.125, 1, 3) if step * shape[axis] < 4000])}
    elif style == "scaled":
        scale = 2.0 ** source.randint(-4, 6) if half else 2.0 ** source.randint(-20, 30)
        x, skip, bias = grid(seed, 255, 0.0078125 * scale), grid(seed + 1, 255, 0.00390625 * scale), grid(seed + 4, 100, 0.03125 * scale)
    return style, x, skip, bias


def group_norm(source, name, limit, _):
    """One call of SkipGroupNorm; of some the twins too: without S, and with each spelling of the same skip."""
    if chance(source, 0.2):
        limit *= 8
    return group_norm_of(source, name, image_of(source, limit))


def group_norm_of(source, name, image, wanted_t=None, wanted_last=None, tuned=True):
    """The same of an image (batch, height, width, channels per group, groups), and of an element type and a layout where they are given."""
    batch, height, across, width, groups = image
    channels, pixels = width * groups, height * across
    t, m = source.choice([F32, F16]), source.choice([F32, F16])
    last, silu = source.choice([1, 1, 0]), source.choice([0, 1])
    t, last = wanted_t or t, last if wanted_last is None else wanted_last
    bias, s = chance(source, 0.5), chance(source, 0.6)
    kind = source.choice(["full", "full", "nc", "n11c"])
    shape = sgn.image(batch, (height, across), channels, last)
    style, x, skip, bias_data = group_data(source, t, shape)
    values = width * pixels
    if style in ("nan", "inf") and (pixels > 200 and last or values < 2):
        style = "unit"
    epsilons = [1e-5, 1e-5, 1e-5, 1e-6, 1e-3, 100] + ([0] if style in ("unit", "ramp", "huge") and values >= 16 else [1e-30] if style in ("constant", "zero") else [])
    epsilon = source.choice(epsilons)
    more = {"x": x, "k": skip, "attrs": {} if epsilon == 1e-5 else {"epsilon": epsilon}}
    if style == "outlier":
        more["x_more"] = {"poke": [[source.randrange(batch * pixels * channels), source.choice([3000, -3000])] for _ in range(source.randint(1, 3))]}
    if style in ("nan", "inf"):
        spot = sgn.group_ranges(shape, last, groups, source.randrange(batch), source.randrange(groups))
        begin, end = source.choice(spot)
        more["x_more"] = {"poke": [[source.randrange(begin, end), style if style == "nan" else source.choice(["inf", "-inf"])]]}
        more["ignore"] = spot
    sharp = source.choice([None, None, (grid(source.randrange(99), 2, 1), 2)])
    if sharp:
        more["gamma"] = sharp[0]
    if style in ("constant", "zero") and silu == 0:
        more["tolerance"] = 0
    seed = source.randrange(1 << 30)
    tunables = some(source, GROUP_TUNABLES, 4) if tuned and chance(source, 0.35) else None
    if tuned and chance(source, 0.2):
        tunables = {**(tunables or {}), "PROFILE": "gpu", "LANES_TOGETHER": 1 << 20, "COOPERATIVE_LEAST": 0, **some(source, COOPERATIVE_TUNABLES)}

    def call(suffix, kind, s, k=None):
        arguments = {**more, **({"k": k} if k else {})}
        made = sgn.case(f"{name}{suffix}_{style}_{'x'.join(map(str, shape))}_g{groups}_{'f16' if t == F16 else 'f32'}_{'nhwc' if last else 'nchw'}_{kind}",
                        shape, groups, t, m, last, bias, s, kind, silu, seed, **arguments)
        if bias:
            made["inputs"]["bias"]["data"] = bias_data
        if s and t == F32:
            made["outputs"]["S"]["tolerance"] = 0  # the same two additions as the oracle's
        if tunables:
            made["tunables"] = tunables
        return made

    if not chance(source, 0.15) or epsilon == 0:
        return [call("", kind, s)]
    # One value of skip in every place, so that all spellings mean the same.
    one = const(source.choice([0.5, -1, 0.25]))
    first = call("", "full", True, one)
    return [first] + [call("", kind, s, one) | {"name": f"{name}_twin_{kind}{'_s' if s else ''}", "twin": first["name"]}
                      for kind, s in (("full", False), ("nc", True), ("nc", False), ("n11c", False))]


# ---- SkipSimplifiedLayerNormalization

HIDDEN_MARKS = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 256, 320, 384, 512, 576, 640, 768, 896, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 4104, 5120, 8192, 8193]
LONG_MARKS = [16384, 16392, 32768, 32776, 65536, 100000]
ROW_MARKS = [1, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65, 128, 256, 2047, 2048, 8192, 65535]
STATISTICS = ["", "", "mean", "inv", "both"]

ROW_TUNABLES = {
    "PROFILE": ["gpu", "cpu", "gpu", "cpu"],
    "MAX_WORKGROUP_SIZE": [1, 2, 32, 100, 128, 512],
    "ROW_LANES": [32, 64, 128, 512],
    "ROW_ITEMS": [1, 2, 3, 4, 8],
    "FEW_ROWS": [0, 2, 1000],
    "MANY_ROWS": [1, 2, 64],
    "MANY_LAUNCHES": [1, 2, 64],
    "BESIDE_LANES": [0, 64, 256, 1024],
    "SUBGROUP_ITEMS": [1, 4, 16, 32],
    "WIDE_ROW": [1, 8, 64],
    "LATE_LANES": [32, 1024],
    "SPLIT_LANES": [32, 64, 128, 512],
    "SPLIT_ITEMS": [1, 2, 4, 16],
    "NARROW_LANES": [1, 32, 100],
    "HALF_LANES": [1, 32, 100],
    "HELD_VECTORS": [4, 16],
    "LATE_SUM": [0, 100000],
    "TOGETHER": [64, 1000],
    "JOINT_LANES": [32, 64, 512],
    "JOINT_ITEMS": [1, 2, 8],
    "JOINT_GROUPS": [1, 8],
    "JOINT_FEW": [0, 4096],
    "PATIENCE": [1, 2, 64],
    "SLICES": [1, 3, 4, 16],
    "SLICE_VECTORS": [1, 100],
}


def rows_of(source, limit):
    for _ in range(1000):
        hidden = near(source, LONG_MARKS, 8) if chance(source, 0.08) else near(source, HIDDEN_MARKS, 8) if chance(source, 0.7) else source.randint(1, 300)
        rows = near(source, ROW_MARKS)
        if hidden * rows <= limit or rows <= 2 and hidden <= 4 * limit:
            if chance(source, 0.3):
                divisors = [d for d in range(1, min(rows, 64) + 1) if rows % d == 0]
                batch = source.choice(divisors)
                return [batch, rows // batch, hidden]
            return [rows, hidden]
    raise RuntimeError("no rows within the limit")


def row_data(source, dtype):
    """Data of input, skip and bias whose sums are exact in float32; whether a row can be zero."""
    seed, half = source.randrange(1 << 30), dtype == F16
    style = source.choice(["unit", "unit", "unit", "far", "cancel", "huge", "tiny", "zero", "equal", "scaled", "nan", "inf", "outlier", "overflow"])
    step = 0.0078125
    x, skip, bias = grid(seed, 256, step, step / 4), grid(seed + 1, 256, step), grid(seed + 3, 256, step)
    if style == "far":
        x = grid(seed, 3, 1, 1200) if half else grid(seed, 255, 0.0009765625, 1000)
    elif style == "cancel":
        offset = 512 if half else 1000
        x, skip = const(offset), grid(seed + 1, 255, 0.25 if half else 0.0078125, 0.125)
        bias = const(-offset)
    elif style == "huge":
        step = 200 if half else 2.0**46
        x, skip, bias = grid(seed, 255, step), grid(seed + 1, 60, step, step / 4), grid(seed + 3, 3, step)
    elif style == "tiny":
        step = 2.0**-24 if half else 2.0**-58
        x, skip, bias = grid(seed, 255, step), grid(seed + 1, 200, step), grid(seed + 3, 100, step)
    elif style == "zero":
        x, skip, bias = const(0), const(0), const(0)
    elif style == "equal":
        x, skip, bias = const(0.7001953125), const(0), const(source.choice([0, 1]))
    elif style == "scaled":
        step *= 2.0 ** (source.randint(-4, 6) if half else source.randint(-30, 30))
        x, skip, bias = grid(seed, 256, step, step / 4), grid(seed + 1, 256, step), grid(seed + 3, 256, step)
    elif style == "overflow" and half:  # of the sum, not of what is normalized
        x, skip, bias = grid(seed, 1, 60000), const(source.choice([60000, -60000])), const(16)
    return style, x, skip, bias


def row_norm(source, name, limit, _):
    """One call of SkipSimplifiedLayerNormalization; of some the twin that asks for every output."""
    if chance(source, 0.2):
        limit *= 8
    return row_norm_of(source, name, rows_of(source, limit), source.choice([F32, F16]))


def row_norm_of(source, name, shape, dtype, wanted_form=None, tuned=True):
    """The same of a shape and an element type, and of a form where it is given."""
    hidden = shape[-1]
    rows = 1
    for size in shape[:-1]:
        rows *= size
    form, statistics = source.choice(ssln.FORMS), source.choice(STATISTICS)
    form = form if wanted_form is None else wanted_form
    style, x, skip, bias = row_data(source, dtype)
    attrs = {}
    choices = [None, 1e-5, 1e-5, 1e-6, 1.0, 1e4, 9e37, 1e38, 3e38]
    if style in ("unit", "far", "scaled"):
        choices.append(0)
    epsilon = source.choice(choices)
    if epsilon is not None:
        attrs["epsilon"] = epsilon
    seed = source.randrange(1 << 30)
    tunables = some(source, ROW_TUNABLES) if tuned and chance(source, 0.35) else None

    def call(suffix, form, statistics):
        made = ssln.combination(shape, dtype, form, statistics, seed,
                                f"{name}{suffix}_{style}_{'x'.join(map(str, shape))}_{'f16' if dtype == F16 else 'f32'}_{form}{'_' + statistics if statistics else ''}")
        inputs, outputs = made["inputs"], made["outputs"]
        inputs["inputT"]["data"], inputs["skipT"]["data"] = x, skip
        if "bias" in form:
            inputs["biasT"]["data"] = bias
        if dtype == F32 and "residualT" in outputs:
            outputs["residualT"]["tolerance"] = 0
        made["attrs"] = attrs
        if tunables:
            made["tunables"] = tunables
        return made

    pokes = []
    row = source.randrange(rows)
    if style == "outlier":
        pokes = [[source.randrange(rows * hidden), source.choice([3000, -3000])] for _ in range(source.randint(1, 3))]
    if style in ("nan", "inf"):
        at = row * hidden + source.randrange(hidden)
        pokes = [[at, style]]

    def finish(made):
        if pokes:
            made["inputs"]["inputT"]["poke"] = pokes
        if style in ("nan", "inf"):
            for port, expectation in made["outputs"].items():
                whole = port == "outputT"
                expectation["ignore"] = [[row * hidden, (row + 1) * hidden]] if whole else [[row, row + 1]] if port in ("meanT", "invStdT") else [[at, at + 1]]
        return made

    if not chance(source, 0.15):
        return [finish(call("", form, statistics))]
    # The same row norm, asked for everything and then for less.
    prefix = "bias" if "bias" in form else ""
    first = finish(call("", f"{prefix}_residual".strip("_"), "both"))
    return [first] + [finish(call("_twin", f, s)) | {"twin": first["name"]}
                      for f, s in ((prefix or "plain", ""), (prefix or "plain", "inv"), (f"{prefix}_residual".strip("_"), ""))]
