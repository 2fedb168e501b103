#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seed inputs of the fuzz targets, taken from tests/interop and kernels/, to FOLDER/<target>/.

usage: seeds.py FOLDER
"""

import hashlib
import json
import pathlib
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]


def write(folder, target, text):
    data = text.encode("utf-8")
    path = folder / target
    path.mkdir(parents=True, exist_ok=True)
    (path / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    for case in read(REPO / "tests/interop/expressions.json")["cases"]:
        write(folder, "expression_fuzz", case["expr"])
    for case in read(REPO / "tests/interop/templates.json")["cases"]:
        write(folder, "template_fuzz", case["source"])
    for root in (REPO / "tests/interop/packages", REPO / "kernels"):
        for path in sorted(root.rglob("*.jinja")):
            text = path.read_text(encoding="utf-8")
            if len(text) < 8000:
                write(folder, "template_fuzz", text)
        for path in sorted(root.rglob("*.json")):
            text = path.read_text(encoding="utf-8")
            if len(text) < 8000:
                write(folder, "manifest_fuzz", text)
    for path in sorted((REPO / "tests/interop/expectations").glob("test.*.json")):
        write_plans(folder, read(path))
    return 0


def write_plans(folder, expectations, most=3):
    """The first requests of a package, each with the package and the device profile it was recorded on."""
    package = REPO / "tests/interop/packages" / expectations["package"] / "build/webgpu"
    profile, results = next(iter(expectations["results"].items()))
    case = {
        "manifest": read(package / "manifest.json"),
        "templates": {p.name: p.read_text(encoding="utf-8") for p in sorted(package.glob("*.jinja"))},
        "device": read(REPO / "tests/interop/profiles.json")[profile]["device"],
    }
    for request in [r for r in expectations["requests"] if r["id"] in results][:most]:
        case["request"] = {key: request[key] for key in ("inputs", "outputs", "attrs", "args") if key in request}
        text = json.dumps(case, separators=(",", ":"))
        if len(text) < 16000:
            write(folder, "planner_fuzz", text)


if __name__ == "__main__":
    sys.exit(main())
