# SPDX-License-Identifier: Apache-2.0
"""What the generators of test.json and bench.json share: tensors and their data, one case per line, no duplicate names, a check mode."""
import argparse
import json
import sys


F32, F16 = "float32", "float16"


def tensor(dtype, shape, data, **more):
    return {"dtype": dtype, "shape": list(shape), "data": data, **more}


def grid(seed, r, step, offset=0):
    """Multiples of step, at most r of them away from offset."""
    data = {"kind": "grid", "seed": seed, "r": r, "step": step}
    if offset:
        data["offset"] = offset
    return data


def const(value):
    return {"kind": "const", "value": value}


def values(items):
    return {"kind": "values", "values": list(items)}


def render(document):
    """The text of a file {..., "cases": [...]}: small enough to diff, one case per line."""
    names = [case["name"] for case in document["cases"]]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        sys.exit(f"case names used twice: {', '.join(doubled)}")
    head = [f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in document.items() if key != "cases"]
    cases = ",\n".join("    " + json.dumps(case, separators=(", ", ": ")) for case in document["cases"])
    return "{\n" + "".join(head) + '  "cases": [\n' + cases + "\n  ]\n}\n"


def main(description, files, more=()):
    """files: list of (path, document maker, is default). Writes the default ones, or those named by --full PATH, or checks. `more`: list of (name,
    document maker, help), each an option --NAME FILE that writes that document instead."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    parser.add_argument("--full", metavar="FILE", help="write the full product of options to FILE instead")
    for name, _, text in more:
        parser.add_argument(f"--{name}", metavar="FILE", help=text)
    args = parser.parse_args()
    wanted = [(getattr(args, name), make) for name, make, _ in more]
    if args.full:
        wanted.append((args.full, next(make for _, make, is_default in files if not is_default)))
    wanted = [(path, make) for path, make in wanted if path]
    for path, make in wanted:
        with open(path, "w", encoding="utf-8") as out:
            out.write(render(make()))
    if wanted:
        return
    stale = []
    for path, make, is_default in files:
        if not is_default:
            continue
        text = render(make())
        if args.check:
            with open(path, encoding="utf-8") as have:
                if have.read() != text:
                    stale.append(str(path))
        else:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
    if stale:
        sys.exit(f"not what the generator writes: {', '.join(stale)}")
