# SPDX-License-Identifier: Apache-2.0
"""Every public member of the C++ handles, each of its overloads, and every option has its C counterpart.

A member or an overload that is new in C++ must be given its C function here, or the test fails.

usage: c_coverage_test.py REPOSITORY
"""

import collections
import pathlib
import re
import sys

# C++ class -> member -> the C function, or a list of those that do it together. A member with overloads: what tells them apart -> the same.
MEMBERS = {
    "Runtime": {
        "create": "wgk_runtime_create", "adopt": "wgk_runtime_adopt", "adapters": "wgk_adapters", "describe": "wgk_runtime_describe",
        "caps": "wgk_runtime_describe", "device": "wgk_runtime_device", "queue": "wgk_runtime_queue", "instance": "wgk_runtime_instance",
        "load": {"place": "wgk_kernel_load", "package": "wgk_kernel_from_package"}, "upload": "wgk_tensor_upload", "empty": "wgk_tensor_empty",
        "zeros": "wgk_tensor_zeros", "prewarm": "wgk_runtime_prewarm", "prewarm_remembered": "wgk_runtime_prewarm_remembered",
        "make_arena": "wgk_arena_create", "poll": "wgk_runtime_poll", "wait_idle": "wgk_runtime_wait_idle", "stats": "wgk_runtime_get_stats",
        "trim": "wgk_runtime_trim", "lost": "wgk_runtime_lost", "rebuild": "wgk_runtime_rebuild",
    },
    "Package": {
        "open": ["wgk_package_open", "wgk_package_open_within"], "op_id": "wgk_package_info", "origin": "wgk_package_info", "digest": "wgk_package_info",
        "inputs": "wgk_package_info", "outputs": "wgk_package_info", "variants": "wgk_package_info", "plan": "wgk_package_plan",
        "explain": "wgk_package_explain",
    },
    "Planner": {"package": "wgk_planner_info", "caps": "wgk_planner_info", "plan": "wgk_planner_plan", "explain": "wgk_planner_explain"},
    "Tensor": {
        "wrap": "wgk_tensor_wrap", "dtype": "wgk_tensor_dtype", "storage": "wgk_tensor_storage", "packed": "wgk_tensor_packed",
        "shape": ["wgk_tensor_shape", "wgk_tensor_rank"], "elements": "wgk_tensor_elements", "byte_length": "wgk_tensor_byte_length",
        "byte_offset": "wgk_tensor_byte_offset", "buffer": "wgk_tensor_buffer", "borrowed": "wgk_tensor_borrowed",
        "download": {"all": ["wgk_tensor_download", "wgk_tensor_host_size"], "range": "wgk_tensor_download", "elements of T": "wgk_tensor_download"}, "upload": "wgk_tensor_write", "reshaped": "wgk_tensor_reshape",
    },
    "Kernel": {
        "package": "wgk_kernel_info", "op_id": "wgk_kernel_info", "call": "wgk_kernel_call", "start": "wgk_kernel_start",
        "plan": {"signature": "wgk_kernel_plan", "call": "wgk_kernel_plan_call"},
        "explain": {"signature": "wgk_kernel_explain", "call": "wgk_kernel_explain_call"},
        "memory": {"signature": "wgk_kernel_memory", "call": "wgk_kernel_memory_call"}, "prepare": "wgk_kernel_prepare", "start_prepare": "wgk_kernel_start_prepare",
    },
    "Prepared": {
        "plan": "wgk_prepared_plan", "memory": "wgk_prepared_memory", "bind": "wgk_prepared_bind", "make_output": "wgk_prepared_make_output",
        "make_outputs": ["wgk_prepared_make_outputs", "wgk_prepared_output_count", "wgk_prepared_output_name"],
    },
    "Bound": {
        "needs": "wgk_bound_needs", "plan": "wgk_bound_plan", "staging_notes": "wgk_bound_staging_notes",
        "record": {"pass": "wgk_bound_record_pass", "encoder": "wgk_bound_record_encoder"}, "submit": "wgk_bound_submit", "run": "wgk_bound_run",
        "run_and_read": "wgk_bound_run_and_read", "update": "wgk_bound_update",
    },
    "Submission": {"ready": "wgk_future_ready", "wait": "wgk_future_wait", "then": "wgk_future_then", "cancel": "wgk_future_cancel"},
    "Future": {"ready": "wgk_future_ready", "wait": "wgk_future_wait", "then": "wgk_future_then", "cancel": "wgk_future_cancel"},
    "Arena": {"bytes": "wgk_arena_bytes"},
    "CallResult": {
        "at": "wgk_result_tensor", "outputs": ["wgk_result_count", "wgk_result_name"], "plan": ["wgk_result_plan", "wgk_result_variant"],
        "timing": "wgk_result_timing",
    },
    "DeviceNeeds": {
        "items": "wgk_device_needs_list", "add_to": "wgk_device_needs_add_to", "wants_unsafe_apis": "wgk_device_needs_wants_unsafe_apis",
    },
}

