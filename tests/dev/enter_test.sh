#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ./dev shell and ./dev wgk add nothing and lose nothing: arguments, environment, streams, status, signals, folder, paths.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2317,SC2329
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

test_arguments() {
  local args=('' 'a b' "q'u\"o" $'new\nline' '*' '$HOME' '-c' 'ü') got
  mapfile -d '' got < <("$DEV" shell -c 'printf "%s\0" "$@"' name "${args[@]}")
  same "number of arguments" "${#args[@]}" "${#got[@]}"
  for i in "${!args[@]}"; do same "argument $i" "${args[i]}" "${got[i]}"; done
}

# Run-time folder and driver list may be added, the rest is byte for byte the caller's.
test_environment() {
  env -i A='x y' B=$'two\nlines' EMPTY= 'odd.name=1' PATH="$PATH" HOME="$HOME" LANG=C.UTF-8 SHLVL=3 bash -c \
    'env -0 | sort -z | grep -zvE "^(_|SHLVL|PWD|OLDPWD)=" >out; "$1" shell -c "env -0" | sort -z |
     grep -zvE "^(_|SHLVL|PWD|OLDPWD|XDG_RUNTIME_DIR|VK_DRIVER_FILES)=" >in' _ "$DEV"
  cmp out in || fail "environment differs: $(diff <(tr '\0' '\n' <out) <(tr '\0' '\n' <in))"
}

test_device_variables_of_the_caller_win() {
  mkdir -m 700 y # an engine may want to use it
  same "variables" "/x $PWD/y" "$(VK_DRIVER_FILES=/x XDG_RUNTIME_DIR=$PWD/y "$DEV" shell -c 'echo "$VK_DRIVER_FILES $XDG_RUNTIME_DIR"')"
}

test_streams_are_binary_and_apart() {
  head -c 3000000 /dev/urandom >in
  "$DEV" shell -c 'cat; printf complaint >&2' <in >out 2>err
  cmp in out || fail "standard output differs from standard input"
  same "standard error" complaint "$(cat err)"
}

test_other_descriptors() {
  [ "${WGK_DEV_MODE:-}" != container ] || return 0 # engines pass on the standard streams only
  "$DEV" shell -c 'echo text >&7' 7>seven
  same "descriptor 7" text "$(cat seven)"
}

test_exit_status() {
  local status got
  for status in 0 1 42 126 255; do
    got=0
    "$DEV" shell -c "exit $status" || got=$?
    same "exit status" "$status" "$got"
  done
  got=0
  "$DEV" shell -c 'kill -KILL $$' 2>/dev/null || got=$?
  same "status of a killed program" 137 "$got"
}

test_signals_reach_the_program_itself() {
  "$DEV" shell -c 'trap "echo got; exit 7" TERM; echo "$$" >ready; while :; do sleep 0.05; done' >out &
  local pid=$! rc=0
  eventually 10 test -s ready || fail "the program did not start"
  [ "${WGK_DEV_MODE:-}" = container ] || same "process id" "$pid" "$(cat ready)"
  kill -TERM "$pid"
  wait "$pid" || rc=$?
  same "status" 7 "$rc"
  same "output" got "$(cat out)"
}

test_working_folder() {
  mkdir 'a b' && ln -s 'a b' link
  same "physical folder" "$PWD/a b" "$(cd 'a b' && "$DEV" shell -c pwd)"
  same "logical folder" "$PWD/link" "$(cd link && "$DEV" shell -c pwd)"
  (cd 'a b' && "$DEV" shell -c 'echo text >file')
  same "a file made inside" text "$(cat 'a b/file')"
}

test_host_paths_mean_the_same_file() {
  local dir
  for dir in /tmp /var/tmp /var/log /var/spool /run/lock /srv /boot /dev/shm "$HOME" "$PWD"; do
    [ -d "$dir" ] && [ -w "$dir" ] || continue
    echo "$dir" >"$dir/wgk test $$"
    same "file in $dir" "$dir" "$("$DEV" shell -c 'cat "$1"' _ "$dir/wgk test $$")"
    "$DEV" shell -c 'rm "$1"' _ "$dir/wgk test $$"
    [ ! -e "$dir/wgk test $$" ] || fail "$dir: removed inside, but still there"
  done
}

test_a_new_top_level_folder_and_file_are_seen() {
  [ "$EUID" -eq 0 ] && [ -w / ] || return 0
  local dir="/wgk, \"test\" $$"
  # shellcheck disable=SC2064 # when the trap runs, $dir is another
  trap "rm -rf $(printf '%q ' "$dir" "$dir.file" "/run/.wgk $$")" EXIT
  mkdir "$dir"
  echo y >"$dir.file"
  echo z >"/run/.wgk $$"
  same "files" "y z" "$("$DEV" shell -c 'echo $(cat "$1" "$2")' _ "$dir.file" "/run/.wgk $$")"
  "$DEV" shell -c 'echo x >"$1/file"' _ "$dir"
  same "file" x "$(cat "$dir/file")"
  same "folder" "$dir" "$(cd "$dir" && "$DEV" shell -c pwd)"
}

test_system_is_forky() {
  contains "system" forky "$("$DEV" shell -c '. /etc/os-release; echo "$VERSION_CODENAME"')"
  contains "compiler" "g++" "$("$DEV" shell -c 'PATH=/usr/bin g++ --version')"
}

test_the_checkout_may_be_anywhere() {
  mkdir 'my checkout'
  cp -r "$REPO/dev" "$REPO/tools" "$REPO/packages.txt" "$REPO/Dockerfile" 'my checkout'
  ln -s "$PWD/my checkout/dev" start
  same "folder" "$PWD" "$(./start shell -c pwd)"
}

test_overhead() {
  "$DEV" shell -c :
  adds_little "entering" "$DEV" shell -c :
}

test_help() {
  local command
  for command in help -h --help 'build -h' 'bundle --help' 'fmt -h' 'fuzz -h' 'help run' 'interop -h' 'lint -h' 'test --help'; do
    # shellcheck disable=SC2086 # words
    contains "$command" "usage: ./dev COMMAND" "$(WGK_DEV_MODE=none "$DEV" $command)"
  done
}

test_wrong_command() {
  local rc=0 text
  text=$("$DEV" nonsense 2>&1) || rc=$?
  same "status" 2 "$rc"
  contains "message" "unknown command 'nonsense'" "$text"
}

run_tests
