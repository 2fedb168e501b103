# SPDX-License-Identifier: Apache-2.0
"""Writes the manifests and cases of the packages beside it, or with --check compares them; `wgk digest` does the rest."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
SIZES = (16, 8)
CHECK = sys.argv[1:] == ["--check"]
STALE = []


def write(package, name, value):
    path = HERE / package / "build" / "webgpu" / name
    if "cases" in value:  # A line each.
        text = '{"cases": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in value["cases"]) + "\n]}\n"
    else:
        text = json.dumps(value, indent=2) + "\n"
    if not CHECK:
        path.write_text(text)
    elif path.read_text() != text:
        STALE.append(f"{package}/{name}")


def requires(m):
    return {"features": ["shader-f16", "subgroups", "chromium-experimental-subgroup-matrix"],
            "subgroupMatrixConfigs": [{"componentType": "f16", "resultComponentType": "f32", "M": m, "N": m, "K": m}]}


def manifest(name, inputs, output, attributes, shader, derive, conditions, dispatch):
    variants = [{"id": f"fragments_{m}", "priority": m, "requires": requires(m),
                 "when": [condition.replace("{m}", str(m)) for condition in conditions],
                 "derive": {"m": str(m)},
                 "passes": [{"id": "main", "shader": shader, "bindings": [*inputs, output[0]],
                             "dispatch": {key: value.replace("{m}", str(m)) for key, value in dispatch.items()}}]}
                for m in SIZES]
    return {"domain": "wgk", "name": name, "sinceVersion": 1,
            "inputs": {f"{port}T": {"onnx": port, "dtype": "T", "rank": 2} for port in inputs},
            "outputs": {f"{output[0]}T": {"onnx": output[0], "dtype": "float32", "rank": 2, "shape": output[1]}},
            "attributes": {key: {"default": value} for key, value in attributes.items()},
            "typeConstraints": {"T": ["float16"]},
            "derive": {"subgroupFixed": "has(device.adapterInfo, \"subgroupMinSize\") and device.adapterInfo.subgroupMinSize == device.adapterInfo.subgroupMaxSize",
                       "lanes": "4 * device.adapterInfo.subgroupMaxSize if subgroupFixed else 0", **derive},
            "bindings": {port: {"arg": f"{port}T", "elementType": "vec4<u32>"} for port in [*inputs, output[0]]},
            "when": ["subgroupFixed", "lanes <= device.limits.maxComputeInvocationsPerWorkgroup"],
            "variants": variants}


def values(numbers):
    return {"kind": "values", "values": numbers}


def product_case(name, rows, depth, columns):
    """Small integers: every product and sum is exact."""
    left = [(3 * i + 5 * k) % 7 - 3 for i in range(rows) for k in range(depth)]
    right = [(2 * k + 3 * j) % 5 - 2 for k in range(depth) for j in range(columns)]
    product = [sum(left[i * depth + k] * right[k * columns + j] for k in range(depth)) for i in range(rows) for j in range(columns)]
    return {"name": name, "attrs": {}, "inputs": {"leftT": {"dtype": "float16", "shape": [rows, depth], "data": values(left)},
                                                 "rightT": {"dtype": "float16", "shape": [depth, columns], "data": values(right)}},
            "outputs": {"productT": {"dtype": "float32", "shape": [rows, columns], "data": values(product), "tolerance": {"abs": 0, "rel": 0}}}}


def instructions_case(name, m, copies, repeats):
    left = [(3 * i + 5 * k) % 7 - 3 for i in range(4 * m) for k in range(m)]
    right = [(2 * k + 3 * j) % 5 - 2 for k in range(m) for j in range(4 * m)]
    product = [repeats * sum(left[i * m + k] * right[k * 4 * m + j] for k in range(m)) for i in range(4 * m) for j in range(4 * m)]
    return {"name": name, "attrs": {"repeats": repeats, "copies": copies},
            "inputs": {"leftT": {"dtype": "float16", "shape": [4 * m, m], "data": values(left)},
                       "rightT": {"dtype": "float16", "shape": [m, 4 * m], "data": values(right)}},
            "outputs": {"sumT": {"dtype": "float32", "shape": [copies * 4 * m, 4 * m], "data": values(product * copies), "tolerance": {"abs": 0, "rel": 0}}}}


def streams_manifest():
    """The interface of com.microsoft.SkipGroupNorm, so that `wgk bench --against` sets it beside the operator."""
    params = [{"name": "zero", "type": "u32", "value": 0}, {"name": "jobs", "type": "u32", "value": "jobs"}]

    def several(merged):
        first = {"id": "read", "shader": "streams.wgsl.jinja", "derive": {"step": "\"read\"", "merged": merged, "lanes": "tunables.LANES", "items": "tunables.ITEMS", "jobs": "entries"},
                 "bindings": ["X", "skip", "S", *(["partials"] if merged else []), {"name": "params", "struct": params}],
                 "dispatch": {"workgroups": "entries"}}
        merge = {"id": "merge", "shader": "streams.wgsl.jinja", "derive": {"step": "\"merge\"", "merged": True, "lanes": 128, "items": 1},
                 "bindings": ["allPartials", "moments"], "dispatch": {"workgroups": 32}}
        last = {"id": "write", "shader": "streams.wgsl.jinja",
                "derive": {"step": "\"write\"", "merged": merged, "lanes": "tunables.LANES", "items": "tunables.LAST_ITEMS", "jobs": "words // (lanes * items)"},
                "bindings": ["sum", *(["allMoments"] if merged else []), "Y", {"name": "params", "struct": params}],
                "dispatch": {"workgroups": "words // (tunables.LANES * tunables.LAST_ITEMS)"}}
        scratch = [{"id": "partials", "dtype": "float32", "shape": [32, "entries", 4]}, {"id": "moments", "dtype": "float32", "shape": [32, 4]}]
        return {"id": "three" if merged else "two", "when": [f"tunables.DISPATCHES == {3 if merged else 2}",
                                                             "words % (tunables.LANES * tunables.ITEMS) == 0 and words % (tunables.LANES * tunables.LAST_ITEMS) == 0"],
                **({"intermediates": scratch} if merged else {}), "passes": [first, *([merge] if merged else []), last]}

    once = {"id": "once", "when": ["tunables.DISPATCHES == 1", "words % (tunables.LANES * tunables.SLABS) == 0 and tunables.WORKGROUPS % tunables.SLABS == 0",
                                    "tunables.SLABS == 1 or (columns % tunables.SLABS == 0 and tunables.LANES % slabColumns == 0)", "wordRows // tunables.WORKGROUPS >= tunables.KEEP * tunables.ITEMS + tunables.SHARED"],
            "intermediates": [{"id": "counter", "dtype": "uint32", "shape": [4]}],
            "passes": [{"id": "once", "shader": "streams-once.wgsl.jinja",
                        "derive": {"lanes": "tunables.LANES", "items": "tunables.ITEMS", "workgroups": "tunables.WORKGROUPS", "keep": "tunables.KEEP", "exchange": "tunables.EXCHANGE",
                                   "shared": "tunables.SHARED", "ahead": "tunables.AHEAD", "slabs": "tunables.SLABS"},
                        "bindings": ["X", "skip", "Y", "S", "counter",
                                     {"name": "params", "struct": [{"name": "rows", "type": "u32", "value": "wordRows // tunables.SLABS"}, {"name": "words", "type": "u32", "value": "words"}]}],
                        "dispatch": {"workgroups": "tunables.WORKGROUPS"}}]}
    return {"domain": "wgk", "name": "GroupNormStreams", "sinceVersion": 1,
            "inputs": {"X": {"onnx": "X", "dtype": "T", "rank": 4}, "gamma": {"onnx": "gamma", "dtype": "M", "rank": 1}, "beta": {"onnx": "beta", "dtype": "M", "rank": 1},
                       "skip": {"onnx": "skip", "dtype": "T", "rank": 4}, "bias": {"onnx": "bias", "dtype": "T", "rank": 1, "optional": True}},
            "outputs": {port: {"onnx": port, "dtype": "T", "rank": 4, "shape": "shapes.X"} for port in ("Y", "S")},
            "attributes": {"activation": {"default": 0}, "channels_last": {"default": 1}, "epsilon": {"default": 0.00001}, "groups": {"default": 32}},
            "typeConstraints": {"T": ["float32", "float16"], "M": ["float32", "float16"]},
            "tunables": {"DISPATCHES": {"default": 3, "description": "3: read, merge, write; 2: without the merge; 1: all in one dispatch"},
                         "LANES": {"default": 256, "description": "Lanes of a workgroup"},
                         "ITEMS": {"default": 16, "description": "16-byte words of S that a lane has in flight while it reads"},
                         "LAST_ITEMS": {"default": 2, "description": "The same where it writes Y"},
                         "WORKGROUPS": {"default": 264, "description": "Workgroups of the one dispatch"},
                         "KEEP": {"default": 1, "description": "How many times ITEMS words of S a lane of the one dispatch keeps in registers"},
                         "SLABS": {"default": 1, "description": "Parts of the channels, each of which has its own workgroups of the one dispatch"},
                         "SHARED": {"default": 0, "description": "Words that a lane of the one dispatch keeps in workgroup memory"},
                         "AHEAD": {"default": False, "description": "Whether a lane of the one dispatch loads its next ITEMS words while it stores these"},
                         "EXCHANGE": {"default": True, "description": "Whether the workgroups of the one dispatch wait for each other"}},
            "derive": {"tensorBytes": "numel(shapes.X) * (2 if dtypes.T == \"f16\" else 4)", "words": "tensorBytes // 16", "wordRows": "words // tunables.LANES",
                       "entries": "words // (tunables.LANES * tunables.ITEMS)", "columns": "words // max(1, shapes.X[0] * shapes.X[1] * shapes.X[2])",
                       "slabColumns": "columns // tunables.SLABS"},
            "when": ["sameShape(shapes.skip, shapes.X)", "words > 0 and tensorBytes % 16 == 0"],
            "bindings": {**{port: {"elementType": "vec4<u32>"} for port in ("X", "skip", "Y", "S")},
                         "sum": {"name": "S", "arg": "S", "buffer": "read-only-storage", "elementType": "vec4<u32>"},
                         "partials": {"scratch": "partials", "buffer": "storage", "elementType": "vec4<f32>"},
                         "allPartials": {"name": "partials", "scratch": "partials", "buffer": "read-only-storage", "elementType": "vec4<f32>"},
                         "moments": {"scratch": "moments", "buffer": "storage", "elementType": "vec4<f32>"},
                         "allMoments": {"name": "moments", "scratch": "moments", "buffer": "read-only-storage", "elementType": "vec4<f32>"},
                         "counter": {"scratch": "counter", "buffer": "storage", "elementType": "atomic<u32>"}},
            "variants": [several(True), several(False), once]}


def streams_case(name, pixels, channels, tunables):
    """Bits of X and of 0.0 or -0.0: values, some with their sign changed."""
    count = pixels * channels
    left = [(7 * i) % 61 - 30.5 for i in range(count)]
    signs = [-0.0 if i * i % 7 in (2, 4) else 0.0 for i in range(count)]
    result = values([-x if str(sign) == "-0.0" else x for x, sign in zip(left, signs)])
    tensor = {"dtype": "float32", "shape": [1, 1, pixels, channels]}
    vector = {"dtype": "float32", "shape": [channels], "data": {"kind": "const", "value": 1}}
    wanted = {**tensor, "data": result, "tolerance": {"abs": 0, "rel": 0}}
    return {"name": name, "attrs": {}, "tunables": tunables, "inputs": {"X": {**tensor, "data": values(left)}, "gamma": vector, "beta": vector, "skip": {**tensor, "data": values(signs)}},
            "outputs": {"Y": wanted, "S": wanted}}


def streams():
    package = "wgk.GroupNormStreams"
    write(package, "manifest.json", streams_manifest())
    write(package, "test.json", {"cases": [
        streams_case("three_dispatches", 32, 32, {"LANES": 32, "ITEMS": 4}), streams_case("two_dispatches", 32, 32, {"LANES": 64, "ITEMS": 1, "DISPATCHES": 2}),
        streams_case("one_dispatch", 32, 32, {"LANES": 16, "ITEMS": 2, "DISPATCHES": 1, "WORKGROUPS": 3}),
        streams_case("one_dispatch_no_exchange", 31, 32, {"LANES": 8, "ITEMS": 3, "KEEP": 2, "DISPATCHES": 1, "WORKGROUPS": 4, "EXCHANGE": False}),
        streams_case("one_dispatch_keeps_more", 64, 32, {"LANES": 16, "ITEMS": 2, "KEEP": 2, "SHARED": 3, "AHEAD": True, "DISPATCHES": 1, "WORKGROUPS": 3}),
        streams_case("one_dispatch_in_slabs", 64, 32, {"LANES": 16, "ITEMS": 1, "KEEP": 2, "SHARED": 1, "SLABS": 2, "DISPATCHES": 1, "WORKGROUPS": 6})]})
    write(package, "bench.json", {"cases": [
        {"name": f"{name}_{'f16' if dtype == 'float16' else 'f32'}", "attrs": {},
         "inputs": {"X": {"dtype": dtype, "shape": shape}, "gamma": {"dtype": "float32", "shape": shape[3:]}, "beta": {"dtype": "float32", "shape": shape[3:]},
                    "skip": {"dtype": dtype, "shape": shape}},
         "outputs": ["Y", "S"], "bytes": "4 * tensorBytes", "flops": "0", "tags": ["ceiling"]}
        for name, shape in (("2x128x128x320", [2, 128, 128, 320]), ("16x64x64x320", [16, 64, 64, 320]), ("1x512x512x256", [1, 512, 512, 256]),
                            ("1x1024x1024x128", [1, 1024, 1024, 128])) for dtype in ("float16", "float32")]})


def main():
    package = "wgk.MatrixProduct"
    write(package, "manifest.json", manifest(
        "MatrixProduct", ["left", "right"], ("product", ["shapes.leftT[0]", "shapes.rightT[1]"]), {}, "product.wgsl.jinja",
        {"leftRows": "shapes.leftT[0]", "depth": "shapes.leftT[1]", "rightColumns": "shapes.rightT[1]"},
        ["shapes.rightT[0] == depth", "leftRows > 0", "rightColumns > 0", "depth > 0", "leftRows % (8 * {m}) == 0", "rightColumns % (8 * {m}) == 0", "depth % 32 == 0",
         "(8 * {m} * 4) % lanes == 0"],
        {"x": "rightColumns // (8 * {m})", "y": "leftRows // (8 * {m})"}))
    write(package, "test.json", {"cases": [product_case("128x64x128", 128, 64, 128)]})
    write(package, "bench.json", {"cases": [
        {"name": f"product_{size}_f16", "attrs": {}, "inputs": {port: {"dtype": "float16", "shape": [size, size]} for port in ("leftT", "rightT")},
         "outputs": ["productT"], "bytes": str(8 * size * size), "flops": str(2 * size ** 3), "tags": ["ceiling"]} for size in (4096, 8192)]})
    package = "wgk.MatrixInstructions"
    write(package, "manifest.json", manifest(
        "MatrixInstructions", ["left", "right"], ("sum", ["attrs.copies * shapes.leftT[0]", "shapes.rightT[1]"]), {"repeats": 1, "copies": 4},
        "instructions.wgsl.jinja", {"repeats": "attrs.repeats", "copies": "attrs.copies", "subgroups": "4"},
        ["sameShape(shapes.leftT, [4 * {m}, {m}])", "sameShape(shapes.rightT, [{m}, 4 * {m}])", "copies % 4 == 0", "copies > 0"], {"x": "copies // 4"}))
    write(package, "test.json", {"cases": [instructions_case(f"fragments_{m}", m, 4, 3) for m in SIZES]})
    write(package, "bench.json", {"cases": [
        {"name": f"instructions_{m}_f16", "attrs": {"repeats": 8192, "copies": 1056},
         "inputs": {"leftT": {"dtype": "float16", "shape": [4 * m, m]}, "rightT": {"dtype": "float16", "shape": [m, 4 * m]}},
         "outputs": ["sumT"], "bytes": str(1056 * 64 * m * m), "flops": str(2 * m ** 3 * 16 * 8192 * 1056), "tags": ["ceiling"]} for m in SIZES]})

    streams()


if __name__ == "__main__":
    main()
    if STALE:
        sys.exit(f"not what benchmarks/ceilings/make.py writes: {', '.join(STALE)}")
