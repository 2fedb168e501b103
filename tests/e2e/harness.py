# SPDX-License-Identifier: Apache-2.0
"""Runs the program as a user does: a process, its output, its exit code."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("WGK_PROGRAM", str(REPOSITORY / "build" / "dev" / "bin" / "wgk"))
INTEROP = REPOSITORY / "tests" / "interop" / "packages"

SUCCESS, FAILED, USAGE, INVALID, NO_DEVICE = 0, 1, 2, 3, 4

MANIFEST = {
    "domain": "test.e2e",
    "name": "Double",
    "inputs": {"x": {"onnx": "X", "dtype": "T"}},
    "outputs": {"y": {"onnx": "Y", "dtype": "T", "shape": "shapes.x"}},
    "typeConstraints": {"T": ["float32"]},
    "attributes": {"factor": {"default": 2}},
    "variants": [
        {
            "id": "plain",
            "passes": [
                {
                    "shader": "double.wgsl.jinja",
                    "bindings": ["x", "y"],
                    "dispatch": {"threads": "numel(shapes.x)", "workgroupSize": 64},
                }
            ],
        }
    ],
}

SHADER = """{{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < {{ numel(shapes.x) }}u) {
    y[id.x] = {{ attrs.factor }}.0 * x[id.x];
  }
}
"""

TESTS = {
    "cases": [
        {
            "name": "small",
            "inputs": {"x": {"dtype": "float32", "shape": [2, 3], "data": {"kind": "linear", "start": 1, "step": 1}}},
            "outputs": {"y": {"shape": [2, 3], "data": {"kind": "linear", "start": 2, "step": 2}}},
        },
        {
            "name": "refused",
            "inputs": {"x": {"dtype": "int32", "shape": [2], "data": {"kind": "const", "value": 1}}},
            "error": "request/dtype",
        },
    ]
}


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


class Done:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        return json.loads(self.out)


class ProgramTest(unittest.TestCase):
    """A folder of its own, with a package that doubles numbers."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wgk_e2e_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.package = self.folder / "test.e2e.Double"
        self.build = self.package / "build" / "webgpu"
        self.build.mkdir(parents=True)
        self.write_package()

    def wgk(self, *arguments, cwd=None, **environment):
        command = [PROGRAM, *map(str, arguments)]
        return Done(
            subprocess.run(
                command, cwd=cwd or self.folder, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
            )
        )

    def write_package(self, manifest=None, shader=SHADER, tests=None):
        (self.build / "manifest.json").write_text(json.dumps(manifest or MANIFEST))
        (self.build / "double.wgsl.jinja").write_text(shader)
        (self.build / "test.json").write_text(json.dumps(tests or TESTS))
        self.sign()

    def sign(self):
        """metadata.json for what stands there now, also where `wgk digest` would refuse it."""
        import base64
        import hashlib

        digests = {
            str(path.relative_to(self.build)): base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
            for path in sorted(self.build.rglob("*"))
            if path.is_file() and path.name != "metadata.json"
        }
        metadata = {
            "name": "test.e2e.Double",
            "id": "_test_e2e_double_webgpu_0000000",
            "version": 1,
            "license": "apache-2.0",
            "backend": {"type": "webgpu"},
            "digest": {"algorithm": "sha256", "files": digests},
            "webgpu": {"manifestSpec": "2.1", "variants": {"plain": ["double.wgsl.jinja"]}},
        }
        (self.build / "metadata.json").write_text(json.dumps(metadata))

    def assert_fails(self, done, code, *parts):
        """One error, with all the parts, and nothing on stdout."""
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(sum(line.startswith("error[") for line in done.err.splitlines()), 1, done.err)
        self.assertEqual(done.out, "")
        for part in parts:
            self.assertIn(part, done.err)
