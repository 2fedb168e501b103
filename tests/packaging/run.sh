#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree and builds everything a user may build against it.
# usage: tests/packaging/run.sh BUILD_FOLDER [--rebaseline]
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
here=$repo/tests/packaging
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
package=$repo/kernels/com.microsoft.SkipSimplifiedLayerNormalization
generator=(-G Ninja -DCMAKE_BUILD_TYPE=Release)

step() { printf '== %s\n' "$*"; }

# Both are in packages.txt: without them parts of this would pass unseen.
python3 -c 'import cffi' || { echo "packaging: python3-cffi is missing; install what packages.txt lists" && exit 1; }
command -v abidw >/dev/null || { echo "packaging: abigail-tools is missing; install what packages.txt lists" && exit 1; }

step "install"
cmake --install "$build" --prefix "$prefix" >/dev/null
export CMAKE_PREFIX_PATH=$prefix
library=$(find "$prefix" -name 'libwgkernels.so' | head -n 1)
libdir=$(dirname "$library")
export LD_LIBRARY_PATH=$libdir PKG_CONFIG_PATH=$libdir/pkgconfig

step "the installed packages are the published ones"
diff -r --exclude=common "$repo/kernels" "$prefix/share/wgkernels/kernels"

step "find_package, C++"
cmake -S "$here/find_package" -B "$work/find_package" "${generator[@]}" >/dev/null
cmake --build "$work/find_package" >/dev/null
"$work/find_package/plan"
if ldd "$work/find_package/plan" | grep -i dawn; then
  echo "the core must not need a WebGPU library" && exit 1
fi
"$work/find_package/run" "$package"

step "find_package, C99"
cmake -S "$here/c_consumer" -B "$work/c_consumer" "${generator[@]}" >/dev/null
cmake --build "$work/c_consumer" >/dev/null
"$work/c_consumer/run" "$package"
cmake -S "$here/c_consumer" -B "$work/c_static" "${generator[@]}" -DLIBRARY=c_static >/dev/null
cmake --build "$work/c_static" >/dev/null
"$work/c_static/run" "$package"
if ldd "$work/c_static/run" | grep -i libwgkernels; then
  echo "the static program must not need the shared library" && exit 1
fi

step "pkg-config, C and C++"
# shellcheck disable=SC2046 # flags are words
cc -std=c99 -pedantic-errors "$here/c_consumer/main.c" $(pkg-config --cflags --libs wgkernels) -o "$work/c"
"$work/c" "$package"
# shellcheck disable=SC2046
c++ "$here/find_package/run.cpp" $(pkg-config --cflags --libs wgkernels-cpp) -o "$work/cpp"
"$work/cpp" "$package"

step "the C header in C++ and in a foreign-function generator"
printf '#include <wgk.h>\n#include <webgpu/webgpu.h>\n#include <wgk/wgk.h>\nint main() { return wgk_version() == 0; }\n' >"$work/both.cpp"
c++ -std=c++23 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$work/both.cpp"
python3 "$here/cffi_test.py" "$prefix/include/wgk.h" "$libdir/libwgkernels.so"

step "C reaches whatever C++ does"
python3 "$here/c_coverage_test.py" "$repo"

step "exports"
nm -D --defined-only "$library" | awk '{ print $NF }' | sort >"$work/exports"
if grep -v '^wgk_' "$work/exports"; then
  echo "nothing but wgk_* may be exported" && exit 1
fi
grep -o 'wgk_[a-z_0-9]*(' "$repo/include/wgk.h" | tr -d '(' | sort -u >"$work/declared"
diff "$work/declared" "$work/exports"
readelf -d "$library" >"$work/dynamic"
grep -q 'SONAME.*libwgkernels\.so\.[0-9]' "$work/dynamic"

# Whatever calls WebGPU goes through one table, which one file fills.
if grep -nE '\bwgpu[A-Z][A-Za-z]*\(' "$repo"/src/{gpu,runtime,capi}/*.{h,cpp} | grep -vE '/(procs|[a-z_]*(_test|_bench|_support))\.(cpp|h):'; then
  echo "only procs.cpp may name WebGPU functions" && exit 1
fi

# abidiff does not see the values of enums without a name.
step "the values of constants against the baseline"
constants() { grep -o 'WGK_[A-Z0-9_]* = [0-9-]*' "$repo/include/wgk.h"; }
if [ "${2:-}" = --rebaseline ]; then constants >"$here/constants.txt"; fi
diff "$here/constants.txt" <(constants) || { echo "constants never change; added ones belong into the baseline (--rebaseline)" && exit 1; }

step "ABI against the baseline"
baseline=$here/wgkernels.abi
dump() {
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-architecture --drop-private-types --headers-dir "$prefix/include" \
    --header-file "$prefix/include/wgk.h" "$1"
}
if [ "${2:-}" = --rebaseline ]; then
  dump "$library" | sed "s| path='/[^']*/build/[^/]*/| path='|" >"$baseline"   # no path of the machine
