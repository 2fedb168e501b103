# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Messages, progress, and small helpers of ./dev. Everything printed here goes to standard error.

say() { printf '%s\n' "$*" >&2; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit "${3:-1}"
}
usage_error() { die "$1" "see ./dev help" 2; }
have() { command -v "$1" >/dev/null 2>&1; }

# Where roots, logs and stamps live. WGK_DEV_CACHE overrides it.
cache_dir() {
  if [ -n "${WGK_DEV_CACHE:-}" ]; then
    printf '%s\n' "$WGK_DEV_CACHE"
  else
    printf '%s\n' "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/wgkernels"
  fi
}

# step LOG TEXT CMD...: runs CMD with its output in LOG. On a terminal one line shows the time and the last thing that CMD
# said, and is gone at the end; elsewhere plain lines, one now and then. A failure shows the end of the log.
step() {
  local log=$1 text=$2 start=$SECONDS rc=0 pid
  shift 2
  [ -t 2 ] || say "$text ..."
  "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  STEP_PID=$pid
  if [ -t 2 ]; then show_progress "$pid" "$text" "$log"; else show_heartbeat "$pid" "$log"; fi
  wait "$pid" || rc=$?
  STEP_PID=
  if [ "$rc" -ne 0 ]; then
    say "$text: failed after $((SECONDS - start)) s; the end of $log:"
    tail -n 25 "$log" | sed 's/^/  /' >&2
    return "$rc"
  fi
  say "$text: done in $((SECONDS - start)) s"
}

show_progress() {
  local pid=$1 text=$2 log=$3 start=$SECONDS last width
  width=$(tput cols 2>/dev/null || echo 80)
  while kill -0 "$pid" 2>/dev/null; do
    last=$(tail -n 1 "$log" 2>/dev/null | tr -cd '[:print:]')
    last="$text: $((SECONDS - start)) s  $last"
    printf '\r\033[K%s' "${last:0:$((width - 1))}" >&2
    sleep 0.3
  done
  printf '\r\033[K' >&2
}

# Where there is no terminal, a sign of life now and then.
show_heartbeat() {
  local pid=$1 log=$2 shown=$SECONDS
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [ $((SECONDS - shown)) -ge "${WGK_DEV_HEARTBEAT:-30}" ]; then
      shown=$SECONDS
      say "         $(tail -n 1 "$log" | tr -cd '[:print:]' | cut -c1-100)"
    fi
  done
}

# A run that is stopped takes its set-up with it and leaves no half-made root.
on_exit() {
  local rc=$?
  if [ -n "${STEP_PID:-}" ]; then
    kill -KILL "$STEP_PID" 2>/dev/null || true
    wait "$STEP_PID" 2>/dev/null || true
  fi
  remove_setup_tmp
  exit "$rc"
}
