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

microseconds() { # CMD...: how long it takes
  local start=${EPOCHREALTIME/[.,]/}
  "$@" >/dev/null
  echo $((${EPOCHREALTIME/[.,]/} - start))
}

# What nobody can do without: another mount namespace and another root where that is allowed, else a shell; where ./dev starts
# containers, a bare one.
bare_entry() {
  local engine=podman
  if [ "${WGK_DEV_MODE:-}" = container ]; then
    ! command -v docker >/dev/null || engine=docker
    "$engine" run --rm --network host "$("$engine" images -q wgkernels-dev | head -n 1)" true
    return
  fi
  unshare --mount --propagation private chroot / /bin/true 2>/dev/null || bash -c :
}

# adds_little WHAT CMD...: the fastest of 7 is at most 200 ms, or, on a machine that is busy with something else, at most 50
# times what a bare entry takes between these runs (4 ms on a quiet one). A container's own start, which takes 400 ms
# or, on a busy machine, more, comes on top.
adds_little() {
  local what=$1 all_ours=() all_bare=() ours bare most
  shift
  for _ in 1 2 3 4 5 6 7; do
    all_bare+=("$(microseconds bare_entry)")
    all_ours+=("$(microseconds "$@")")
  done
  bare=$(printf '%s\n' "${all_bare[@]}" | sort -n | head -n 1)
  ours=$(printf '%s\n' "${all_ours[@]}" | sort -n | head -n 1)
  most=$((bare * 50 > 200000 ? bare * 50 : 200000))
  [ "${WGK_DEV_MODE:-}" != container ] || most=$((bare + (bare / 2 > 200000 ? bare / 2 : 200000)))
  printf '     %s: %s us, a bare entry %s us (fastest of 7 each)\n' "$what" "$ours" "$bare"
  [ "$ours" -le "$most" ] || fail "$what takes $ours us; at most $most are allowed"
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
