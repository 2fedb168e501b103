#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves on the built libraries that the pure core calls nothing impure and keeps no state.

usage: check_purity.py BUILD_DIR     reads BUILD_DIR/**/libwgk_<module>.a of the pure modules with nm

A C function that the core needs must stand in ALLOWED_C (or in ALLOWED_C_OF for one module); of the C++ library everything is
allowed but DENIED_CXX. Variables that can be written are state and are refused, but for the guards of constant tables that
are built on first use. A library that is not there is a violation. Prints one line per violation; exits with 1 if there is one.
"""

import pathlib
import re
import subprocess
import sys

PURE = ["base", "json", "expr", "jinja", "package", "plan"]

ALLOWED_C = set(
    """memchr memcmp memcpy memmove memset strlen strcmp strncmp bcmp abort
    acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh exp exp2 expm1 fabs floor fma fmod fmodf frexp frexpf frexpl hypot ldexp log log10
    log1p log2 lround llround modf nearbyint nextafter pow rint round roundf scalbn sin sinh sqrt sqrtf tan tanh trunc
    _Unwind_Resume __stack_chk_fail __dso_handle _GLOBAL_OFFSET_TABLE_ __libc_single_threaded __tls_get_addr __memcpy_chk __memset_chk __gxx_personality_v0""".split()
)
# std::format needs it for its upper-case forms.
ALLOWED_C |= {"toupper"}
# Arithmetic that the compiler's own library does: wide integers, half and quad floats.
COMPILER_ARITHMETIC = re.compile(r"^__[a-z]+(ti|tf|hf|bf|sf|df|xf)+[a-z]*[0-9]?$")
ALLOWED_C_PREFIX = ("__cxa_", "__asan_", "__ubsan_", "__sanitizer_", "__isoc23_strto")
# nlohmann's number reader asks for the decimal point of the locale so that its result does not depend on it.
ALLOWED_C_OF = {"json": {"localeconv", "snprintf", "strtod", "strtof", "strtold", "__errno_location", "__snprintf_chk"},
                # Locks of templates that are parsed later, and of the planner's memory; no thread is ever made.
                "package": {"pthread_mutex_lock", "pthread_mutex_unlock"},
                "plan": {f"pthread_{kind}_{call}" for kind, calls in (("mutex", "lock unlock"), ("rwlock", "rdlock wrlock unlock init destroy"))
                         for call in calls.split()}}

DENIED_CXX = re.compile(
    r"std::(__cxx11::)?(filesystem|basic_[io]?f?stream|basic_i?o?stringstream|basic_ios|ios_base|basic_filebuf|basic_streambuf"
    r"|basic_regex|regex|chrono|thread|jthread|this_thread|mutex|timed_mutex|shared_mutex|condition_variable|future|promise|_V2::"
    r"|random_device|call_once|cout|cerr|clog|cin|locale::global|locale::locale\(char|system_clock|steady_clock)"
)
FOREIGN_WGK = re.compile(r"^wgk::(?!(%s)::)(store|hub|gpu|runtime|reference|verify|bench|cli|capi)::" % "|".join(PURE))
# Tables that a function builds once and never changes; a guard goes with each.
CONSTANT_TABLE = re.compile(r"^guard variable for |::k[A-Z]\w*(\[abi:cxx11\])?$|^DW\.ref\.")


def nm(library, *flags):
    done = subprocess.run(["nm", "--demangle", *flags, str(library)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def find_libraries(build):
    found = {}
    for path in sorted(build.rglob("libwgk_*.a")):
        module = path.stem.removeprefix("libwgk_")
        if module in PURE:
            found[module] = path
    return found


def undefined(library):
    lines = nm(library, "--undefined-only", "--format=posix")
    return sorted({line.rsplit(" U", 1)[0].strip() for line in lines if re.search(r" U\b", line)})


def is_cxx(symbol):
    return any(mark in symbol for mark in ("::", "(", " for ", "operator"))


def refused(module, symbol):
    if is_cxx(symbol):
        return DENIED_CXX.search(symbol) or FOREIGN_WGK.search(symbol)
    if symbol in ALLOWED_C or symbol in ALLOWED_C_OF.get(module, set()) or symbol.startswith(ALLOWED_C_PREFIX):
        return False
    return not COMPILER_ARITHMETIC.match(symbol)


def state(library):
    for line in nm(library, "--defined-only", "--format=sysv"):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 7 or cells[3] not in ("OBJECT", "TLS"):
            continue
        section = cells[6]
        if re.match(r"\.(data|bss|tdata|tbss)", section) and not section.startswith(".data.rel.ro"):
            if not CONSTANT_TABLE.search(cells[0]):
                yield cells[0], section


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    libraries = find_libraries(pathlib.Path(sys.argv[1]))
    problems = []
    problems += [f"{sys.argv[1]}: no libwgk_{module}.a; build first" for module in PURE if module not in libraries]
    for module, library in libraries.items():
        problems += [f"wgk_{module}: needs '{s}', which is not on the list of pure functions" for s in undefined(library) if refused(module, s)]
        problems += [f"wgk_{module}: keeps state: '{name}' in {section}" for name, section in sorted(set(state(library)))]
    for problem in problems:
        print(problem)
    print(f"purity: {len(problems)} violations" if problems else f"purity: {', '.join(libraries)} call nothing impure and keep no state")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
