#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The relocatable folder works outside the environment, from a path with blanks, with nothing of the host's libraries.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2317,SC2329
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$DEV" bundle --archive "$made/wgkernels" >"$made/out" || exit 1
mkdir "$made/a folder"
mv "$made/wgkernels" "$made/a folder/moved"
bundle="$made/a folder/moved"
package=$bundle/kernels/com.microsoft.SkipSimplifiedLayerNormalization
case_name=$(grep -o '"name": *"[^"]*"' "$package/build/webgpu/test.json" | head -n 1 | sed 's/.*"name": *"//; s/"$//')

test_it_says_where_it_is() {
  same "output" "$made/wgkernels.tar.xz $made/wgkernels" "$(tr '\n' ' ' <"$made/out" | sed 's/ $//')"
}

test_it_finds_the_software_device() {
  contains "devices" llvmpipe "$(env -i "$bundle/wgk" devices)"
}

test_it_runs_a_case_of_a_package() {
  contains "result" "1 passed, 0 failed" "$(env -i "$bundle/wgk" test "$package" --case "$case_name")"
}

# The same call gives the same bytes as inside the environment.
test_it_computes_what_the_program_computes() {
  local data=$REPO/examples/data
  "$DEV" run --input "input=$data/input.f16.npy" --input "skip=$data/skip.f16.npy" --input "gamma=$data/gamma.f16.npy" \
    --output "output=$PWD/inside.npy" >/dev/null || fail "./dev run failed"
  data=$bundle/examples/data
  env -i "$bundle/wgk" run "$package" --input "input=$data/input.f16.npy" --input "skip=$data/skip.f16.npy" \
    --input "gamma=$data/gamma.f16.npy" --output output=outside.npy >/dev/null || fail "the bundle's run failed"
  cmp inside.npy outside.npy || fail "the outputs differ"
}

test_every_library_is_its_own() {
  local listed
  listed=$("$bundle/lib/ld-linux.so" --library-path "$bundle/lib" --list "$bundle/bin/wgk"
    "$bundle/lib/ld-linux.so" --library-path "$bundle/lib" --list "$bundle/lib/libvulkan_lvp.so")
  listed=$(grep '=>' <<<"$listed" | grep -vF "=> $bundle/lib/" || true)
  same "libraries from elsewhere" "" "$listed"
}

test_arguments_status_and_streams() {
  local rc=0
  env -i "$bundle/wgk" nonsense >out 2>err || rc=$?
  same "status" 2 "$rc"
  same "standard output" "" "$(cat out)"
}

test_archive_is_small() {
  local size
  size=$(stat -c %s "$made/wgkernels.tar.xz")
  printf '     %s MiB\n' "$((size >> 20))"
  [ "$size" -lt $((64 << 20)) ] || fail "the archive has $size bytes; 64 MiB are allowed"
}

run_tests