# Functions that belong to no class: name -> C function of each overload.
FREE = {"memory": {"prepared": "wgk_prepared_memory", "bound": "wgk_bound_memory"}, "device_needs": "wgk_device_needs_create"}

# C++ struct -> C struct; fields that are called differently.
STRUCTS = {
    "CommonOptions": ("wgk_runtime_options", {"timeout": "timeout_ns", "memory": "memory_cap", "debug_groups": "no_debug_groups", "procs": "get_proc_address"}),
    "RuntimeOptions": ("wgk_runtime_options", {"experimental": "no_experimental_features"}),
    "AdoptOptions": ("wgk_runtime_options", {}),
    "AdapterChoice": ("wgk_runtime_options", {"device": "adapter", "allow_software": "no_software_adapter"}),
    "MemoryLimits": ("wgk_runtime_options", {"cap": "memory_cap", "pool": ["memory_pool", "no_memory_pool"]}),
    "DeviceNeedsOptions": ("wgk_device_needs_options", {"procs": "get_proc_address"}),
    "RuntimeStats": ("wgk_runtime_stats", {}),
    "CallOptions": ("wgk_call_options", {}),
    "Signature": ("wgk_signature", {}),
    "Output": ("wgk_output", {}),
    "MemoryNeeds": ("wgk_memory_needs", {}),
    "CallTiming": ("wgk_call_timing", {}),
    "BindOptions": ("wgk_bind_options", {}),
    "TensorForm": ("wgk_tensor_form", {}),
    "HostTensor": ("wgk_host_tensor", {}),
    "Signature::Input": ("wgk_signature_input", {}),
    "UploadOptions": ("wgk_upload_options", {}),
    "LoadOptions": ("wgk_load_options", {}),
    "PlanOptions": ("wgk_plan_options", {"check_bindings": "no_check_bindings"}),
    "Request": ("wgk_request", {}),
    "TensorDesc": ("wgk_tensor_desc", {"range": "has_range"}),
    "OutputDesc": ("wgk_output_desc", {}),
    "BufferRange": ("wgk_tensor_desc", {}),
}

# C++ struct -> the parameters of a C function.
PARAMETERS = {"Loss": "wgk_runtime_lost"}

# C++ struct -> the keys of a JSON text that src/capi writes.
TEXTS = ["DeviceNeed", "DeviceDescription", "AdapterDescription", "PortInfo"]

