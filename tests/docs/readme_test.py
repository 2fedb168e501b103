#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents show what is true: the C++ block of README.md is the example that is built and run, its console block prints
what it says, and every command that README.md, CONTRIBUTING.md and docs name is one.

usage: readme_test.py REPOSITORY WGK
"""

import pathlib
import re
import subprocess
import sys


def commands(help_command, repo):
    text = subprocess.run(help_command, cwd=repo, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  ([a-z]+)\b", text, re.M))


def main():
    repo, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    readme = (repo / "README.md").read_text()
    problems = []

    shown = re.search(r"<!-- (\S+) -->\n```cpp\n(.*?)```", readme, re.S)
    source = (repo / shown.group(1)).read_text().split("\n", 2)[2]
    if shown.group(2) != source:
        problems.append(f"the C++ block of README.md differs from {shown.group(1)}")

    blocks = re.findall(r"```console\n\$ (.*?[^\\])\n(.*?)```", readme, re.S)
    if not blocks:
        problems.append("README.md shows no console example")
    for command, expected in blocks:
        words = command.replace("\\\n", " ").split()
        if words[:2] != ["./dev", "wgk"]:
            problems.append(f"cannot run the example: {command}")
            continue
        done = subprocess.run([program, *words[2:]], cwd=repo, capture_output=True, text=True)
        if done.returncode != 0 or done.stdout != expected:
            problems.append(f"{command}\nexpected:\n{expected}got (status {done.returncode}):\n{done.stdout}{done.stderr}")

    known = {"./dev": commands(["./dev", "help"], repo), "wgk": commands([program, "-h"], repo)}
    for page in [repo / "README.md", repo / "CONTRIBUTING.md", *sorted((repo / "docs").glob("*.md"))]:
        for tool, command in re.findall(r"(?:`|^|\$ )(\./dev|(?:\./dev )?wgk) ([a-z]+)", page.read_text(), re.M):
            if command not in known[tool.split()[-1]] | {"wgk"}:
                problems.append(f"{page.relative_to(repo)} names {tool} {command}, which is no command")

    for problem in problems:
        print(problem)
    print(f"README: {len(problems)} problems, {len(blocks)} console examples")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
