#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that use a device: devices, run, test, bench."""

import json
import os
import re
import shutil
import struct
import subprocess
import unittest

from harness import FAILED, INVALID, NO_DEVICE, PROGRAM, REPOSITORY, SHADER, SUCCESS, TESTS, USAGE, ProgramTest, floats, npy


class Devices(ProgramTest):
    def test_lists(self):
        done = self.wgk("devices")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertTrue(done.out.startswith("INDEX\tNAME\tBACKEND\tTYPE\tDRIVER\n0\t"), done.out)
        first = self.wgk("devices", "--json").json()[0]
        self.assertEqual(first["index"], 0)

    def test_caps_can_be_used_for_planning(self):
        done = self.wgk("devices", "--caps", "0")
        self.assertEqual(done.code, SUCCESS, done.err)
        (self.folder / "caps.json").write_text(done.out)
        plan = self.wgk("plan", self.package, "--case", "small", "--caps", "caps.json", "--json")
        self.assertEqual(plan.json(), self.wgk("plan", self.package, "--case", "small", "--json").json())

    def test_unknown_device(self):
        self.assert_fails(self.wgk("devices", "--caps", "no such device"), NO_DEVICE, "device/none", "no such device")
        self.assert_fails(self.wgk("devices", "--backend", "nosuch"), NO_DEVICE, "device/none", "nosuch")
        for command in (["run", "--case", "small"], ["test"], ["plan", "--case", "small"]):
            with self.subTest(command[0]):
                done = self.wgk(command[0], self.package, *command[1:], "--device", "no such device")
                self.assert_fails(done, NO_DEVICE, "device/none", "no such device")


    def test_without_a_driver_only_the_error_is_printed(self):
        done = self.wgk("devices", "--caps", "0", VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent")
        self.assert_fails(done, NO_DEVICE, "device/none", "found none")
        self.assertNotIn("vkCreateInstance", done.err)
        self.assertTrue(done.err.startswith("error[device/none]"), done.err)


class Examples(ProgramTest):
    def keep_few_cases(self, package):
        build = package / "build" / "webgpu"
        tests = json.loads((build / "test.json").read_text())
        kept = [case for case in tests["cases"] if case["name"].endswith("_f16") and "error" not in case][:2]
        tests["cases"] = kept + [case for case in tests["cases"] if case["name"] == "plain_3x1_f32"]
        (build / "test.json").write_text(json.dumps(tests))
        bench = json.loads((build / "bench.json").read_text())
        kept = [case for case in bench["cases"] if "prefill" in case["tags"]][:1]
        bench["cases"] = kept + [case for case in bench["cases"] if case["name"] == "4096x4096_f16"]
        for tensor in [tensor for case in bench["cases"] for tensor in case["inputs"].values()]:
            tensor["shape"] = [8] * (len(tensor["shape"]) - 1) + tensor["shape"][-1:]
        (build / "bench.json").write_text(json.dumps(bench))
        for command in ("digest", "card"):
            done = self.wgk(command, package)
            self.assertEqual(done.code, SUCCESS, done.err)

    def test_work_as_they_stand(self):
        """In a shell, beside copies of the packages, with few and small cases, and the files that the examples name."""
        shutil.copytree(REPOSITORY / "kernels", self.folder / "kernels")
        for package in (self.folder / "kernels").glob("com.microsoft.*"):
            self.keep_few_cases(package)
        (self.folder / "tests").symlink_to(REPOSITORY / "tests")
        (self.folder / "wgk").symlink_to(PROGRAM)
        (self.folder / "names.json").write_text('{"shapes": {"x": [2, 6]}}')
        (self.folder / "norm.wgsl.jinja").write_text("// {{ numel(shapes.x) }} elements\n")
        for name in ("x.npy", "s.npy"):
            (self.folder / name).write_bytes(npy("<f4", (1, 4), floats(1, 2, 3, 4)))
        header = b'{"norm.weight": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}'
        (self.folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + floats(1, 1, 1, 1))
        path = f"{self.folder}:{os.environ['PATH']}"
        commands = re.findall(r"^  ([a-z]+) {2,}", self.wgk("-h").out, re.M)
        self.assertGreaterEqual(len(commands), 13)
        for command in commands:
            for example in re.findall(r"^ +(wgk " + command + r"\b.*)$", self.wgk(command, "-h").out, re.M):
                with self.subTest(example):
                    done = subprocess.run(
                        example, shell=True, cwd=self.folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=300, check=False
                    )
                    tells_progress = command in ("bench", "test")
                    self.assertEqual((done.returncode, "" if tells_progress else done.stderr), (SUCCESS, ""), done.stderr)
                    self.assertEqual(done.stdout == "", " > " in example, done.stdout)
        json.loads((self.folder / "my-device.json").read_text())
        self.assertTrue((self.folder / "y.npy").exists())


class Run(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "x.npy").write_bytes(npy("<f4", (2, 2), floats(1, 2, 3, -4)))

    def test_writes_the_outputs(self):
        done = self.wgk("run", self.package, "--input", "X=x.npy", "--output", "Y=y.npy")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertEqual((self.folder / "y.npy").read_bytes()[-16:], floats(2, 4, 6, -8))
        for line in ("y\tfloat32\t(2, 2)\ty.npy\t2, 4, 6, -8", "package\ttest.e2e.Double", "variant\tplain", "device\t", "time\t", "largest error\t"):
            self.assertIn(line, done.out)

    def test_attributes_and_safetensors(self):
        header = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
        (self.folder / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + floats(5))
        done = self.wgk("run", self.package, "--input", "x=m.safetensors:w", "--attr", "factor=3", "--output", "y=y.npy", "--json")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertEqual((self.folder / "y.npy").read_bytes()[-4:], floats(15))
        self.assertEqual(done.json()["outputs"], [{"name": "y", "dtype": "float32", "shape": [1], "file": "y.npy"}])

    def test_case_and_verbose(self):
        done = self.wgk("run", self.package, "--case", "small", "--verbose")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertRegex(done.err, r"(?m)^made a \w+ device on '.+' \(\w+\) in [\d.]+ ms$")
        self.assertRegex(done.err, r"(?m)^compiled 'test\.e2e\.Double\.plain\.[\w\[\]]+' in [\d.]+ ms$")
        for call in ("first", "second"):
            self.assertRegex(done.err, rf"(?m)^{call} call: plan \S+ \w+, prepare .+, upload .+, submit .+, wait .+, total \S+ \w+$")
        self.assertEqual(self.wgk("run", self.package, "--case", "small").err, "")

    def test_leaves_no_file_behind(self):
        os.mkdir(self.folder / "folder.npy")
        before = sorted(os.listdir(self.folder))
        done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "y=y.npy", "--output", "y=folder.npy")
        self.assert_fails(done, INVALID, "io/write", "folder.npy")
        done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "y=nosuch/y.npy")
        self.assert_fails(done, INVALID, "io/write", "nosuch/y.npy")
        done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "y=y.txt")
        self.assert_fails(done, USAGE, ".npy")
        done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "z=z.npy")
        self.assert_fails(done, INVALID, "'z'")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_leaves_files_that_were_there_alone(self):
        os.mkdir(self.folder / "folder.npy")
        for bad in ("folder.npy", "nosuch/y.npy"):
            with self.subTest(bad):
                (self.folder / "y.npy").write_bytes(b"mine")
                before = sorted(os.listdir(self.folder))
                done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "y=y.npy", "--output", f"y={bad}")
                self.assert_fails(done, INVALID, "io/write", bad)
                self.assertEqual((self.folder / "y.npy").read_bytes(), b"mine")
                self.assertEqual(sorted(os.listdir(self.folder)), before)
        done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "y=y.npy", "--output", "y=z.npy")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertEqual((self.folder / "y.npy").read_bytes(), (self.folder / "z.npy").read_bytes())

    def test_shader_that_does_not_compile(self):
        self.write_package(shader=SHADER + "fn broken() -> nonsense {}\n")
        done = self.wgk("run", self.package, "--input", "x=x.npy", "--output", "y=y.npy")
        self.assert_fails(done, INVALID, "device/compile")
        self.assertFalse((self.folder / "y.npy").exists())


