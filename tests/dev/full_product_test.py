#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/full_product.py with a program that stands in for wgk: blocks, what is known from a run before, failures."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "full_product.py"

# Notes the cases it was given; a case named bad fails, one named crash ends the program. Its plan of a case is the package's line
# with the name of that case, else its first line.
PROGRAM = """#!/bin/sh
if [ "$6" = --plans ]; then
  [ -e "$2/broken" ] && exit 2
  echo device
  for name in $(grep -o '"case[0-9]*"' "$4"); do grep "$name" "$2/manifest.json" || head -n 1 "$2/manifest.json"; done
  exit 0
fi
echo "$@" >>calls
cat "$4" >>seen
if grep -q '"crash"' "$4" && [ ! -e mended ]; then kill -SEGV $$; fi
if grep -q '"bad"' "$4" && [ ! -e mended ]; then echo "failed: bad on x"; echo "31 passed, 1 failed, 0 skipped"; exit 1; fi
echo "32 passed, 0 failed, 2 skipped"
"""


class FullProduct(unittest.TestCase):
    def setUp(self):
        self.old = os.getcwd()
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)
        pathlib.Path("program").write_text(PROGRAM, encoding="utf-8")
        os.chmod("program", 0o755)
        pathlib.Path("package").mkdir()
        pathlib.Path("package/manifest.json").write_text("plan\n", encoding="utf-8")

    def tearDown(self):
        os.chdir(self.old)
        self.folder.cleanup()

    def run_tool(self, count=100, **renamed):
        names = [f"case{i}" for i in range(count)]
        for name, place in renamed.items():
            names[place] = name
        pathlib.Path("cases.json").write_text(json.dumps({"more": 1, "cases": [{"name": name} for name in names]}), encoding="utf-8")
        for name in ("calls", "seen"):
            pathlib.Path(name).write_text("", encoding="utf-8")
        done = subprocess.run([sys.executable, str(TOOL), "./program", "package", "cases.json", "state"], capture_output=True, text=True,
                              env={**os.environ, "WGK_DEV_JOBS": "1"}, check=False)
        self.calls = pathlib.Path("calls").read_text(encoding="utf-8").splitlines()
        self.seen = pathlib.Path("seen").read_text(encoding="utf-8")
        return done.returncode, done.stdout

    def test_every_case_is_run_once_on_every_variant(self):
        status, output = self.run_tool()
        self.assertEqual(status, 0, output)
        self.assertEqual(len(self.calls), 4)
        self.assertTrue(all("--all-variants" in call and call.startswith("test package --cases state/") for call in self.calls))
        for i in range(100):
            self.assertEqual(self.seen.count(f'"case{i}"'), 1)
        self.assertEqual(self.seen.count('"more": 1'), 4)
        self.assertIn("4 of 4 blocks (0 known from a run before): 128 passed, 0 failed, 8 skipped", output)

    def test_neighbours_share_a_block_and_the_first_blocks_see_all(self):
        self.run_tool(count=256)
        seen = [int(name) for name in re.findall(r'"case(\d+)"', self.seen)]
        self.assertEqual(seen[:32], list(range(32)))
        self.assertEqual([number // 32 for number in seen[::32]], [0, 4, 2, 6, 1, 5, 3, 7])

    def test_what_passed_is_not_run_again(self):
        self.run_tool()
        status, output = self.run_tool()
        self.assertEqual((status, self.calls), (0, []))
        self.assertIn("4 of 4 blocks (4 known from a run before): 128 passed, 0 failed, 8 skipped", output)

    def test_a_failure_is_shown_and_only_its_block_runs_again(self):
        for name in ("bad", "crash"):
            with self.subTest(name):
                status, output = self.run_tool(**{name: 50})
                self.assertEqual(status, 1)
                self.assertEqual(len(self.calls), 4)
                self.assertIn(", 1 failed", output.splitlines()[-1])
                self.assertEqual("failed: bad on x" in output, name == "bad")
                pathlib.Path("mended").touch()
                self.assertEqual(self.run_tool(**{name: 50})[0], 0)
                self.assertEqual(len(self.calls), 1)
                pathlib.Path("mended").unlink()
                shutil.rmtree("state")

    def test_another_program_starts_anew(self):
        self.run_tool()
        with open("program", "a", encoding="utf-8") as file:
            file.write("\n")
        self.assertEqual(self.run_tool()[0], 0)
        self.assertEqual(len(self.calls), 4)
        self.run_tool(count=33)
        self.assertEqual(len(self.calls), 1)  # the block of the first 32 is the same
        self.assertEqual(len(list(pathlib.Path("state").iterdir())), 2)

    def test_only_blocks_whose_plans_changed_run_again(self):
        self.run_tool()
        manifest = pathlib.Path("package/manifest.json")
        pathlib.Path("package/README.md").write_text("nothing that a plan shows", encoding="utf-8")
        self.assertEqual((self.run_tool()[0], self.calls), (0, []))
        manifest.write_text('plan\n"case40" is planned in another way\n', encoding="utf-8")
        status, output = self.run_tool()
        self.assertEqual((status, len(self.calls)), (0, 1))
        self.assertIn('"case40"', self.seen)
        self.assertIn("4 of 4 blocks (3 known from a run before): 128 passed", output)
        manifest.write_text("another plan\n", encoding="utf-8")
        self.run_tool()
        self.assertEqual(len(self.calls), 4)
        self.assertEqual(len(list(pathlib.Path("state").iterdir())), 4)

    def test_a_package_that_cannot_be_planned_fails(self):
        pathlib.Path("package/broken").touch()
        self.assertEqual(self.run_tool()[0], 1)
        self.assertEqual(self.calls, [])

    def test_no_cases_are_a_failure(self):
        self.assertEqual(self.run_tool(count=0)[0], 1)


if __name__ == "__main__":
    unittest.main()
