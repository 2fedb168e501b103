#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/errors.md from the table of error codes; --check only compares."""

import pathlib
import re
import sys

ENTRY = re.compile(r'WGK_ERROR\(\s*"([^"]+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', re.S)
HEAD = """# Errors

Written by `tools/errors_page.py` from `src/base/error_codes.def`. A code is stable; the message beside it names the given and the expected values.

| code | cause | what to do |
| --- | --- | --- |
"""


def text(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"').replace("|", "\\|")


def main():
    repo = pathlib.Path(__file__).resolve().parent.parent
    entries = sorted(ENTRY.findall((repo / "src/base/error_codes.def").read_text()))
    page = HEAD + "".join(f"| `{code}` | {text(cause)} | {text(fix)} |\n" for code, cause, fix in entries)
    path = repo / "docs/errors.md"
    if "--check" in sys.argv[1:]:
        if not path.is_file() or path.read_text() != page:
            print("docs/errors.md is out of date: run tools/errors_page.py")
            return 1
        return 0
    path.parent.mkdir(exist_ok=True)
    path.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
