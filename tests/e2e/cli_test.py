#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Output and exit code of every command that needs no device."""

import json
import re
import shlex
import unittest

from harness import FAILED, INTEROP, INVALID, MANIFEST, NO_DEVICE, REPOSITORY, SHADER, SUCCESS, USAGE, ProgramTest, floats, npy

COMMANDS = ["bench", "card", "check", "devices", "digest", "env", "eval", "explain", "info", "plan", "render", "run", "test"]


class Help(ProgramTest):
    def test_every_command_has_two_examples(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = self.wgk(command, "-h")
                self.assertEqual(done.code, SUCCESS)
                self.assertEqual(len(re.findall(r"^ +wgk " + command + r"\b", done.out, re.M)), 2, done.out)
                self.assertIn("--json", done.out)

    def test_examples_work_as_they_stand(self):
        for command in ("plan", "explain", "render", "info", "eval", "check"):
            with self.subTest(command):
                text = self.wgk(command, "-h").out
                example = re.search(r"^ +wgk (" + command + r"\b.*)$", text, re.M).group(1)
                done = self.wgk(*shlex.split(example), cwd=REPOSITORY)
                self.assertEqual((done.code, done.err), (SUCCESS, ""), example)
                self.assertNotEqual(done.out, "")

    def test_program(self):
        done = self.wgk("-h")
        self.assertEqual(done.code, SUCCESS)
        for command in COMMANDS:
            self.assertRegex(done.out, rf"\n  {command} ")
        self.assertRegex(self.wgk("--version").out, r"^wgkernels \d+\.\d+\.\d+\n$")

    def test_usage(self):
        self.assert_fails(self.wgk(), USAGE, "usage/arguments")
        self.assert_fails(self.wgk("nosuch"), USAGE, "usage/arguments")
        self.assert_fails(self.wgk("info"), USAGE, "PKG")
        self.assert_fails(self.wgk("info", self.package, "--nosuch"), USAGE, "--nosuch")
        self.assert_fails(self.wgk("plan", self.package, "--attr", "factor", "--caps", "default"), USAGE, "name=value")


class Eval(ProgramTest):
    def test_prints_values(self):
        for text, shown in [
            ("8 / 2", "4.0"),
            ("8 // 2", "4"),
            ("[8 / 2, 2 * 10 ** 21, 0 - 0]", "[4, 2e+21, 0]"),
            ("1 / 3", "0.3333333333333333"),
            ("'a' ~ 1", "a1"),
            ("[1, 'x', none]", '[1, "x", null]'),
            ("'a\\nb'", "a\nb"),
            ("none", "null"),
            ("{'a': 1}.b", "undefined"),
            ("1 / 0", "Infinity"),
            ("DISPATCH_FOLD_WIDTH", "65535"),
            ("f16Ok('f16')", "false"),
        ]:
            with self.subTest(text):
                done = self.wgk("eval", text)
                self.assertEqual((done.out, done.err, done.code), (shown + "\n", "", SUCCESS))

    def test_context(self):
        context = self.folder / "names.json"
        context.write_text(json.dumps({"shapes": {"x": [2, 3]}, "n": 4, "device": {"features": ["shader-f16"]}}))
        self.assertEqual(self.wgk("eval", "numel(shapes.x) * n", "--context", context).out, "24\n")
        self.assertEqual(self.wgk("eval", "f16Ok('f16')", "--context", context).out, "true\n")
        self.assertEqual(self.wgk("eval", "n", "--context", context, "--json").json(), {"kind": "number", "value": 4, "text": "4"})
        self.assertEqual(self.wgk("eval", "n / 2", "--context", context, "--json").json(), {"kind": "number", "value": 2, "text": "2.0"})

    def test_errors(self):
        self.assert_fails(self.wgk("eval", "nosuch + 1"), INVALID, "expression/unknown-name", "'nosuch'")
        self.assert_fails(self.wgk("eval", "1 +"), INVALID, "expression/syntax")
        self.assert_fails(self.wgk("eval", "range(3)"), INVALID, "expression/unknown-name", "'range'")
        self.assert_fails(self.wgk("eval", "ceilDiv"), INVALID, "a function cannot be printed")
        self.assert_fails(self.wgk("eval", "1", "--context", "nosuch.json"), INVALID, "io/read", "nosuch.json")

    def test_context_that_hides_the_engine(self):
        for name in ("range", "namespace", "raise_exception", "true", "none"):
            (self.folder / "names.json").write_text(json.dumps({name: 1}))
            (self.folder / "a.jinja").write_text("a")
            for command in (["eval", "1"], ["render", "--template", "a.jinja"]):
                self.assert_fails(self.wgk(*command, "--context", "names.json"), INVALID, f"gives '{name}', which is a name of the engine", "names.json")


class Render(ProgramTest):
    def test_template_alone(self):
        (self.folder / "a.wgsl.jinja").write_text('{% include "b.wgsl" %}{% for i in range(n) %}{{ i / 1 }};{% endfor %}\n')
        (self.folder / "b.wgsl").write_text("// b ")
        (self.folder / "names.json").write_text('{"n": 2}')
        done = self.wgk("render", "--template", "a.wgsl.jinja", "--context", "names.json")
        self.assertEqual((done.out, done.code), ("// b 0.0;1.0;", SUCCESS))
        done = self.wgk("render", "--template", "a.wgsl.jinja", "--context", "names.json", "--json")
        self.assertEqual((done.json(), done.code), ({"text": "// b 0.0;1.0;"}, SUCCESS))

    def test_call(self):
        done = self.wgk("render", self.package, "--case", "small", "--caps", "default")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertIn("// test.e2e.Double.plain.pass_0: double.wgsl.jinja\n", done.out)
        self.assertIn("y[id.x] = 2.0 * x[id.x];", done.out)
        done = self.wgk("render", self.package, "--case", "small", "--caps", "default", "--json", "--attr", "factor=3")
        self.assertIn("y[id.x] = 3.0 * x[id.x];", done.json()[0]["wgsl"])

    def test_errors(self):
        self.assert_fails(self.wgk("render"), USAGE, "--template")
        done = self.wgk("render", self.package, "--case", "small", "--caps", "default", "--pass", "nosuch")
        self.assert_fails(done, INVALID, "'nosuch'")
        (self.folder / "a.jinja").write_text("{% if %}")
        self.assert_fails(self.wgk("render", "--template", "a.jinja"), INVALID, "template/syntax")


class Info(ProgramTest):
    def test_text_and_json(self):
        done = self.wgk("info", self.package)
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertIn("operator\ttest.e2e.Double\n", done.out)
        self.assertIn("x\tX\tinput\tT\trequired\n", done.out)
        data = self.wgk("info", self.package, "--json").json()
        self.assertEqual([port["name"] for port in data["ports"]], ["x", "y"])
        self.assertEqual(data["variants"][0]["passes"], [{"id": "pass_0", "shader": "double.wgsl.jinja"}])

    def test_missing(self):
        self.assert_fails(self.wgk("info", "nosuch"), INVALID, "store/not-found", "nosuch")
        self.assert_fails(self.wgk("info", self.folder), INVALID, "store/not-found")


class Plan(ProgramTest):
    def test_forms_of_a_request(self):
        (self.folder / "x.npy").write_bytes(npy("<f4", (2, 3), floats(1, 2, 3, 4, 5, 6)))
        (self.folder / "request.json").write_text(json.dumps({"inputs": {"X": {"dtype": "float32", "shape": [2, 3]}}, "outputs": ["Y"]}))
        plans = [
            self.wgk("plan", self.package, *arguments, "--caps", "default", "--json").json()
            for arguments in (
                ["--case", "small"],
                ["--request", "request.json"],
                ["--input", "x=x.npy"],
                ["--input", "X=float32:2,3", "--output", "y"],
            )
        ]
        self.assertEqual(plans[0]["variant"], "plain")
        for plan in plans[1:]:
            self.assertEqual(plan, plans[0])

    def test_text(self):
        done = self.wgk("plan", self.package, "--input", "x=float32:1000", "--caps", "default")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertIn("variant\tplain\n", done.out)
        self.assertIn("pass_0\tdouble.wgsl.jinja\t16 x 1 x 1\tx y\n", done.out)

    def test_unknown_dtype(self):
        done = self.wgk("plan", self.package, "--input", "x=float64:2,3", "--caps", "default")
        self.assert_fails(done, USAGE, "usage/arguments", "'float64' is no element type", "float32, float16, int8")
        done = self.wgk("plan", self.package, "--input", "x=flaot32:2,3", "--caps", "default")
        self.assert_fails(done, USAGE, "did you mean 'float32'?")
        done = self.wgk("plan", self.package, "--input", "x=model.bin:2", "--caps", "default")
        self.assert_fails(done, INVALID, "io/format", "neither a .npy file")

    def test_unknown_case(self):
        done = self.wgk("plan", self.package, "--case", "smal", "--caps", "default")
        self.assert_fails(done, INVALID, "request/unknown", "'smal'", "did you mean 'small'?")

    def test_no_variant(self):
        self.write_package({**MANIFEST, "requires": {"features": ["shader-f16"]}})
        done = self.wgk("plan", self.package, "--case", "small", "--caps", "default")
        self.assert_fails(done, NO_DEVICE, "select/none", "shader-f16")

    def test_caps_file(self):
        (self.folder / "caps.json").write_text('{"features": 3}')
        self.assert_fails(self.wgk("plan", self.package, "--case", "small", "--caps", "caps.json"), INVALID, "caps.json")


class Explain(ProgramTest):
    def test_reasons(self):
        manifest = json.loads(json.dumps(MANIFEST))
        picky = json.loads(json.dumps(manifest["variants"][0]))
        picky.update(id="picky", priority=1, when=["numel(shapes.x) % 4 == 0"])
        manifest["variants"].append(picky)
        self.write_package(manifest)
        metadata = json.loads((self.build / "metadata.json").read_text())
        metadata["webgpu"]["variants"]["picky"] = ["double.wgsl.jinja"]
        (self.build / "metadata.json").write_text(json.dumps(metadata))
        done = self.wgk("explain", self.package, "--case", "small", "--caps", "default")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertRegex(done.out, r"picky\t1\twhen\t.*numel\(shapes\.x\) % 4.*2")
        self.assertIn("plain\t0\tselected\t", done.out)
        decisions = self.wgk("explain", self.package, "--case", "small", "--caps", "default", "--json").json()["variants"]
        self.assertEqual([decision["verdict"] for decision in decisions], ["selected", "when"])

    def test_of_a_wrong_request_it_says_what_is_wrong_only(self):
        done = self.wgk("explain", self.package, "--input", "x=int32:2", "--caps", "default")
        self.assert_fails(done, INVALID, "request/dtype", "int32", "float32")

    def test_of_a_device_that_cannot_it_says_why(self):
        self.write_package({**MANIFEST, "requires": {"features": ["shader-f16"]}})
        done = self.wgk("explain", self.package, "--case", "small", "--caps", "default")
        self.assertEqual(done.code, NO_DEVICE)
        self.assertRegex(done.out, r"plain\t0\trequires\t.*shader-f16")

    def test_forced_variant(self):
        done = self.wgk("plan", self.package, "--case", "small", "--caps", "default", "--variant", "nosuch")
        self.assert_fails(done, INVALID, "request/variant", "'nosuch'")


class Check(ProgramTest):
    def test_good(self):
        done = self.wgk("check", self.package, *sorted(INTEROP.glob("*.Base")))
        self.assertEqual((done.code, done.err), (SUCCESS, ""))
        self.assertEqual(done.out.count(": ok\n"), 2)

    def test_problems_of_a_package_that_loads(self):
        self.write_package(shader=SHADER + "{{ nosuch }}")
        done = self.wgk("check", self.package)
        self.assertEqual(done.code, FAILED)
        self.assertIn("reads the name 'nosuch'", done.err)
        self.assertIn(": 1 problem\n", done.out)
        tests = {"cases": [{"name": "c", "inputs": {"x": {"dtype": "float32", "shape": [1], "data": {"kind": "const", "value": 0}}}, "error": True}]}
        self.write_package(tests=tests)
        done = self.wgk("check", self.package, "--json")
        self.assertEqual(done.code, FAILED)
        self.assertIn("can be planned", done.json()[0]["problems"][0]["message"])

    def test_eight_storage_buffers_suffice(self):
        for count, code in [(7, SUCCESS), (8, FAILED), (9, FAILED), (10, SUCCESS)]:
            with self.subTest(count):
                ports = [f"x{i}" for i in range(count)]
                plain = MANIFEST["variants"][0]["passes"][0]
                variants = [{"id": "plain", "passes": [{**plain, "bindings": [*ports, "y"], "dispatch": {"x": 1}}]}]
                manifest = {**MANIFEST, "inputs": {port: {"dtype": "T"} for port in ports}, "outputs": {"y": {"dtype": "T", "shape": "shapes.x0"}}, "variants": variants}
                tensor = {"dtype": "float32", "shape": [2], "data": {"kind": "const", "value": 1}}
                inputs = {port: tensor for port in ports}
                self.write_package(manifest, "{{ env.wgsl.resourceDeclarations }}", {"cases": [{"name": "many", "inputs": inputs, "outputs": {"y": {"shape": [2]}}}]})
                (self.build / "bench.json").write_text(json.dumps({"cases": [{"name": "b", "inputs": inputs, "outputs": ["y"], "bytes": 8, "flops": 4}]}))
                self.sign()
                done = self.wgk("check", self.package)
                self.assertEqual(done.code, code, done.err)
                for kind in ["test case 'many'", "benchmark case 'b'"] if code else []:
                    self.assertIn(f"{kind} can be planned with 10 storage buffers per shader stage, but not with the 8", done.err)

    def test_contract_is_evaluated_on_the_cases(self):
        for rule, message in [
            ({"require": "shapes.x[0] + 'a' > 1", "message": "m"}, "package/contract"),
            ({"require": "ranks.x == 2", "message": "{{ nosuch }}"}, "rule 'r' uses the name 'nosuch'"),
        ]:
            contract = {"contract": 1, "rules": [{"id": "r", "code": "request/rank", **rule}]}
            (self.build / "contract.json").write_text(json.dumps(contract))
            self.sign()
            self.assertEqual(self.wgk("card", self.package).code, SUCCESS)
            done = self.wgk("check", self.package)
            self.assertEqual(done.code, FAILED)
            self.assertIn(message, done.err)

    def test_benchmark_cases_are_evaluated(self):
        good = {"name": "b", "inputs": {"x": {"dtype": "float32", "shape": [8]}}, "outputs": ["y"], "bytes": "8 * numel(shapes.x)", "flops": 4}
        for changes, code, message in [
            ({}, None, ""),
            ({"bytes": "8 * numel(shapes.z)"}, None, "bytes of the benchmark case 'b'"),
            ({"bytes": "nosuch"}, "expression/unknown-name", "bytes of the benchmark case 'b'"),
            ({"flops": "1 / 0"}, "package/cases", "flops of the benchmark case 'b' must be a finite number"),
            ({"flops": "'many'"}, "package/cases", "flops of the benchmark case 'b' must be a finite number"),
            ({"inputs": {"x": {"dtype": "int32", "shape": [8]}}}, "request/dtype", "planning the benchmark case 'b'"),
            ({"outputs": ["z"]}, "request/unknown", "planning the benchmark case 'b'"),
        ]:
            with self.subTest(changes):
                (self.build / "bench.json").write_text(json.dumps({"cases": [{**good, **changes}]}))
                self.sign()
                done = self.wgk("check", self.package)
                self.assertEqual(done.code, FAILED if message else SUCCESS, done.err)
                self.assertIn(message, done.err)
                if code:
                    self.assertIn(f"error[{code}]", done.err)

    def test_packages_that_do_not_load(self):
        (self.build / "double.wgsl.jinja").write_text("changed")
        done = self.wgk("check", self.package)
        self.assertEqual(done.code, INVALID)
        self.assertIn("package/digest", done.err)


class Digest(ProgramTest):
    def test_writes_and_checks(self):
        (self.build / "double.wgsl.jinja").write_text(SHADER + "// more\n")
        self.assertEqual(self.wgk("digest", "--check", self.package).code, FAILED)
        done = self.wgk("digest", self.package)
        self.assertEqual((done.code, done.out), (SUCCESS, f"{self.package}: written\n"))
        self.assertEqual(self.wgk("digest", "--check", "--json", self.package).json()[0]["state"], "up to date")
        self.assertEqual(self.wgk("info", self.package).code, SUCCESS)

    def test_errors(self):
        self.assert_fails(self.wgk("digest", "nosuch"), INVALID, "store/not-found", "nosuch")
        (self.build / "manifest.json").write_text("{")
        self.assert_fails(self.wgk("digest", self.package), INVALID, "package/json", "manifest.json")


class Card(ProgramTest):
    def test_writes_and_checks(self):
        self.assertEqual(self.wgk("card", "--check", self.package).code, FAILED)
        self.assertEqual(self.wgk("card", self.package).code, SUCCESS)
        self.assertEqual(self.wgk("card", "--check", self.package).code, SUCCESS)
        card = (self.package / "README.md").read_text()
        self.assertIn("# test.e2e.Double\n", card)
        self.assertEqual(self.wgk("card", "--print", self.package).out, card)
        done = self.wgk("card", "--check", "--json", self.package)
        self.assertEqual(done.json(), {"file": str(self.package / "README.md"), "state": "up to date"})
        (self.package / "README.md").write_text("other")
        done = self.wgk("card", "--check", "--json", self.package)
        self.assertEqual((done.code, done.json()["state"]), (FAILED, "stale"))
        self.assertEqual((self.package / "README.md").read_text(), "other")

    def test_errors(self):
        self.assert_fails(self.wgk("card", "nosuch"), INVALID, "store/not-found", "nosuch")


class Env(ProgramTest):
    def test_text_and_json(self):
        done = self.wgk("env")
        self.assertEqual((done.code, done.err), (SUCCESS, ""))
        self.assertIn("wgkernels\t", done.out)
        done = self.wgk("env", "--json")
        self.assertEqual(done.code, SUCCESS)
        self.assertIn("WGK_ADAPTER", done.json())


if __name__ == "__main__":
    unittest.main()