class Test(ProgramTest):
    def test_passes(self):
        done = self.wgk("test", self.package, "--all-variants")
        self.assertEqual((done.code, done.out), (SUCCESS, "2 passed, 0 failed, 0 skipped\n"), done.err)
        done = self.wgk("test", self.package, "--case", "sma*", "--json")
        report = done.json()
        self.assertEqual((report["passed"], report["cases"][0]["status"], report["cases"][0]["error"]), (1, "passed", 0))

    def test_fails(self):
        tests = json.loads(json.dumps(TESTS))
        tests["cases"][0]["outputs"]["y"]["data"]["start"] = 2.5
        self.write_package(tests=tests)
        done = self.wgk("test", self.package, "--json=report.json")
        self.assertEqual((done.code, done.out), (FAILED, "1 passed, 1 failed, 0 skipped\n"))
        self.assertIn("failed: small on plain: output 'y' at (0, 0): wanted 2.5, got 2", done.err)
        self.assertIn(f"again: wgk test {self.package} --case small", done.err)
        case = json.loads((self.folder / "report.json").read_text())["cases"][0]
        self.assertEqual((case["index"], case["wanted"], case["got"]), (0, 2.5, 2))

    def test_where_the_report_goes(self):
        for arguments in (
            ["--json", "report.json", self.package],
            [self.package, "--json", "report.json"],
            [self.package, "--json=report.json", "--once"],
        ):
            done = self.wgk("test", *arguments)
            self.assertEqual((done.code, done.out), (SUCCESS, "2 passed, 0 failed, 0 skipped\n"), done.err)
            self.assertEqual(json.loads((self.folder / "report.json").read_text())["passed"], 2)
            (self.folder / "report.json").unlink()
        for arguments in (["--json", self.package], [self.package, "--json"], [self.package, "--json", "--once"]):
            done = self.wgk("test", *arguments)
            self.assertEqual((done.code, done.json()["passed"]), (SUCCESS, 2), done.err)
        self.assert_fails(self.wgk("test", self.package, "--json", "nosuch/report.json"), INVALID, "io/write")

    def test_what_would_run(self):
        done = self.wgk("test", self.package, "--all-variants", "--plans")
        self.assertEqual(done.code, SUCCESS, done.err)
        device, *lines = done.out.splitlines()
        self.assertNotIn("passed", done.out)
        self.assertEqual(len(lines), 2, done.out)
        self.assertRegex(lines[0], r"^small plain selected [0-9a-f]{32}$")
        self.write_package(shader=SHADER.replace("id.x < ", "id.x + 0u < "))
        changed = self.wgk("test", self.package, "--all-variants", "--plans").out.splitlines()
        self.assertEqual(changed[0], device)
        self.assertNotEqual(changed[1], lines[0])

    def test_elements_left_unwritten_show(self):
        self.write_package(shader=SHADER.replace("id.x < ", "id.x + 1u < "))
        done = self.wgk("test", self.package, "--case", "small")
        self.assertEqual(done.code, FAILED, done.err)
        self.assertIn("at (1, 2)", done.err)

    def test_other_cases(self):
        (self.folder / "more.json").write_text(json.dumps({"cases": TESTS["cases"][:1]}))
        done = self.wgk("test", self.package, "--cases", "more.json", "--variant", "plain")
        self.assertEqual((done.code, done.out), (SUCCESS, "1 passed, 0 failed, 0 skipped\n"), done.err)

    def test_wrong_choices(self):
        self.assert_fails(self.wgk("test", self.package, "--case", "nosuch"), INVALID, "no case of 2 matches 'nosuch'")
        self.assert_fails(self.wgk("test", self.package, "--variant", "nosuch"), INVALID, "request/variant", "'nosuch'")
        self.assert_fails(self.wgk("test", self.package, "--cases", "nosuch.json"), INVALID, "nosuch.json")