else
  # A function that the baseline lacks could be changed or removed unseen.
  sed -n "s/.*<elf-symbol name='\(wgk_[a-z_0-9]*\)'.*/\1/p" "$baseline" | sort -u >"$work/in_baseline"
  diff "$work/declared" "$work/in_baseline" || { echo "declared and baseline differ: added functions belong into it (--rebaseline)" && exit 1; }
  dump "$library" >"$work/now.abi"
  # Additions are fine; anything removed or changed is not.
  abidiff --no-added-syms "$baseline" "$work/now.abi"
  sed 's/wgk_\*/wgk_[!t]*; wgk_tensor_[!s]*/' "$repo/cmake/wgkernels.map" >"$work/broken.map"
  c++ -shared -o "$work/broken.so" -Wl,--whole-archive "$libdir/libwgkernels_c_static.a" -Wl,--no-whole-archive \
    -Wl,--version-script="$work/broken.map" -L"$libdir" -lwgkernels_runtime -lwgkernels_core -lwebgpu_dawn -lcrypto
  dump "$work/broken.so" >"$work/broken.abi"
  if abidiff --no-added-syms "$baseline" "$work/broken.abi" >"$work/broken.txt"; then
    echo "a library without wgk_tensor_share and wgk_tensor_storage must not pass" && exit 1
  fi
  grep -q wgk_tensor_share "$work/broken.txt"
fi

step "add_subdirectory"
# With the flags of the build under test and at the same depth, so that ccache has every object already.
subdirectory=$(dirname "$build")/packaging
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cmake -S "$here/subdirectory" -B "$subdirectory" -G Ninja -DWGK_SOURCE="$repo" -DCMAKE_BUILD_TYPE="$(cached CMAKE_BUILD_TYPE)" \
  -DCMAKE_CXX_FLAGS="$(cached CMAKE_CXX_FLAGS)" -DCMAKE_CXX_FLAGS_RELEASE="$(cached CMAKE_CXX_FLAGS_RELEASE)" \
  -DWGK_WARNINGS_AS_ERRORS="$(cached WGK_WARNINGS_AS_ERRORS)" -DWGK_UNITY="$(cached WGK_UNITY)" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_LINKER_TYPE=MOLD >/dev/null
cmake --build "$subdirectory" --target run -- -j2 >/dev/null
"$subdirectory/run" "$package"

step "archives"
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/packed" >/dev/null)
tar -tzf "$work"/packed/wgkernels-*.tar.gz >"$work/in_archive"
grep -q 'lib/.*libwgkernels\.so\.[0-9]' "$work/in_archive"
dpkg-deb --contents "$work"/packed/wgkernels_*.deb >"$work/in_package"
grep -q 'include/wgk\.h' "$work/in_package"
dpkg-deb --field "$work"/packed/wgkernels_*.deb Package Version Architecture
mkdir "$work/elsewhere"
tar -xzf "$work"/packed/wgkernels-*.tar.gz -C "$work/elsewhere" --strip-components=1
cmake -S "$here/c_consumer" -B "$work/moved" "${generator[@]}" -DCMAKE_PREFIX_PATH="$work/elsewhere" >/dev/null
cmake --build "$work/moved" >/dev/null
LD_LIBRARY_PATH=$work/elsewhere/lib "$work/moved/run" "$package"
dpkg-deb --extract "$work"/packed/wgkernels_*.deb "$work/debian"
PKG_CONFIG_PATH=$(dirname "$(find "$work/debian" -name wgkernels.pc)")
# shellcheck disable=SC2046 # flags are words
cc -std=c99 "$here/c_consumer/main.c" $(pkg-config --cflags --libs wgkernels) -o "$work/from_deb"
LD_LIBRARY_PATH=$(dirname "$(find "$work/debian" -name libwgkernels.so)") "$work/from_deb" "$package"
echo "packaging: passed"
