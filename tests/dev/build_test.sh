#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ./dev wgk and ./dev build on a small project: built when sources changed and only then, never in the way of the program.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2317,SC2329
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A checkout whose wgk prints its arguments and variables, and exits with the number of the first argument.
small_project() {
  mkdir -p 'the checkout/src'
  cd 'the checkout'
  cp -r "$REPO/dev" "$REPO/tools" "$REPO/packages.txt" "$REPO/Dockerfile" "$REPO/CMakePresets.json" .
  printf '%s\n' 'cmake_minimum_required(VERSION 3.31)' 'project(small LANGUAGES C CXX)' 'add_executable(wgk src/main.cpp)' \
    >CMakeLists.txt
  write_program 'one'
}

write_program() {
  printf '#include <cstdio>\n#include <cstdlib>\nint main(int n, char** a) {\n  std::printf("%s|%%s|%%s\\n", n > 1 ? a[1] : "", std::getenv("PATH"));\n  return n > 1 ? std::atoi(a[1]) : 0;\n}\n' "$1" >src/main.cpp
}

test_builds_when_sources_changed_and_only_then() {
  small_project
  same "first run" "one||$PATH" "$(./dev wgk 2>err)"
  contains "progress" "built in" "$(cat err)"
  same "second run" "one||$PATH" "$(./dev wgk 2>err)"
  same "it says nothing" "" "$(cat err)"
  write_program two
  same "after a change" "two||$PATH" "$(./dev wgk 2>/dev/null)"
}

test_arguments_status_folder_and_input() {
  small_project
  ./dev wgk 2>/dev/null >/dev/null
  mkdir 'a b'
  local rc=0 out
  out=$(cd 'a b' && ../dev wgk '7 x') || rc=$?
  same "output" "one|7 x|$PATH" "$out"
  same "status" 7 "$rc"
}

test_a_program_that_does_not_compile() {
  small_project
  echo 'int main() { return missing; }' >src/main.cpp
  local rc=0
  ./dev wgk >out 2>err || rc=$?
  same "status" 1 "$rc"
  same "standard output" "" "$(cat out)"
  contains "compiler's message" "missing" "$(cat err)"
  rc=0
  ./dev build 2>/dev/null || rc=$?
  same "status of build" 1 "$rc"
  write_program fixed
  same "after the correction" "fixed||$PATH" "$(./dev wgk 2>/dev/null)"
}

test_two_builds_at_once() {
  small_project
  ./dev wgk >one 2>/dev/null &
  local pid=$!
  ./dev wgk >two 2>/dev/null
  wait "$pid"
  same "outputs" "$(cat one)" "$(cat two)"
  same "output" "one||$PATH" "$(cat two)"
}

test_it_says_that_it_waits() {
  small_project
  mkdir -p build
  exec 8>build/release.lock
  flock 8
  ./dev wgk >one 2>err 8>&- &
  local pid=$!
  eventually 20 grep -q 'waiting for it' err || fail "no word of waiting"
  exec 8>&-
  wait "$pid"
  same "output" "one||$PATH" "$(cat one)"
}

test_another_environment_builds_anew() {
  small_project
  ./dev wgk >/dev/null 2>&1
  echo other >build/release/.environment
  ./dev wgk >/dev/null 2>err
  contains "the reason" "is not that of the last build" "$(cat err)"
  contains "built again" "built in" "$(cat err)"
  ./dev wgk >/dev/null 2>err
  same "then it says nothing" "" "$(cat err)"
}

# ./dev inside ./dev shell finds itself on a forky host; compiler and libraries are the same, and so is the build.
test_inside_its_own_shell() {
  small_project
  ./dev wgk >/dev/null 2>&1
  same "inside" "one||$PATH" "$(./dev shell -c 'unset WGK_DEV_MODE; ./dev wgk' 2>err)"
  same "it says nothing" "" "$(cat err)"
  write_program two
  same "built inside" "two||$PATH" "$(./dev shell -c 'unset WGK_DEV_MODE; ./dev wgk' 2>err)"
  contains "progress" "built in" "$(cat err)"
  same "outside" "two||$PATH" "$(./dev wgk 2>err)"
  same "it says nothing" "" "$(cat err)"
  contains "what it was built with" "g++" "$(cat build/release/.environment)"
  contains "what it was built with" "libwebgpu-dawn-dev" "$(cat build/release/.environment)"
}

test_warnings_are_errors_in_every_preset() {
  small_project
  echo 'message(STATUS "errors: ${WGK_WARNINGS_AS_ERRORS}")' >>CMakeLists.txt
  for preset in dev release asan tsan; do
    contains "$preset" "errors: ON" "$("$DEV" shell -c 'cmake --preset "$1"' _ "$preset" 2>/dev/null)"
  done
}

test_overhead_of_wgk() {
  small_project
  ./dev wgk >/dev/null 2>&1
  adds_little "./dev wgk" ./dev wgk
}

run_tests