class Bench(ProgramTest):
    QUICK = ["--samples", "3", "--cache", "1"]
    SHORT = ["--samples", "10", "--cache", "1"]

    def write_benches(self, **more):
        case = {"name": "some", "inputs": {"x": {"dtype": "float32", "shape": [64, 64]}}, "outputs": ["y"],
                "bytes": "2 * 4 * numel(shapes.x)", "tags": ["quick"], **more}
        (self.build / "bench.json").write_text(json.dumps({"cases": [case]}))
        self.sign()

    def test_times_a_case(self):
        self.write_benches()
        done = self.wgk("bench", self.package, "--floor", "--host", *self.QUICK, "--json", "report.json", "--html", "page.html")
        self.assertEqual(done.code, SUCCESS, done.err)
        self.assertIn("some [plain]\tcold\t", done.out)
        report = json.loads((self.folder / "report.json").read_text())
        first = report["benchmarks"][0]
        self.assertEqual(first["name"], "test.e2e.Double/some/plain/cold")
        self.assertGreater(first["real_time"], 0)
        self.assertGreater(report["context"]["copy_bytes_per_second"], 0)
        self.assertEqual({c["b"].split(",")[0] for c in report["comparisons"]}, {"floor 1r1w"})
        self.assertIn("<svg", (self.folder / "page.html").read_text())

    def test_compares(self):
        self.write_benches()
        done = self.wgk("bench", self.package, "--against", self.package, *self.QUICK, "--json")
        self.assertEqual(done.code, SUCCESS, done.err)
        comparison = done.json()["comparisons"][0]
        self.assertEqual((comparison["a"], comparison["b"]), ("plain (against)", "plain"))

    def test_check_against_a_baseline(self):
        self.write_benches()
        self.assert_fails(self.wgk("bench", self.package, "--check", "none"), INVALID, "none/")
        saved = self.wgk("bench", self.package, "--save-baseline", "base", *self.QUICK)
        self.assert_fails(saved, INVALID, "base/")  # the folder is not made
        (self.folder / "base").mkdir()
        saved = self.wgk("bench", self.package, "--save-baseline", "base", *self.SHORT)
        self.assertEqual(saved.code, SUCCESS, saved.err)
        (baseline,) = (self.folder / "base").iterdir()
        entry = json.loads(baseline.read_text())["benchmarks"][0]
        self.assertGreater(entry["copy_beside"], 0)
        # Nothing changed: a busy machine may disturb a check, not several.
        checks = [self.wgk("bench", self.package, "--check", "base", *self.SHORT) for _ in range(2)]
        self.assertIn(SUCCESS, [check.code for check in checks], checks[0].out)
        self.assertIn("1 cases compared", checks[0].out)
        result = self.wgk("bench", self.package, "--check", "base", "--json", *self.SHORT).json()
        self.assertEqual(result["compared"] + len(result["unsteady"]), 1)
        self.assertEqual(len(result["within"]) + len(result["slower"]), result["compared"])
        self.assertEqual((result["missing"], result["unknown"]), ([], []))
        # The planted slow-down; the baseline says how cores are to be treated.
        made = json.loads(baseline.read_text())
        self.assertFalse(made["context"]["kept_awake"])
        self.assertNotIn("awake", checks[0].err)
        made["context"]["kept_awake"] = True
        baseline.write_text(json.dumps(made))
        slow = SHADER.replace("y[id.x] =", "var more = 0.0;\n    for (var i = 0u; i < 300u; i++) { more = max(more, -abs(x[(id.x + i) % 64u])); }\n    y[id.x] = more +")
        (self.build / "double.wgsl.jinja").write_text(slow)
        self.sign()
        check = self.wgk("bench", self.package, "--check", "base", *self.SHORT)
        self.assertEqual(check.code, FAILED, check.err)
        self.assertIn("slower: test.e2e.Double/some/plain/cold", check.out)
        self.assertIn("the cores are kept awake, as they were for the baseline", check.err)
        self.assertEqual(check.out.count("slower:"), 1)
        self.assertIn("round 6: 1 cases", check.err)  # three rounds, and three once more
        self.assert_fails(self.wgk("bench", self.package, "--check", "base", "--tags", "slow"), INVALID, "none of these cases")

    def test_wrong_choices(self):
        self.assert_fails(self.wgk("bench", self.package), INVALID, "no benchmark cases")
        self.write_benches()
        self.assert_fails(self.wgk("bench", self.package, "--tags", "slow"), INVALID, "no benchmark case")
        self.assert_fails(self.wgk("bench", self.package, "--sweep", "X"), USAGE, "name=value")
        self.assert_fails(self.wgk("bench", self.package, "--device", "no such device"), NO_DEVICE, "device/none")

    def test_a_case_that_cannot_be_timed(self):
        self.write_benches(inputs={"x": {"dtype": "int32", "shape": [4]}})
        done = self.wgk("bench", self.package, *self.QUICK)
        self.assertEqual(done.code, FAILED, done.err)
        self.assertIn("not timed", done.out)


if __name__ == "__main__":
    unittest.main()
