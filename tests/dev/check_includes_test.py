#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation of each kind in a small tree and expects tools/check_includes.py to report exactly that one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_includes.py"

CLEAN = {
    "include/wgk/error.h": "#include <string>\n",
    "include/wgk/runtime.h": '#include "wgk/error.h"\n',
    "src/base/number.h": '#include <cstdint>\n#include "wgk/error.h"\n',
    "src/base/number.cpp": '#include "base/number.h"\n#include <xxhash.h>\n',
    "src/base/number_test.cpp": '#include <gtest/gtest.h>\n#include <fstream>\n#include "base/number.h"\n',
    "src/json/json.h": '#include "base/number.h"\n',
    "src/json/json.cpp": '#include "json/json.h"\n#include <nlohmann/json.hpp>\n',
    "src/plan/plan.h": '#include "json/json.h"\n',
    "src/gpu/device.cpp": '#include <webgpu/webgpu.h>\n#include <thread>\n#include "plan/plan.h"\n',
    "src/package/package.h": '#include "json/json.h"\n',
    "src/cli/main.cpp": '#include <iostream>\n#include "gpu/device.h"\n',
    "src/gpu/device.h": "",
}

# file, text to add, what the report must say
PLANTED = [
    ("src/base/number.cpp", '#include "json/json.h"', "'base' must not include 'json'"),
    ("src/json/json.h", '#include "plan/plan.h"', "'json' must not include 'plan'"),
    ("src/gpu/device.cpp", '#include "package/package.h"', "'gpu' must not include 'package'"),
    ("src/gpu/device.cpp", '#include "cli/x.h"', "neither in include/ nor in src/"),
    ("src/json/json.cpp", '#include "wgk/runtime.h"', "'json' must not include 'wgk/runtime.h'"),
    ("include/wgk/error.h", '#include "base/number.h"', "must not include the private"),
    ("include/wgk/error.h", '#include "wgk/runtime.h"', "'base' must not include 'wgk/runtime.h'"),
    ("include/wgk/error.h", "#include <webgpu/webgpu.h>", "a public header must not include <webgpu/webgpu.h>"),
    ("src/plan/plan.h", "#include <fstream>", "'plan' must not include <fstream>"),
    ("src/plan/plan.h", "#  include <thread>", "'plan' must not include <thread>"),
    ("src/package/package.h", "#include <unordered_map>", "'package' must not include <unordered_map>"),
    ("src/plan/plan.h", "#include <nlohmann/json.hpp>", "'plan' must not include <nlohmann/json.hpp>"),
    ("src/base/number.cpp", "#include <gtest/gtest.h>", "'base' must not include <gtest/gtest.h>"),
    ("src/plan/plan.h", '#include "../json/json.h"', "is no full path"),
    ("src/plan/plan.h", '#include "plan.h"', "is no full path"),
    ("src/plan/plan.h", "#include <wgk/error.h>", "with quotes"),
    ("src/extra/x.h", "", "unknown module"),
]


class CheckIncludes(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.splitlines()

    def test_clean_tree_passes(self):
        status, lines = self.check(CLEAN)
        self.assertEqual((status, len(lines)), (0, 1), lines)

    def test_each_planted_violation_is_reported_alone(self):
        for name, text, expected in PLANTED:
            with self.subTest(text=text, file=name):
                files = dict(CLEAN)
                files[name] = files.get(name, "") + text + "\n"
                status, lines = self.check(files)
                self.assertEqual(status, 1, lines)
                self.assertEqual(len(lines), 2, lines)
                self.assertIn(expected, lines[0])
                self.assertTrue(lines[0].startswith(name.rsplit("/", 1)[0]), lines[0])


if __name__ == "__main__":
    unittest.main()
