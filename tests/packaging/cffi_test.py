# SPDX-License-Identifier: Apache-2.0
"""Reads the C header with a foreign-function generator and calls the library through it.

usage: cffi_test.py HEADER LIBRARY
"""

import re
import subprocess
import sys

import cffi


def declarations(header):
    """The header as the generator wants it: preprocessed, without the system's own declarations."""
    text = subprocess.run(
        ["cc", "-E", "-P", "-DWGK_API=", "-D__attribute__(x)=", header], check=True, capture_output=True, text=True
    ).stdout
    start = text.index("uint32_t wgk_version")
    text = text[start:].replace("_Bool", "bool")
    return re.sub(r"\(1\b.*?\)", lambda match: match.group(0), text)


def main():
    ffi = cffi.FFI()
    ffi.cdef(declarations(sys.argv[1]))
    library = ffi.dlopen(sys.argv[2])
    version = library.wgk_version()
    error = ffi.new("wgk_error **")
    package = ffi.new("wgk_package **")
    status = library.wgk_package_open(b"/nowhere", package, error)
    code = ffi.string(library.wgk_error_code(error[0])).decode()
    library.wgk_error_free(error[0])
    print(f"cffi: version {version}, status {status}, code {code}")
    return 0 if status == library.WGK_ERROR_STORE and code == "store/not-found" else 1


if __name__ == "__main__":
    sys.exit(main())
