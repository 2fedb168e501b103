#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds small libraries with one planted impurity each and expects tools/check_purity.py to report it."""

import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_purity.py"

CLEAN = """
#include <cmath>
#include <cstring>
#include <format>
#include <map>
#include <string>
double half(double x) { return std::floor(std::pow(x, 0.5)); }
std::string text(int x) { return std::format("{}", x); }
const std::map<int, int>& table() { static const std::map<int, int> kTable = {{1, 2}}; return kTable; }
"""

# code, what the report must name
PLANTED = [
    ("#include <cstdio>\nvoid* f() { return std::fopen(\"x\", \"r\"); }", "fopen"),
    ("#include <cstdlib>\nchar* f() { return std::getenv(\"x\"); }", "getenv"),
    ("#include <clocale>\nvoid f() { std::setlocale(LC_ALL, \"\"); }", "setlocale"),
    ("#include <ctime>\nlong f() { return std::time(nullptr); }", "time"),
    ("#include <chrono>\nlong f() { return std::chrono::steady_clock::now().time_since_epoch().count(); }", "chrono"),
    ("#include <fstream>\nbool f() { std::ifstream in(\"x\"); return in.good(); }", "basic_ifstream"),
    ("#include <iostream>\nvoid f() { std::cout << 1; }", "cout"),
    ("#include <thread>\nvoid f() { std::thread([] {}).join(); }", "thread"),
    ("#include <random>\nunsigned f() { return std::random_device()(); }", "random_device"),
    ("#include <filesystem>\nbool f() { return std::filesystem::exists(\"x\"); }", "filesystem"),
    ("#include <locale>\nvoid f() { std::locale::global(std::locale(\"C\")); }", "locale"),
    ("#include <unistd.h>\nint f() { return ::getpid(); }", "getpid"),
    ("namespace wgk::gpu { void open(); }\nvoid f() { wgk::gpu::open(); }", "wgk::gpu::open"),
    ("int counter; int f() { return ++counter; }", "keeps state: 'counter'"),
    ("int f() { static int calls = 3; return ++calls; }", "keeps state"),
]


OTHERS = ["json", "expr", "jinja", "package", "plan"]


class CheckPurity(unittest.TestCase):
    def make_empty(self, folder, modules):
        for module in modules:
            subprocess.run(["ar", "rcs", pathlib.Path(folder, f"libwgk_{module}.a")], check=True)

    def check(self, code):
        with tempfile.TemporaryDirectory() as folder:
            source, thing, library = (pathlib.Path(folder, name) for name in ("a.cpp", "a.o", "libwgk_base.a"))
            source.write_text(code, encoding="utf-8")
            subprocess.run(["g++", "-std=c++23", "-O0", "-c", source, "-o", thing], check=True)
            subprocess.run(["ar", "rcs", library, thing], check=True)
            self.make_empty(folder, OTHERS)
            done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def test_clean_library_passes(self):
        status, text = self.check(CLEAN)
        self.assertEqual(status, 0, text)

    def test_each_planted_impurity_is_reported(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(self.check, [code for code, _ in PLANTED]))
        for (code, expected), (status, text) in zip(PLANTED, results):
            with self.subTest(code=code):
                self.assertEqual(status, 1, text)
                self.assertIn(expected, text)

    def test_without_libraries_it_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_each_missing_library_is_reported(self):
        modules = ["base", *OTHERS]
        for missing in modules:
            with self.subTest(missing), tempfile.TemporaryDirectory() as folder:
                self.make_empty(folder, [module for module in modules if module != missing])
                done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"no libwgk_{missing}.a", done.stdout)
                self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)


if __name__ == "__main__":
    unittest.main()
