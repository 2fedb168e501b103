#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests wgk_interop itself: in a copy of the corpus one field of each scored kind is changed, and exactly that must be reported.

usage: interop_runner_test.py WGK_INTEROP CORPUS
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(program, corpus):
    done = subprocess.run([program, str(corpus)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    closing = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1]) if lines else None
    if closing is None:
        sys.exit(f"no closing line: {done.stdout[-500:]}{done.stderr}")
    differences = [line for line in lines[:-1] if not line.startswith("skipped ")]
    return done.returncode, [int(n) for n in closing.groups()], differences


class Corpus:
    """A copy in which a file is changed for the time of one test."""

    def __init__(self, source, folder):
        self.root = pathlib.Path(folder) / "corpus"
        shutil.copytree(source, self.root)

    def load(self, name):
        return json.loads((self.root / name).read_text(encoding="utf-8"))

    def store(self, name, value):
        (self.root / name).write_text(json.dumps(value), encoding="utf-8")


def first(items, wanted):
    return next(item for item in items if wanted(item))


def find_result(corpus, wanted):
    """File, profile, request id and result of the first record that `wanted` accepts."""
    for path in sorted((corpus.root / "expectations").glob("*.json")):
        if path.name in ("loading.json", "invalid_manifests.json"):
            continue
        name = f"expectations/{path.name}"
        file = corpus.load(name)
        for profile, results in file["results"].items():
            for request, result in results.items():
                if wanted(result):
                    return name, file, f"{file['package']} {profile} {request}", result
    raise AssertionError("the corpus has no such record")


def change_value(corpus):
    file = corpus.load("expressions.json")
    case = first(file["cases"], lambda c: c.get("value") == 1)
    case["value"] = 2
    corpus.store("expressions.json", file)
    return "expressions.json", f"expression {file['cases'].index(case)} ", "value: expected 2, got 1"


def change_expression_error(corpus):
    file = corpus.load("expressions.json")
    case = first(file["cases"], lambda c: "error" in c and not c.get("js_artefact"))
    del case["error"]
    case["value"] = 5
    corpus.store("expressions.json", file)
    return "expressions.json", f"expression {file['cases'].index(case)} ", "value: expected 5, got error["


def change_output(corpus):
    file = corpus.load("templates.json")
    case = first(file["cases"], lambda c: c.get("output") == "12")
    case["output"] = "13"
    corpus.store("templates.json", file)
    return "templates.json", f"template {file['cases'].index(case)} ", 'output line 1: expected "13", got "12"'


def change_enables(corpus):
    file = corpus.load("templates.json")
    case = first(file["cases"], lambda c: c.get("with_enables", "").startswith("enable f16;"))
    case["with_enables"] = "enable f17;" + case["with_enables"][11:]
    corpus.store("templates.json", file)
    return "templates.json", f"template {file['cases'].index(case)} ", 'with_enables line 1: expected "enable f17;'


def change_manifest(corpus, change, message):
    name = "expectations/invalid_manifests.json"
    file = corpus.load(name)
    case = first(file["cases"], lambda c: c["id"] == "base")
    change(case)
    corpus.store(name, file)
    return name, "manifest base", message


def change_loading(corpus):
    name = "expectations/loading.json"
    file = corpus.load(name)
    case = first(file["cases"], lambda c: c["id"] == "ok")
    case["throws"] = True
    corpus.store(name, file)
    return name, "loading ok", "load: expected an error, got success"


def change_ids(corpus):
    name, file, _, _ = find_result(corpus, lambda r: True)
    file["variants"].append("one_more")
    corpus.store(name, file)
    return name, f"{file['package']} variants", "ids: expected"


def change_result(corpus, wanted, change, message):
    name, file, record, result = find_result(corpus, wanted)
    change(result, file)
    corpus.store(name, file)
    return name, record, message


def set_in(target, key, value):
    target[key] = value


def output_of(result):
    return next(iter(result["outputs"].values()))


def pass_of(result):
    return result["passes"][0]


def scratch_of(result):
    return next(iter(result["scratch"].values()))


def uniform_of(result, value):
    uniforms = pass_of(result)["uniforms"]
    key = next(iter(uniforms))
    uniforms[key] = value + uniforms[key][2:]


def is_ok(result):
    return result["status"] == "ok"


def has_pass(result):
    return is_ok(result) and result["passes"]


def has_uniform(result):
    return has_pass(result) and "uniforms" in pass_of(result)


def has_scratch(result):
    return is_ok(result) and result.get("scratch")


def change_shader(result, file):
    text = file["shaders"][pass_of(result)["shader"]]
    file["shaders"]["changed"] = text + "// more"
    pass_of(result)["shader"] = "changed"


