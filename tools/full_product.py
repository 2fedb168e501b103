#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: full_product.py PROGRAM PACKAGE CASES STATE   runs the cases of the file CASES on every variant of PACKAGE, in blocks.

A block holds neighbours, which share shaders; the order of the blocks jumps about, so the first ones already see all of the
product. Each block that passed is noted in the folder STATE: a run that was stopped goes on where it was, unless program,
package or cases changed. WGK_DEV_JOBS: blocks at a time.
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


def run_block(program, package, folder, key, text):
    """Runs one block: whether it passed, what it printed, its three counts."""
    passed, cases = folder / f"{key}.passed", folder / f"{key}.json"
    if passed.exists():
        return True, "", [int(word) for word in passed.read_text(encoding="utf-8").split()]
    cases.write_text(text, encoding="utf-8")
    done = subprocess.run([program, "test", package, "--cases", str(cases), "--all-variants"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    counts = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped", done.stdout)
    counts = [int(word) for word in counts.groups()] if counts else [0, 1, 0]
    if done.returncode == 0 and counts[1] == 0:
        passed.write_text(" ".join(map(str, counts)), encoding="utf-8")
        cases.unlink()  # the file of a block that failed stays: the failure names it
    return done.returncode == 0, done.stdout, counts


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    program, package, cases, state = sys.argv[1:]
    folder = pathlib.Path(state)
    folder.mkdir(parents=True, exist_ok=True)
    document = json.loads(pathlib.Path(cases).read_bytes())
    same = digest(pathlib.Path(program).read_bytes(), *(path.read_bytes() for path in sorted(pathlib.Path(package).rglob("*"))
                                                       if path.is_file()))
    blocks = [json.dumps(block) for block in blocks_of(document)]
    keys = [digest(same.encode(), block.encode())[:24] for block in blocks]
    for path in folder.iterdir():
        if path.stem not in keys:
            path.unlink()
    known = sum((folder / f"{key}.passed").exists() for key in keys)
    print(f"{len(document['cases'])} cases in {len(blocks)} blocks, {known} of them known from a run before", flush=True)

    start, totals, failed = time.monotonic(), [0, 0, 0], 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("WGK_DEV_JOBS") or os.cpu_count())) as pool:
        futures = [pool.submit(run_block, program, package, folder, key, block) for key, block in zip(keys, blocks)]
        for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
            good, output, counts = future.result()
            totals = [a + b for a, b in zip(totals, counts)]
            if not good:
                failed += 1
                print(output, flush=True)
            took = time.monotonic() - start
            left = took / max(number - known, 1) * (len(blocks) - number)
            print(f"{number} of {len(blocks)} blocks: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped; "
                  f"{took:.0f} s, about {left:.0f} s left", flush=True)
    sys.exit(1 if failed or totals[0] == 0 else 0)


main()