# Public classes and structs that C has in another form, each with the form.
OTHER_FORMS = {
    "Error": "wgk_error", "Json": "JSON texts", "HostArray": "bytes that the caller has room for", "Prewarm": "parameters of wgk_runtime_prewarm",
    "DeviceCaps": "JSON texts", "SubgroupMatrixConfig": "in DeviceCaps", "VariantOff": "the option quirks",
    "Plan": "JSON texts", "PlanTensor": "in Plan", "PlanScratch": "in Plan", "PlanBinding": "in Plan", "PlanUniform": "in Plan", "PlanPass": "in Plan",
    "SkippedPass": "in Plan", "Explanation": "JSON texts", "VariantDecision": "in Explanation",
    "Limits": "a JSON text of wgk_package_open_within", "LimitName": "a key of it",
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def body(text, head):
    """The text between the braces that follow `head`."""
    found = re.search(head + r"[^;{]*\{", text)
    if not found:
        sys.exit(f"{head} was not found")
    depth, at = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[found.end() : at - 1]


def flat(text):
    """Without what stands in nested braces or in parentheses."""
    while True:
        shorter = re.sub(r"\{[^{}]*\}", ";", text)
        if shorter == text:
            return text
        text = shorter


def public_members(text, name):
    inside = body(text, rf"class {name}\b")
    public = "".join(part for part in re.split(r"(?=\b(?:public|private):)", inside) if part.startswith("public:"))
    names = collections.Counter(re.findall(r"\b([a-z_]+)\((?!\*)", flat(public)))
    return {name: count for name, count in names.items() if name not in NO_MEMBERS}


# Words before a parenthesis in the class bodies that are no members.
NO_MEMBERS = {"impl", "impl_", "parts_", "shared", "move", "package_", "state_", "options_", "requires", "exchange", "make_shared", "explicit", "operator", "callback", "void", "bool", "function"}


def fields(text, name, kind):
    inside = flat(body(text, rf"struct {name}\b")) if kind == "c++" else body(text, rf"struct {name}\b")
    found = set()
    for statement in inside.replace("\n", " ").split(";"):
        if "(" in re.sub(r"=.*", "", statement) or "operator" in statement or re.match(r"\s*(struct \w+\s*$|enum\b|explicit\b|template\b)", statement):
            continue
        for part in re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", "", statement).split(","):
            word = re.search(r"([a-z_]+)\s*(=|$)", part.strip())
            if word and (" " in part.strip() or "," in statement):
                found.add(word.group(1))
    return found


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class Comparison:
    def __init__(self, repository):
        self.cpp = without_comments("\n".join(path.read_text(encoding="utf-8") for path in sorted((repository / "include/wgk").glob("*.h"))))
        self.c = without_comments((repository / "include/wgk.h").read_text(encoding="utf-8"))
        self.sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((repository / "src/capi").glob("c_*.cpp")))
        self.functions = dict(re.findall(r"\b(wgk_[a-z_0-9]+)\(([^;]*)\);", self.c))
        self.wrong, self.checked = [], 0

    def overloads(self, name, count, targets):
        """`count` overloads in C++, each with its C functions."""
        kinds = targets if isinstance(targets, dict) else {"": targets}
        if len(kinds) != count:
            self.wrong.append(f"{name} has {count} overloads in C++, {len(kinds)} in this test's table")
        for found in kinds.values():
            for target in [found] if isinstance(found, str) else found:
                self.checked += 1
                if target not in self.functions:
                    self.wrong.append(f"{name}: {target} is not in wgk.h")

    def every_type(self):
        """Nothing public is in no table."""
        known = MEMBERS.keys() | STRUCTS.keys() | PARAMETERS.keys() | set(TEXTS) | OTHER_FORMS.keys()
        public = set(re.findall(r"^(?:class|struct) (\w+)[^;{]*\{", self.cpp, flags=re.M))
        self.wrong += [f"{name} is public and in no table of this test" for name in sorted(public - known)]
        self.wrong += [f"{name} is in this test's tables but not public" for name in sorted(known - public - {"Signature::Input"})]

    def classes(self):
        for name, members in MEMBERS.items():
            found = public_members(self.cpp, name)
            self.wrong += [f"{name}::{member} has no C function in this test's table" for member in sorted(found.keys() - members)]
            self.wrong += [f"{name}::{member} is in the table but not in the header" for member in sorted(members.keys() - found)]
            for member, targets in members.items():
                self.overloads(f"{name}::{member}", found.get(member, 0), targets)
        for name, targets in FREE.items():
            self.overloads(name, len(re.findall(rf"^\w[^\n(]* {name}\(", self.cpp, flags=re.M)), targets)

    def field(self, name, field, there, place):
        self.checked += 1
        if field not in there:
            self.wrong.append(f"{name}.{field} has no counterpart in {place}")

    def structs(self):
        for name, (struct, renamed) in STRUCTS.items():
            outer, _, inner = name.rpartition("::")
            text = body(self.cpp, rf"struct {outer}\b") if outer else self.cpp
            there = fields(self.c, struct, "c")
            for field in sorted(fields(text, inner, "c++")):
                for counterpart in [renamed.get(field, field)] if isinstance(renamed.get(field, field), str) else renamed[field]:
                    self.field(name, counterpart, there, struct)
        for name, function in PARAMETERS.items():
            words = set(re.findall(r"[a-z_]+", self.functions[function]))
            for field in sorted(fields(self.cpp, name, "c++")):
                self.field(name, field, words, function)
        for name in TEXTS:
            for field in sorted(fields(self.cpp, name, "c++")):
                self.field(name, f'{{"{camel(field)}"', re.findall(r'\{"\w+"', self.sources), "a JSON text of src/capi")


def main():
    comparison = Comparison(pathlib.Path(sys.argv[1]))
    comparison.every_type()
    comparison.classes()
    comparison.structs()
    for line in comparison.wrong:
        print(line)
    print(f"c coverage: {comparison.checked} members and fields compared, {len(comparison.wrong)} wrong")
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