CHANGES = [
    change_value,
    change_expression_error,
    change_output,
    change_enables,
    lambda c: change_manifest(c, lambda case: set_in(case, "throws", True), "load: expected an error"),
    lambda c: change_manifest(c, lambda case: set_in(case, "variants", ["a"]), 'variants: expected ["a"], got ["a","b"]'),
    change_loading,
    change_ids,
    lambda c: change_result(c, is_ok, lambda r, f: set_in(r, "status", "error"), "status: expected an error"),
    lambda c: change_result(c, lambda r: not is_ok(r) and "variant" not in r and "eligibility" not in r,
                            lambda r, f: set_in(r, "status", "ok"), "status: expected ok, got error["),
    lambda c: change_result(c, is_ok, lambda r, f: set_in(r, "variant", "other"), 'variant: expected "other", got'),
    lambda c: change_result(c, lambda r: "eligibility" in r, lambda r, f: set_in(r, "eligibility", "?" + r["eligibility"][1:]),
                            'eligibility: expected "?'),
    lambda c: change_result(c, is_ok, lambda r, f: set_in(output_of(r), "shape", [77]), "shape: expected [77], got"),
    lambda c: change_result(c, is_ok, lambda r, f: set_in(output_of(r), "dtype", "int8"), 'dtype: expected "int8", got'),
    lambda c: change_result(c, lambda r: is_ok(r) and "storage" in output_of(r), lambda r, f: set_in(output_of(r), "storage", "int8"),
                            'storage: expected "int8", got'),
    lambda c: change_result(c, is_ok, lambda r, f: set_in(r["outputs"], "ghost", {"shape": [1], "dtype": "float32"}),
                            "outputs.ghost: expected"),
    lambda c: change_result(c, has_pass, lambda r, f: set_in(pass_of(r), "id", "other"), 'passes: expected ["other"'),
    lambda c: change_result(c, lambda r: is_ok(r) and len(r["passes"]) > 1, lambda r, f: r["passes"].reverse(), "passes: expected ["),
    lambda c: change_result(c, has_pass, lambda r, f: set_in(pass_of(r), "dispatch", [9, 9, 9]), "dispatch: expected [9,9,9], got"),
    lambda c: change_result(c, has_pass, lambda r, f: set_in(pass_of(r)["bindings"][0], "size", 99), "bindings.0: expected {"),
    lambda c: change_result(c, has_pass, lambda r, f: set_in(pass_of(r)["bindings"][0], "name", "other"), "bindings.0: expected {"),
    lambda c: change_result(c, has_pass, lambda r, f: set_in(pass_of(r)["bindings"][0], "type", "storage"), "bindings.0: expected {"),
    lambda c: change_result(c, has_pass, lambda r, f: pass_of(r)["bindings"].pop(), "bindings: expected ["),
    lambda c: change_result(c, has_uniform, lambda r, f: uniform_of(r, "zz"), "uniforms: expected {"),
    lambda c: change_result(c, has_pass, change_shader, "shader line"),
    lambda c: change_result(c, has_scratch, lambda r, f: set_in(scratch_of(r), "byte_length", 1), "scratch."),
    lambda c: change_result(c, has_scratch, lambda r, f: set_in(scratch_of(r), "shape", [1, 2, 3]), "scratch."),
    lambda c: change_result(c, is_ok, lambda r, f: set_in(r, "submits", 9), "submits: expected 9, got"),
]


def main(program, source):
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(source, folder)
        status, (passed, failed, skipped), differences = run(program, corpus.root)
        if status != 0 or failed != 0 or differences:
            sys.exit("the unchanged corpus does not hold:\n" + "\n".join(differences))
        empty = pathlib.Path(folder) / "empty"
        (empty / "expectations").mkdir(parents=True)
        shutil.copyfile(corpus.root / "profiles.json", empty / "profiles.json")
        done = subprocess.run([program, str(empty)], capture_output=True, text=True)
        if done.returncode != 3 or "no record" not in done.stderr:
            failures += 1
            print(f"a corpus without records: wanted status 3, got {done.returncode}: {done.stdout}{done.stderr}")
        for number, change in enumerate(CHANGES):
            name, record, message = change(corpus)
            status, counts, differences = run(program, corpus.root)
            shutil.copyfile(pathlib.Path(source) / name, corpus.root / name)
            as_planned = (status == 1 and counts == [passed - 1, 1, skipped] and len(differences) == 1
                          and differences[0].startswith(record) and message in differences[0])
            if not as_planned:
                failures += 1
                print(f"change {number} in {name}: wanted one difference of '{record}' with '{message}', got status {status}, {counts}:")
                print("\n".join(differences[:5]))
    print(f"{len(CHANGES) + 1 - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
