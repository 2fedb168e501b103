#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: full_product.py PROGRAM PACKAGE CASES STATE   runs the cases of the file CASES on every variant of PACKAGE, in blocks.

A block holds neighbours, which share shaders; the order of the blocks jumps about, so the first ones already see all of the
product. Each block that passed is noted in the folder STATE, under a digest of the program, of its cases and of what
`PROGRAM test --plans` says that it runs: the device, and for each case and variant the plan with all shader texts. So a run
that was stopped goes on where it was, and after a change of the package only those blocks run again of which a plan
changed, or which a variant takes that did not before. WGK_DEV_JOBS: blocks at a time.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

CASES_IN_A_BLOCK = 32


def digest(*parts):
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def blocks_of(document):
    cases = document["cases"]
    starts = range(0, len(cases), CASES_IN_A_BLOCK)
    jumping = sorted(range(len(starts)), key=lambda i: f"{i:032b}"[::-1])
    return [{**document, "cases": cases[starts[i]:starts[i] + CASES_IN_A_BLOCK]} for i in jumping]


def ask(program, package, cases, *options):
    return subprocess.run([program, "test", package, "--cases", str(cases), "--all-variants", *options], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class Block:
    """A block after its run: whether it passed, what it printed, its three counts, whether it was known."""

    def __init__(self, program, package, folder, same, text):
        self.name, self.good, self.output, self.counts, self.known = digest(text.encode())[:24], False, "", [0, 1, 0], False
        cases = folder / f"{self.name}.json"
        cases.write_text(text, encoding="utf-8")
        plans = ask(program, package, cases, "--plans")
        if plans.returncode != 0:
            self.output = plans.stdout.decode(errors="replace")
            return
        passed = folder / f"{self.name}.{digest(same.encode(), plans.stdout)[:24]}.passed"
        if passed.exists():
            self.good = self.known = True
            self.counts = [int(word) for word in passed.read_text(encoding="utf-8").split()]
        else:
            self.run(program, package, cases)
            if self.good:
                passed.write_text(" ".join(map(str, self.counts)), encoding="utf-8")
        if self.good:
            for path in folder.glob(f"{self.name}.*"):  # the file of a block that failed stays: the failure names it
                if path != passed:
                    path.unlink()

    def run(self, program, package, cases):
        done = ask(program, package, cases)
        self.output = done.stdout.decode(errors="replace")
        counts = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped", self.output)
        if counts:
            self.counts = [int(word) for word in counts.groups()]
        self.good = done.returncode == 0 and self.counts[1] == 0


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    program, package, cases, state = sys.argv[1:]
    folder = pathlib.Path(state)
    folder.mkdir(parents=True, exist_ok=True)
    document = json.loads(pathlib.Path(cases).read_bytes())
    same = digest(pathlib.Path(program).read_bytes())
    blocks = [json.dumps(block) for block in blocks_of(document)]
    names = {digest(block.encode())[:24] for block in blocks}
    for path in folder.iterdir():
        if path.name.split(".")[0] not in names:
            path.unlink()
    print(f"{len(document['cases'])} cases in {len(blocks)} blocks", flush=True)

    start, totals, failed, known = time.monotonic(), [0, 0, 0], 0, 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("WGK_DEV_JOBS") or os.cpu_count())) as pool:
        futures = [pool.submit(Block, program, package, folder, same, block) for block in blocks]
        for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
            block = future.result()
            totals = [a + b for a, b in zip(totals, block.counts)]
            known += block.known
            if not block.good:
                failed += 1
                print(block.output, flush=True)
            took = time.monotonic() - start
            left = took / max(number - known, 1) * (len(blocks) - number)
            print(f"{number} of {len(blocks)} blocks ({known} known from a run before): {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped; "
                  f"{took:.0f} s, at most about {left:.0f} s left", flush=True)
    sys.exit(1 if failed or totals[0] == 0 else 0)


main()
