#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times our program and a peer in turns, case by case, so that a minute in which the machine is slow or fast hits both.

  turns.py kernels/com.microsoft.SkipSimplifiedLayerNormalization --tag cpu --rounds 5 --wgk build/release/wgk --out llvmpipe.turns-ssln.json

Each round of a case runs `wgk bench` (one set of buffers, with the kernel that only streams as many bytes between the samples) and then the peer, each in a
process of its own. The result holds the medians of every round; a report takes the median of the ratios of rounds. Run it with a Python that has
the peer; `./dev bench turns` does.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

from cases import load

HERE = pathlib.Path(__file__).parent
RUNNER = HERE / "run.py"


def benchmarks(command, out):
    """The report that a command writes into `out`; nothing, and what it said, when there is none."""
    out.unlink(missing_ok=True)
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not out.exists():
        return None, f"status {done.returncode}: {done.stdout[-300:]}"
    return json.loads(out.read_text()), ""


def median_of(report, wanted):
    """The least median of the timed entries that `wanted` accepts, in seconds: of the floors the fastest, of others there is one."""
    return min((entry["seconds"]["median"] for entry in (report["benchmarks"] if report else []) if not entry.get("error_occurred") and wanted(entry)), default=None)


def round_of(folder, case, args, place):
    awake = ["--keep-awake"] if args.keep_awake else []
    ours, problem = benchmarks([args.wgk, "bench", folder, "--case", case.name, "--only-hot", "--floor", "--samples", str(args.samples), *awake,
                                f"--json={place / 'ours.json'}"], place / "ours.json")
    theirs, other = benchmarks([sys.executable, str(RUNNER), folder, "--case", case.name, "--peers", args.peer, *awake, "--out", str(place / "peer.json")],
                               place / "peer.json")
    row = {"ours": median_of(ours, lambda e: not e["variant"].startswith("floor")), "floor": median_of(ours, lambda e: e["variant"].startswith("floor")),
           "theirs": median_of(theirs, lambda e: True)}
    return row, ours, theirs, problem or other


def context_of(ours, theirs, args):
    context = {key: ours["context"].get(key) for key in ("kept_awake", "adapter", "driver", "backend", "software", "mode", "clock", "library_version", "packages")}
    peer = next(entry for entry in theirs["benchmarks"] if not entry.get("error_occurred"))
    return {**context, "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "versions": theirs["context"]["versions"],
            "peer": peer["variant"], "peer_clock": peer["clock"], "rounds": args.rounds, **({"note": args.note} if args.note else {})}


def row_of(result, case):
    """The row of a case, made when there is none."""
    for row in result["rows"]:
        if (row["package"], row["case"]) == (case.package, case.name):
            return row
    result["rows"].append({"package": case.package, "case": case.name, "ours": [], "theirs": [], "floor": []})
    return result["rows"][-1]


def check_same(before, now):
    """Rounds of other versions, or with sleeping cores, are not added to these."""
    for key in ("kept_awake", "adapter", "driver", "mode", "packages", "versions", "peer") if before else ():
        if before.get(key) != now.get(key):
            raise SystemExit(f"the rounds of the file have another {key}: {before.get(key)}, now {now.get(key)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="+", help="folder of a package with build/webgpu/bench.json")
    parser.add_argument("--wgk", required=True, help="our program")
    parser.add_argument("--peer", default="ort-webgpu-kernels", help="one peer of run.py")
    parser.add_argument("--tag", action="append", default=[], help="only cases with one of these tags")
    parser.add_argument("--case", action="append", default=[], help="only these cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=30, help="of ours in a round")
    parser.add_argument("--keep-awake", action="store_true", help="both sides with a loop of idle priority on each core, so that none sleeps between dispatches")
    parser.add_argument("--note", default="", help="said in the report, such as what else the machine did")
    parser.add_argument("--out", required=True, help="JSON file")
    parser.add_argument("--add", action="store_true", help="add the rounds to those of the JSON file")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    result = json.loads(out.read_text()) if args.add and out.exists() else {"kind": "turns", "context": None, "rows": []}
    with tempfile.TemporaryDirectory() as folder_of_round:
        place = pathlib.Path(folder_of_round)
        for folder in args.package:
            for case in load(folder, args.tag, args.case):
                row = row_of(result, case)
                row.pop("error", None)
                for number in range(args.rounds):
                    one, ours, theirs, problem = round_of(folder, case, args, place)
                    if one["ours"] is None or one["theirs"] is None:
                        row["error"] = problem or "a side was not timed"
                        print(f"{case.name:24} not timed: {row['error']}", file=sys.stderr, flush=True)
                        break
                    check_same(result["context"], context_of(ours, theirs, args))
                    result["context"] = context_of(ours, theirs, args)
                    for side, seconds in one.items():
                        row[side].append(seconds)
                    print(f"{case.name:24} round {number + 1}: {one['theirs'] / one['ours']:8.2f} (ours {one['ours'] * 1e6:.1f} us, theirs {one['theirs'] * 1e6:.1f} us)",
                          file=sys.stderr, flush=True)
                    result["context"]["rounds"] = max(len(each["ours"]) for each in result["rows"])
                    out.write_text(json.dumps(result, indent=1) + "\n")
                out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
