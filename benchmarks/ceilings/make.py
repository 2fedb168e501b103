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


if __name__ == "__main__":
    main()
    if STALE:
        sys.exit(f"not what benchmarks/ceilings/make.py writes: {', '.join(STALE)}")
