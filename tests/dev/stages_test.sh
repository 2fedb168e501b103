#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The stages of ./dev test: what their closing lines say.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2030,SC2031,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

# stage_result: runs stage_sample in a repository of its own and prints its closing line.
stage_result() {
  bash -c '
    set -euo pipefail
    . "$1/tools/dev/common.sh"
    . "$1/tools/dev/test.sh"
    REPO=$2 RESULTS=() FAILED=0
    mkdir -p "$REPO/build/test"
    '"$1"'
    run_stage sample 2>err
    printf "%s failed=%s\n" "${RESULTS[0]}" "$FAILED"
  ' _ "$REPO" "$PWD"
}

test_passed() {
  contains "line" "s  passed failed=0" "$(stage_result 'stage_sample() { part first true; part second true; }')"
}

test_skipped_parts_are_named() {
  local line
  line=$(stage_result 'stage_sample() { part first bash -c "echo needs root; exit 77"; part second true; part third bash -c "echo no tool; exit 77"; }')
  contains "line" "s  passed, skipped: first (needs root), third (no tool) failed=0" "$line"
}

test_a_failed_part_fails() {
  contains "line" "FAILED" "$(stage_result 'stage_sample() { part first false || return 1; }')"
  contains "count" "failed=1" "$(stage_result 'stage_sample() { part first false || return 1; }')"
}

test_a_skipped_stage_says_why() {
  contains "line" "s  skipped: not here failed=0" "$(stage_result 'stage_sample() { echo not here; return 77; }')"
}

run_tests
