#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A golden file that is wrong in one place is reported with the case, the devices, and the part of the plan.

usage: golden_test.py REPOSITORY WGK_GOLDEN
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

OP = "com.microsoft.SkipGroupNorm"
CHANGES = [
    # file, what it says and will say instead, what must be reported
    ("plans.jsonl", '"passes":["', '"passes":["x', ["  case ", "   on ", "    passes[0]\n      - x"]),
    ("plans.jsonl", '"whole":"', '"whole":"0', ["bindings, labels or skipped passes\n      - 0"]),
    ("plans.jsonl", '{"case":"', '{"case":"other_', ["  case other_"]),
    ("examples/group-norm-stream-apply.wgsl", "@compute", "@computer", ["examples/group-norm-stream-apply.wgsl differs\n    line ", "      - @computer", "      + @compute"]),
]


def check(program, repository, problems):
    golden = repository / "tests/golden" / OP
    if subprocess.run([program, repository], capture_output=True, text=True).returncode != 0:
        problems.append("the untouched copy is not as expected")
    for name, old, new, wanted in CHANGES:
        text = (golden / name).read_text()
        if old not in text:
            problems.append(f"{name} does not hold {old}")
            continue
        (golden / name).write_text(text.replace(old, new, 1))
        done = subprocess.run([program, repository], capture_output=True, text=True)
        (golden / name).write_text(text)
        missing = [part for part in wanted if part not in done.stdout]
        if done.returncode != 1 or missing:
            problems.append(f"{old} -> {new}: status {done.returncode}, not reported: {missing}\n{done.stdout}{done.stderr}")


def main():
    source, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        shutil.copytree(source / "tests/golden" / OP, copy / "tests/golden" / OP)
        (copy / "tests/devices").mkdir(parents=True)
        for profile in ("small-128", "swiftshader"):
            shutil.copy(source / "tests/devices" / f"{profile}.json", copy / "tests/devices")
        shutil.copytree(source / "kernels" / OP, copy / "kernels" / OP)
        subprocess.run([program, "--update", copy], check=True, capture_output=True)
        check(program, copy, problems)
    for problem in problems:
        print(problem)
    print(f"golden: {len(problems)} problems, {len(CHANGES)} changes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
