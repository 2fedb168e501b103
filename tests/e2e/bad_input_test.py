#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile packages, wrong requests, tensor files that are not what they say: one clear error, exit code 3, no output file."""

import json
import os
import struct
import unittest

from harness import INVALID, MANIFEST, REPOSITORY, SHADER, SUCCESS, USAGE, ProgramTest, floats, npy


class BadPackage(ProgramTest):
    PLAN = ("plan", "--case", "small", "--caps", "default")

    def assert_refused(self, *parts, command=PLAN):
        done = self.wgk(command[0], self.package, *command[1:])
        self.assert_fails(done, INVALID, *parts)
        if command == self.PLAN:
            self.assert_fails(self.wgk("run", self.package, "--case", "small", "--output", "y=y.npy"), INVALID)
            self.assertFalse((self.folder / "y.npy").exists())

    def write_manifest(self, **changes):
        self.write_package({**MANIFEST, **changes})

    def change_metadata(self, change):
        metadata = json.loads((self.build / "metadata.json").read_text())
        change(metadata)
        (self.build / "metadata.json").write_text(json.dumps(metadata))

    def test_digest_mismatch(self):
        (self.build / "double.wgsl.jinja").write_text("other")
        self.assert_refused("package/digest", "'double.wgsl.jinja' has the digest", "metadata.json lists")

    def test_missing_file(self):
        (self.build / "double.wgsl.jinja").unlink()
        self.assert_refused("'double.wgsl.jinja' is missing")

    def test_unlisted_file(self):
        (self.build / "extra.txt").write_text("")
        self.assert_refused("package/digest", "'extra.txt' is not listed")

    def test_truncated_files(self):
        text = (self.build / "manifest.json").read_text()
        (self.build / "manifest.json").write_text(text[: len(text) // 2])
        self.assert_refused("package/digest", "'manifest.json'")
        self.sign()
        self.assert_refused("package/json", "manifest.json")
        (self.build / "metadata.json").write_text("{")
        self.assert_refused("package/json", "metadata.json")

    def test_path_escape(self):
        def escape(metadata):
            metadata["digest"]["files"]["../../../secret"] = "x"

        self.change_metadata(escape)
        self.assert_refused("package/metadata", "'../../../secret' is not a plain relative path")

    def test_link_out_of_the_package(self):
        (self.folder / "secret").write_text("secret")
        (self.build / "double.wgsl.jinja").unlink()
        (self.build / "double.wgsl.jinja").symlink_to(self.folder / "secret")
        self.assert_refused("leads out of the package")

    def test_include_out_of_the_package(self):
        self.write_package(shader='{% include "../../../secret" %}')
        self.assert_refused("template/include", "secret")

    def test_deep_json(self):
        self.write_manifest(onnx=json.loads("[" * 200 + "]" * 200))
        self.assert_refused("package/json", "128")

    def test_duplicate_key(self):
        text = (self.build / "manifest.json").read_text()
        (self.build / "manifest.json").write_text(text[:-1] + ', "name": "Other"}')
        self.sign()
        self.assert_refused("package/json", "name")

    def test_endless_loop(self):
        self.write_package(shader="{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}")
        self.assert_refused("limit/steps", "double.wgsl.jinja")

    def test_endless_output(self):
        self.write_package(shader="{% for i in range(10000) %}" + "x" * 1000 + "{% endfor %}")
        self.assert_refused("limit/output")

    def test_endless_recursion(self):
        self.write_package(shader="{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
        self.assert_refused("limit/depth")

    def test_endless_passes(self):
        """Each within its limit, all of them together hours."""
        group = {"repeat": {"count": 65535, "index": "i"}, "passes": [{**MANIFEST["variants"][0]["passes"][0], "derive": {"k": "repeat.i"}}]}
        loop = "{% for i in range(1000) %}{% for j in range(400) %}{% endfor %}{% endfor %}// {{ k }}\n"
        self.write_package({**MANIFEST, "variants": [{"id": "plain", "passes": [group]}]}, loop + SHADER)
        self.assert_refused("limit/steps", "together", "double.wgsl.jinja")

    def test_one_text_in_many_templates(self):
        (self.build / "big.wgsl.jinja").write_text("// " + "x" * 4_000_000)
        for i in range(200):
            (self.build / f"t{i}.wgsl.jinja").write_text('{% include "big.wgsl.jinja" %}')
        self.sign()
        self.assert_refused("limit/output", "16777216 bytes together")

    def test_names_that_a_terminal_obeys_or_nobody_reads(self):
        self.write_manifest(**{"\x1b[2J\nerror[a/b]: x": 1})
        self.assert_refused("\\x1b[2J\n    error[a/b]: x", command=("info",))
        self.write_manifest(**{"a" * 5_000_000: 1})
        done = self.wgk("info", self.package)
        self.assertLess(len(done.err), 1000)
        self.write_manifest(variants=[{**MANIFEST["variants"][0], "when": ["0 * (1" + "+1" * 500_000 + ")"]}])
        self.assertLess(len(self.wgk("explain", self.package, *self.PLAN[1:]).err), 2000)

    def test_guards_that_a_terminal_obeys_or_that_are_cut(self):
        for shift in ("", "a"):
            clause = "attrs.factor == '" + shift + "\x1b[2J\x9b" + "\xe4" * 500 + "'"
            self.write_manifest(variants=[{**MANIFEST["variants"][0], "when": [clause]}])
            done = self.wgk("explain", self.package, *self.PLAN[1:])
            self.assertIn("\\x1b[2J\\xc2\\x9b\xe4\xe4", done.out)
            for text in (done.out, done.err):
                self.assertFalse(set(text) & {"\x1b", "\x9b"})
            done = self.wgk("explain", self.package, *self.PLAN[1:], "--json")
            self.assertIn(clause[:150], done.json()["variants"][0]["reason"])

    def test_unknown_key(self):
        self.write_manifest(atributes={})
        self.assert_refused("package/manifest", "atributes")

    def test_too_many_variants(self):
        family = {"cases": [{"k": i} for i in range(5000)], "variants": [{**MANIFEST["variants"][0], "id": "v{k}"}]}
        self.write_manifest(variants=[family])
        self.assert_refused("limit/count", "more than 4096 variants")

    def test_limits_are_the_callers(self):
        plan = ("plan", "--case", "small", "--caps", "default")
        self.assert_refused("limit/steps", command=(*plan, "--limit", "steps=1"))
        self.assert_refused("limit/output", "10 bytes", command=(*plan, "--limit", "output-bytes=10"))
        self.assert_refused("package/json", "nested deeper than 2 levels", command=(*plan, "--limit", "json-depth=2"))
        self.assert_refused("package/json", command=(*plan, "--limit", "json-bytes=20"))
        self.assert_refused("package/file", "the limit is 10", command=("info", "--limit=file-bytes=10"))
        self.assert_refused("limit/count", "more than 0 variants", command=("info", "--limit", "variants=0"))
        self.assert_refused("limit/count", command=("explain", *plan[1:], "--limit", "passes=0"))
        self.write_package(shader="{% for i in range(5000) %}// " + "x" * 1000 + "\n{% endfor %}" + SHADER)
        self.assert_refused("limit/output", "4194304 bytes")
        done = self.wgk(plan[0], self.package, *plan[1:], "--limit", "output-bytes=8000000", "--limit", "steps=100000")
        self.assertEqual((done.code, done.err), (0, ""))

    def test_limits_of_expressions(self):
        self.assertEqual(self.wgk("eval", "(" * 150 + "1" + ")" * 150, "--limit", "depth=200").out, "1\n")
        self.assert_fails(self.wgk("eval", "(" * 150 + "1" + ")" * 150), INVALID, "limit/depth", "100 levels")
        self.assert_fails(self.wgk("eval", "1 + 1", "--limit", "steps=1"), INVALID, "limit/steps")
        (self.folder / "t.jinja").write_text("x" * 100)
        self.assert_fails(self.wgk("render", "--template", "t.jinja", "--limit", "output-bytes=10"), INVALID, "limit/output")

    def test_limits_that_make_no_sense(self):
        for text, *parts in [
            ("step=1", "there is no limit 'step'", "did you mean 'steps'?", "json-depth"),
            ("steps", "the limit 'steps' is ''", "a whole number"),
            ("steps=-1", "the limit 'steps' is '-1'"),
            ("steps=1e3", "the limit 'steps' is '1e3'"),
            ("depth=1000", "at most 250"),
        ]:
            self.assert_fails(self.wgk("info", self.package, "--limit", text), USAGE, "usage/arguments", *parts)
        self.assertIn("output-bytes", self.wgk("plan", "-h").out)

    def test_rule_that_gives_nonsense(self):
        self.write_manifest(outputs={"y": {"dtype": "T", "shape": ["0 - 1"]}})
        self.assert_refused("-1")

    def test_broken_test_file(self):
        self.write_package(tests={"cases": [{"name": "small", "inputs": {"x": {"dtype": "float32", "shape": [2], "data": {"kind": "values", "values": [1]}}}, "outputs": {}}]})
        self.assert_refused("package/cases", "has 1 values; the shape (2) needs 2")

    def test_pipe(self):
        os.mkfifo(self.build / "pipe")
        self.assert_refused("'pipe' is neither a file nor a folder")


class BadRequest(ProgramTest):
    def assert_refused(self, arguments, *parts, code=INVALID):
        done = self.wgk("plan", self.package, "--caps", "default", *arguments)
        self.assert_fails(done, code, *parts)

    def test_ports(self):
        self.assert_refused([], "request/missing", "'x'")
        done = self.wgk("plan", self.package, "--caps", "default", "--input", "x=float32:2", "--input", "z=float32:2")
        self.assert_fails(done, INVALID, "request/unknown", "'z'", "x")
        self.assert_refused(["--input", "x=float32:2", "--output", "z"], "request/unknown", "'z'")

    def test_types(self):
        self.assert_refused(["--input", "x=int32:2"], "request/dtype", "int32", "float32")

    def test_attributes(self):
        self.assert_refused(["--input", "x=float32:2", "--attr", "facto=1"], "request/unknown", "'facto'", "did you mean 'factor'?")
        self.assert_refused(["--input", "x=float32:2", "--arg", "a=1"], "request/unknown", "'a'")
        self.assert_refused(["--input", "x=float32:2", "--tunable", "T=1"], "request/unknown", "'T'")

    def test_huge_shape(self):
        self.assert_refused(["--input", "x=float32:1000000000000,1000000000000"], "limit/")
        self.assert_refused(["--input", "x=float32:1000000000"], "limit/buffer", "4000000000")

    def test_all_violations_at_once(self):
        done = self.wgk("plan", self.package, "--caps", "default", "--input", "z=float32:2", "--attr", "q=1")
        self.assertEqual(done.code, INVALID)
        self.assertEqual(done.err.count("error["), 3, done.err)

    def test_descriptions(self):
        self.assert_refused(["--input", "x=float32:2,x"], "usage/arguments", "'x'", code=USAGE)
        self.assert_refused(["--input", "x"], "usage/arguments", "name=value", code=USAGE)

    def test_request_files(self):
        for text, *parts in [
            ("{", "package/json"),
            ('{"input": {}}', "input"),
            ('{"inputs": {"x": {"dtype": "float64", "shape": [1]}}}', "error[package/cases]: inputs.x.dtype: 'float64'"),
            ('{"inputs": {"x": {"dtype": "float32", "shape": [2, -1]}}}', "error[package/cases]: inputs.x.shape[1]: expected an integer", "got -1"),
            ('{"inputs": {"x": {"file": "nosuch.npy"}}}', "nosuch.npy"),
        ]:
            with self.subTest(text):
                (self.folder / "request.json").write_text(text)
                self.assert_refused(["--request", "request.json"], *parts)


class TensorBeyondABinding(ProgramTest):
    """SkipGroupNorm on a device with WebGPU's least limits: 128 MiB in one binding."""

    LIMIT = 128 << 20

    def plan(self, dtype, shape, channels_last, skip=None):
        channels = shape[3] if channels_last else shape[1]
        tensors = {"X": (dtype, shape), "skip": (dtype, skip or shape), "gamma": ("float32", [channels]), "beta": ("float32", [channels])}
        inputs = [part for name, (kind, dims) in tensors.items() for part in ("--input", f"{name}={kind}:{','.join(map(str, dims))}")]
        attributes = ["--attr", "groups=2", "--attr", "activation=0", "--attr", f"channels_last={int(channels_last)}"]
        return self.wgk("plan", str(REPOSITORY / "kernels" / "com.microsoft.SkipGroupNorm"), "--caps", "default", *inputs, *attributes)

    def test_names_limit_and_need(self):
        for dtype, shape, channels_last, skip, need in [
            ("float32", [1, 4096, 2049, 4], True, None, 4096 * 2049 * 16),
            ("float32", [1, 4, 4096, 4096], False, [1, 4], 2 * self.LIMIT),
            ("float16", [2, 4096, 4096, 4], True, [2, 1, 1, 4], 2 * self.LIMIT),
        ]:
            with self.subTest(dtype=dtype, shape=shape):
                done = self.plan(dtype, shape, channels_last, skip)
                self.assert_fails(done, INVALID, "request/shape", f"needs {need} bytes", f"at most {self.LIMIT} bytes", "maxStorageBufferBindingSize")

    def test_takes_what_just_fits(self):
        for dtype, shape, channels_last in [("float32", [1, 4096, 2048, 4], True), ("float16", [1, 4, 4096, 4096], False)]:
            with self.subTest(dtype=dtype, shape=shape):
                done = self.plan(dtype, shape, channels_last)
                self.assertEqual(done.code, SUCCESS, done.err)


class CacheBeyondABinding(ProgramTest):
    """SparseAttention on the same device: a cache is one binding."""

    LIMIT = 128 << 20

    def plan(self, capacity):
        tensors = {"queryT": "float16:1,1,4096", "keyT": "float16:1,1,1024", "valueT": "float16:1,1,1024",
                   "pastKeyT": f"float16:1,8,{capacity},128", "pastValueT": f"float16:1,8,{capacity},128", "blockRowIndicesT": "int32:8,1025",
                   "blockColIndicesT": "int32:8,4096", "totalSequenceLengthT": "int32:1", "keyTotalSequenceLengthsT": "int32:1"}
        inputs = [part for name, form in tensors.items() for part in ("--input", f"{name}={form}")]
        attributes = ["--attr", "num_heads=32", "--attr", "kv_num_heads=8", "--attr", "sparse_block_size=64"]
        return self.wgk("plan", str(REPOSITORY / "kernels" / "com.microsoft.SparseAttention"), "--caps", "default", *inputs, *attributes)

    def test_names_limit_and_need(self):
        done = self.plan(65537)
        self.assert_fails(done, INVALID, "limit/buffer", "past_key", f"{65537 * 2048} bytes", f"at most {self.LIMIT} bytes")

    def test_takes_what_just_fits(self):
        done = self.plan(65536)
        self.assertEqual(done.code, SUCCESS, done.err)


class BadTensorFile(ProgramTest):
    GOOD = npy("<f4", (2,), floats(1, 2))

    def assert_refused(self, name, data, *parts):
        (self.folder / name).write_bytes(data)
        key = ":w" if name.endswith(".safetensors") else ""
        for command in ("plan", "run"):
            caps = ["--caps", "default"] if command == "plan" else ["--output", "y=y.npy"]
            done = self.wgk(command, self.package, "--input", f"x={name}{key}", *caps)
            self.assert_fails(done, INVALID, *parts)
        self.assertFalse((self.folder / "y.npy").exists())

    def test_npy(self):
        self.assert_refused("a.npy", b"text", "io/format", "a.npy")
        self.assert_refused("a.npy", self.GOOD[:-1], "io/format", "needs 8 bytes of data, got 7")
        self.assert_refused("a.npy", self.GOOD + b"x", "io/format", "needs 8 bytes of data, got 9")
        self.assert_refused("a.npy", self.GOOD[:20], "io/format")
        self.assert_refused("a.npy", npy("<f8", (1,), b"\0" * 8), "io/format", "float64")
        self.assert_refused("a.npy", npy("<f4", (1 << 62, 4), b""), "io/format", "too large")
        self.assert_refused("a.npy", npy("|O", (1,), b""), "io/format", "|O")

    def test_safetensors(self):
        header = b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
        file = struct.pack("<Q", len(header)) + header
        self.assert_refused("a.safetensors", file + b"1234", "data_offsets")
        self.assert_refused("a.safetensors", struct.pack("<Q", 1 << 60), "io/format")
        self.assert_refused("a.safetensors", file.replace(b'"w"', b'"v"') + b"12345678", "io/format", "'w'")

    def test_other_files(self):
        self.assert_refused("a.txt", b"1 2 3", "io/format", ".npy")
        done = self.wgk("plan", self.package, "--caps", "default", "--input", "x=nosuch.npy")
        self.assert_fails(done, INVALID, "io/read", "nosuch.npy")
        done = self.wgk("plan", self.package, "--caps", "default", "--input", f"x={self.folder}/.npy")
        self.assertEqual(done.code, INVALID)

    def test_dtype_of_the_port(self):
        (self.folder / "i.npy").write_bytes(npy("<i4", (2,), b"\0" * 8))
        done = self.wgk("run", self.package, "--input", "x=i.npy", "--output", "y=y.npy")
        self.assert_fails(done, INVALID, "request/dtype", "int32", "float32")
        self.assertFalse((self.folder / "y.npy").exists())


if __name__ == "__main__":
    unittest.main()
