#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ./dev run on the committed capture and on files that the caller names.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2317,SC2329
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

test_it_computes_the_committed_capture() {
  rm -f "$REPO/out/output.npy" "$REPO/out/input_skip_bias_sum.npy"
  "$DEV" run >out
  for word in package device variant time 'largest error' com.microsoft.SkipSimplifiedLayerNormalization; do
    contains "the table" "$word" "$(cat out)"
  done
  for name in output input_skip_bias_sum; do
    contains "the head of $name.npy" "NUMPY" "$(head -c 6 "$REPO/out/$name.npy")"
  done
}

# Options that name no input leave the capture in place.
test_options_keep_the_committed_capture() {
  "$DEV" run --verbose --device 0 >out 2>err
  contains "the table" "(27, 576)" "$(cat out)"
  contains "what --verbose says" "first call: plan" "$(cat err)"
  contains "JSON" '"largestError"' "$("$DEV" run --json)"
  "$DEV" run --output output=mine.npy >out
  contains "the table" "mine.npy" "$(cat out)"
  cmp mine.npy "$REPO/out/output.npy" || fail "another result"
  "$DEV" run --output output=other.npy --attr epsilon=1 >out
  ! cmp -s mine.npy other.npy || fail "the caller's epsilon had no effect"
  same "the usage" 0 "$("$DEV" run -h >out; echo $?)"
  contains "the usage" "wgk run" "$(cat out)"
}

test_it_takes_other_files() {
  local data=$REPO/examples/data
  "$DEV" run --input "input=$data/input.f16.npy" --input "skip=$data/skip.f16.npy" --input "gamma=$data/gamma.f16.npy" \
    --output output=mine.npy >out
  contains "the table" "largest error" "$(cat out)"
  [ -s mine.npy ] || fail "mine.npy was not written"
}

test_a_wrong_file_leaves_nothing_behind() {
  local rc=0
  echo text >input.npy
  "$DEV" run --input input=input.npy --output output=mine.npy >out 2>err || rc=$?
  same "status" 3 "$rc"
  contains "message" "io/format" "$(cat err)"
  [ ! -e mine.npy ] || fail "mine.npy was written"
}

test_it_is_fast_once_built() {
  local start=${EPOCHREALTIME/[.,]/} took
  "$DEV" run >/dev/null
  took=$((${EPOCHREALTIME/[.,]/} - start))
  printf '     %s ms\n' "$((took / 1000))"
  [ "$took" -le 5000000 ] || fail "./dev run took $((took / 1000)) ms; at most 5000 are allowed"
}

run_tests
