#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every section of docs/format.md that a comment cites exists, and so does every one that the page itself refers to.

usage: format_citations_test.py REPOSITORY
"""

import pathlib
import re
import sys

SECTION = r"[a-z](?:\.\d+)?"
CITATION = re.compile(rf"format\.md(?:,)? ({SECTION}(?:(?:, | and |; )[a-z]\.\d+)*)(?![a-z])")
FOLDERS = ["include", "src", "tests", "tools", "benchmarks"]


def sections(page):
    headings = re.findall(r"^#+ (?:\(([a-z])\)|([a-z]\.\d+)) ", page, re.M)
    return {letter or number for letter, number in headings}


def citations(text):
    """The sections that a text cites; a comment may go on in the next line."""
    joined = re.sub(r"\n\s*(?://|#)\s*", " ", text)
    found = [re.findall(SECTION + r"(?![a-z])", cited) for cited in CITATION.findall(joined)]
    return [section for cited in found for section in cited if section != "and"]


def main():
    repo = pathlib.Path(sys.argv[1])
    page = (repo / "docs/format.md").read_text(encoding="utf-8")
    known = sections(page)
    problems, count = [], 0
    for folder in FOLDERS:
        for path in sorted((repo / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".py", ".inc", ".sh", ".md"} or path.name == pathlib.Path(__file__).name:
                continue
            text = path.read_text(encoding="utf-8")
            cited = citations(text)
            count += len(cited)
            if text.count("format.md") and not cited:
                problems.append(f"{path.relative_to(repo)} names format.md, but no section of it")
            problems += [f"{path.relative_to(repo)} cites format.md {section}, which does not exist" for section in cited if section not in known]
    for section in re.findall(r"\b([a-z]\.\d+)\b(?=[,;:). ])", re.sub(r"`[^`]*`", "", page)):
        if section[0] in "abcde" and section not in known:
            problems.append(f"docs/format.md refers to {section}, which does not exist")
    if len(known) < 20 or count < 20:
        problems.append(f"only {len(known)} sections and {count} citations were found")
    for problem in problems:
        print(problem)
    print(f"format: {count} citations of {len(known)} sections, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
