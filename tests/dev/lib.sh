# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A few helpers for the tests of ./dev. A test is a function test_NAME; run_tests runs each in a subshell with a fresh folder.

REPO=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export DEV=$REPO/dev

fail() {
  printf '    %s\n' "$@"
  exit 1
}

# same WHAT EXPECTED GOT
same() { [ "$2" = "$3" ] || fail "$1" "expected: $(printf %q "$2")" "got:      $(printf %q "$3")"; }
contains() { [[ "$3" == *"$2"* ]] || fail "$1" "expected to contain: $2" "got: $3"; }

# eventually SECONDS CMD...: CMD succeeds before the time is over.
eventually() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.05
  done
}

run_tests() {
  local name failed=0 count=0 dir rc
  for name in $(compgen -A function test_); do
    dir=$(mktemp -d)
    count=$((count + 1))
    ( # not as the condition of an if: there, set -e would not work
      set -e
      cd "$dir"
      "$name"
    )
    rc=$?
    if [ "$rc" = 0 ]; then
      printf 'ok   %s\n' "$name"
    else
      printf 'FAIL %s\n' "$name"
      failed=$((failed + 1))
    fi
    rm -rf --one-file-system "$dir"
  done
  printf '%s: %s passed, %s failed\n' "$(basename "$0")" "$((count - failed))" "$failed"
  [ "$failed" = 0 ]
}
