#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that includes follow the allowed direction and that the pure core stays pure.

usage: check_includes.py [REPOSITORY]

1. A module includes itself and what its line in MAY_USE names, whatever that line's modules may use, and public headers of those.
2. The pure modules include standard headers of PURE_STD and the third-party headers of THIRD_PARTY only.
3. Includes name full paths from include/ or src/, and every module and public header is known here.
Prints one line per violation; exits with 1 if there is one.
"""

import pathlib
import re
import sys

# Direct permissions; they are transitive.
MAY_USE = {
    "base": [],
    "json": ["base"],
    "expr": ["json"],
    "jinja": ["expr"],
    "package": ["jinja"],
    "plan": ["package", "jinja"],
    "gpu": ["plan"],
    "io": ["json"],
    "hub": ["base", "json"],
    "store": ["package", "hub", "io"],
    "runtime": ["store", "gpu", "plan"],
    "reference": ["json"],
    "verify": ["runtime", "reference"],
    "bench": ["runtime", "verify"],
    "cli": ["runtime", "verify", "bench"],
    "capi": ["runtime"],
}
# The executor obeys plans; it knows nothing of packages, though plan/ may use them.
MUST_NOT_USE = {"gpu": {"package", "jinja", "expr"}}

PURE = {"base", "json", "expr", "jinja", "package", "plan"}

PURE_STD = set(
    """algorithm array bit cassert cfloat charconv climits cmath compare concepts cstddef cstdint cstring deque exception
    expected flat_map flat_set format forward_list functional initializer_list iterator limits list map memory new numbers numeric optional
    ranges set source_location span stdexcept string string_view system_error tuple type_traits typeinfo utility variant vector version""".split()
)
# Headers of other projects, by module. Lookups in a hash table are fine where its order never shows.
THIRD_PARTY = {
    "base": {"xxhash.h"},
    "json": {"nlohmann/json.hpp", "unordered_set"},
    "expr": {"unordered_map", "unordered_set"},
    # Packages and the planner's memory of known signatures may be shared by threads: they have locks, but never a thread.
    "package": {"mutex"},
    "plan": {"atomic", "mutex", "shared_mutex", "unordered_map"},
}
TEST_ONLY = {"gtest/gtest.h", "gmock/gmock.h", "benchmark/benchmark.h"}

# The module whose level a public header has: that module and those above may include it.
PUBLIC = {
    "wgk/error.h": "base",
    "wgk/dtype.h": "base",
    "wgk/limits.h": "base",
    "wgk/json.h": "json",
    "wgk/request.h": "json",
    "wgk/device_caps.h": "json",
    "wgk/plan.h": "json",
    "wgk/device.h": "gpu",
    "wgk/webgpu_handles.h": "gpu",
}
# Public headers of the runtime's level may also use what the pure ones may not.
RUNTIME_STD = {"chrono"}
# A public header nobody placed above belongs to the runtime's level.
PUBLIC_DEFAULT = "runtime"

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)(.*)$')


def reachable(module):
    seen, todo = {module}, [module]
    while todo:
        for other in MAY_USE[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen - MUST_NOT_USE.get(module, set())


def module_of_public(header):
    return PUBLIC.get(header, PUBLIC_DEFAULT)


class Checker:
    def __init__(self, repo):
        self.repo = repo
        self.problems = []
        self.modules = {p.name for p in (repo / "src").iterdir() if p.is_dir()}

    def report(self, path, line, text):
        self.problems.append(f"{path.relative_to(self.repo)}:{line}: {text}")

    def run(self):
        for name in sorted(self.modules - MAY_USE.keys()):
            self.problems.append(f"src/{name}: unknown module; name what it may use in tools/check_includes.py")
        for path in sorted((self.repo / "src").rglob("*")):
            if path.suffix in (".h", ".cpp", ".c", ".inc"):
                module = path.relative_to(self.repo / "src").parts[0]
                if module in MAY_USE:
                    self.check_file(path, module, public=False)
        for path in sorted((self.repo / "include").rglob("*.h")):
            header = str(path.relative_to(self.repo / "include"))
            self.check_file(path, module_of_public(header), public=True)
        return self.problems

    def check_file(self, path, module, public):
        test = path.stem.endswith(("_test", "_bench", "_fuzz")) or path.stem in TEST_SUPPORT
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(text)
            if not found:
                continue
            quoted, angle, _ = found.groups()
            if quoted:
                self.check_quoted(path, number, module, quoted, public)
            else:
                self.check_angle(path, number, module, angle, public, test)

    def check_quoted(self, path, line, module, header, public):
        if ".." in header.split("/") or "/" not in header and header != "wgk.h":
            self.report(path, line, f'"{header}" is no full path from include/ or src/')
        elif (self.repo / "include" / header).is_file():
            level = module_of_public(header)
            if level not in reachable(module):
                self.report(path, line, f"'{module}' must not include '{header}', a header of level '{level}'")
        elif public:
            self.report(path, line, f"a public header must not include the private '{header}'")
        elif not (self.repo / "src" / header).is_file():
            self.report(path, line, f'"{header}" is neither in include/ nor in src/')
        else:
            other = header.split("/")[0]
            if other not in reachable(module):
                self.report(path, line, f"'{module}' must not include '{other}' ('{header}')")

    def check_angle(self, path, line, module, header, public, test):
        if header.startswith("wgk"):
            self.report(path, line, f"write \"{header}\" with quotes")
        elif public:
            allowed = PURE_STD | {"stdint.h", "stddef.h", "stdbool.h"} | (RUNTIME_STD if module == "runtime" else set())
            if "/" in header or header not in allowed:
                self.report(path, line, f"a public header must not include <{header}>")
        elif module in PURE and not (header in PURE_STD or header in THIRD_PARTY.get(module, set())):
            if not (test and (header in TEST_ONLY or header in TEST_STD)):
                self.report(path, line, f"the pure module '{module}' must not include <{header}>")


# Headers that only tests include, though their names do not say so.
TEST_SUPPORT = {"interop_scope", "test_package"}

# Tests of pure modules read their data files.
TEST_STD = {"cstdio", "cstdlib", "fstream", "filesystem", "iostream", "ostream", "random", "sstream", "iterator", "thread"}


def main():
    repo = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent).resolve()
    problems = Checker(repo).run()
    for problem in problems:
        print(problem)
    print(f"includes: {len(problems)} violations" if problems else "includes: all follow the allowed direction")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
