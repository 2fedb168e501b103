# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2329
# ./dev test: an ordered list of stages. A stage is a function stage_NAME whose output goes to build/test/NAME.log; it passes
# with status 0, fails with any other, and is skipped with 77 (its last line then says why). To add a stage, write the
# function and put the name where it belongs in STAGES. A stage sees WGK_TEST_FULL=1 when --full was given.

STAGES=(format text includes generated build unit interop packages packaging differential purity sanitizers threads dev bundle)

stage_format() { cmd_fmt --check; }
stage_text() { lint_text; }

stage_includes() {
  lint_includes && inside python3 tests/dev/check_includes_test.py
}

# Files that programs write: regenerating gives the same bytes; shared kernel text is the same everywhere.
stage_generated() {
  local file copy rc=0 generators=0
  for file in "$REPO"/tools/cases/*.py; do
    if grep -q -F 'case_writer.main(' "$file"; then
      generators=$((generators + 1))
      inside python3 "$file" --check || rc=1
    fi
  done
  for file in "$REPO"/kernels/common/*.jinja; do
    for copy in "$REPO"/kernels/*/build/webgpu/"$(basename "$file")"; do
      [ ! -e "$copy" ] || cmp "$file" "$copy" || rc=1
    done
  done
  [ "$generators" -gt 0 ] || rc=1
  inside python3 benchmarks/ceilings/make.py --check || rc=1
  inside python3 tools/errors_page.py --check || rc=1
  inside python3 benchmarks/report.py --check || rc=1
  inside env PYTHONDONTWRITEBYTECODE=1 python3 tests/docs/benchmarks_page_test.py . || rc=1
  inside env PYTHONDONTWRITEBYTECODE=1 python3 tests/peers/peers_test.py . || rc=1
  return "$rc"
}

stage_build() { build release all; }

# GoogleTest programs beside the sources; those that need a device use the one that is there, llvmpipe if none.
# With --full, every different text that planning renders is compiled too (a plain run compiles one of each use).
stage_unit() {
  inside ctest --test-dir build/release --output-on-failure -j 2 --no-tests=error || return 1
  [ "$WGK_TEST_FULL" != 1 ] || inside build/release/wgk_golden_compile --full .
}

# The recorded behaviour of the published loader.
stage_interop() { inside build/release/wgk_interop tests/interop; }

# Every package is in order; the row norm and the group norm pass every case on every variant that accepts it, sparse
# attention on the selected one, whose emulated matrix variants are the real ones but for the leaves; a group norm is planned the
# same way with and without S. Where PyTorch or ONNX
# Runtime is installed, it recomputes its numbers. With --full, sparse attention runs on every variant too, and so does the
# full product of each generator's options. A few random calls of each; more with --full.
stage_packages() {
  local package rc=0
  for package in "$REPO"/kernels/com.* "$REPO"/benchmarks/ceilings/wgk.*; do inside build/release/wgk check "$package" || rc=1; done
  inside python3 tests/docs/readme_test.py . build/release/wgk || rc=1
  inside python3 tests/docs/format_citations_test.py . || rc=1
  inside python3 tests/golden/twins_test.py . build/release/wgk || rc=1
  inside python3 tests/golden/same_plan_test.py . build/release/wgk || rc=1
  inside build/release/wgk test kernels/com.microsoft.SkipSimplifiedLayerNormalization --all-variants || rc=1
  inside build/release/wgk test kernels/com.microsoft.SkipGroupNorm --all-variants || rc=1
  part PyTorch inside python3 tools/cases/skip_group_norm_pytorch.py --check || rc=1
  inside build/release/wgk test kernels/com.microsoft.SparseAttention || rc=1
  part "ONNX Runtime" inside python3 tools/cases/sparse_attention_onnxruntime.py --check || rc=1
  random_calls SkipSimplifiedLayerNormalization 1 40 || rc=1
  random_calls SkipGroupNorm 1 10 || rc=1
  random_calls SparseAttention 1 12 || rc=1
  if [ "$WGK_TEST_FULL" = 1 ]; then
    inside build/release/wgk test kernels/com.microsoft.SparseAttention --all-variants || rc=1
    full_product skip_simplified_layer_normalization SkipSimplifiedLayerNormalization || rc=1
    full_product skip_group_norm SkipGroupNorm || rc=1
    full_product sparse_attention SparseAttention || rc=1
    part "large group norms" large_group_norms || rc=1
    for package in SkipSimplifiedLayerNormalization SkipGroupNorm SparseAttention; do
      random_calls "$package" 2 300 --all-variants || rc=1
    done
  fi
  return "$rc"
}

# random_calls OPERATOR SEED COUNT [ARGS]: small random legal calls, always the same ones.
random_calls() {
  local operator=$1 seed=$2 count=$3 cases=build/test/random_$1_$2.json
  shift 3
  say "$count random calls of $operator, seed $seed"
  inside python3 tools/cases/random_cases.py "$operator" --seed "$seed" --count "$count" --limit 2048 >"$REPO/$cases" &&
    inside build/release/wgk test "kernels/com.microsoft.$operator" --cases "$cases" "$@"
}

# Group norms whose S is above 100 MB: the same bits of Y with and without S, whatever the spelling of skip.
large_group_norms() {
  local cases=build/test/skip_group_norm.large.json free
  free=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
  if [ "$free" -lt 4 ]; then
    echo "they need 4 GiB of free memory, $free are"
    return 77
  fi
  say "group norms of large tensors"
  inside python3 tools/cases/skip_group_norm.py --large "$cases" &&
    inside build/release/wgk test kernels/com.microsoft.SkipGroupNorm --cases "$cases" --once
}

# full_product GENERATOR OPERATOR: every combination of the options of tools/cases/GENERATOR.py, on every variant. A run that was
# stopped goes on where it was.
full_product() {
  local cases=build/test/$1.full.json
  say "the full product of $2"
  inside python3 "tools/cases/$1.py" --full "$cases" &&
    inside tools/full_product.py build/release/wgk "kernels/com.microsoft.$2" "$cases" "build/test/$1.full"
}

# What users build against: installed, added as a folder, packed; and the examples, whose numbers are in the log.
stage_packaging() {
  inside tests/packaging/run.sh build/release || return 1
  inside ctest --test-dir build/release --verbose --no-tests=error -L examples
}

# Random templates and expressions against the reference engine of npm, where npm can fetch it.
stage_differential() { inside tests/differential/run.sh build/release "$([ "$WGK_TEST_FULL" = 1 ] && echo 100000 || echo 12000)"; }

stage_purity() {
  inside python3 tools/check_purity.py build/release && inside python3 tests/dev/check_purity_test.py
}

# The pure core under the address and undefined-behaviour sanitizers: its tests, and the inputs of its fuzz targets. About four minutes of
# building on two cores.
stage_sanitizers() {
  local module test tests=() replays=()
  for module in base json expr jinja package plan; do
    ! compgen -G "$REPO/src/$module/*_test.cpp" >/dev/null || tests+=("${module}_test")
    for test in "$REPO/src/$module"/*_fuzz.cpp; do
      [ ! -e "$test" ] || replays+=("$(basename "$test" .cpp)")
    done
  done
  build asan "${tests[@]}" "${replays[@]/%/_replay}" || return 1
  for test in "${tests[@]}"; do
    inside env UBSAN_OPTIONS=print_stacktrace=1 "build/asan/$test" --gtest_brief=1 || return 1
  done
  inside python3 tests/fuzz/seeds.py build/test/seeds || return 1
  for test in "${replays[@]}"; do
    say "replaying the inputs of $test"
    inside "build/asan/${test}_replay" "tests/fuzz/corpus/$test" "build/test/seeds/$test" >"$REPO/build/test/$test.log" 2>&1 ||
      { tail -n 40 "$REPO/build/test/$test.log" && return 1; }
  done
}

# The runtime and the C API under the thread sanitizer: eight threads with five hundred mixed calls each, and all else but what runs in a
# child process or on one thread for long.
stage_threads() {
  [ "$WGK_TEST_FULL" = 1 ] || {
    echo "part of --full"
    return 77
  }
  local test
  build tsan runtime_test capi_test || return 1
  for test in runtime_test capi_test; do
    inside env TSAN_OPTIONS="suppressions=$REPO/tests/sanitizers/thread.supp halt_on_error=1" "build/tsan/$test" --gtest_brief=1 \
      --gtest_filter='-Embedding.AHungDispatch*:FaultSweep.*' || return 1
  done
}

# ./dev itself, from outside.
stage_dev() {
  local test rc=0
  for test in setup enter build host run stages; do
    part "$test" bash "$REPO/tests/dev/${test}_test.sh" || rc=1
  done
  inside python3 tests/dev/full_product_test.py || rc=1
  return "$rc"
}

# The relocatable folder, outside the environment.
stage_bundle() { bash "$REPO/tests/dev/bundle_test.sh"; }

# part NAME CMD...: a part of a stage. Where it is skipped (77), the closing line of the stage says so, with the part's last line.
part() {
  local name=$1 log=$REPO/build/test/part.log rc=0
  shift
  "$@" 2>&1 | tee "$log" || rc=$?
  [ "$rc" = 77 ] || return "$rc"
  printf 'skipped part: %s (%s)\n' "$name" "$(tail -n 1 "$log")"
}

list_stages() { printf '%s\n' "${STAGES[@]}"; }

# run_stage NAME: runs one, shows a line when it is done, and notes the result.
run_stage() {
  local name=$1 log=$REPO/build/test/$1.log start=$SECONDS rc=0 pid note=
  [ -t 2 ] || say "[ .... ] $name"
  ("stage_$name") >"$log" 2>&1 </dev/null &
  pid=$!
  STEP_PID=$pid
  if [ -t 2 ]; then show_progress "$pid" "$name" "$log"; else show_heartbeat "$pid" "$log"; fi
  wait "$pid" || rc=$?
  # shellcheck disable=SC2034 # on_exit reads it
  STEP_PID=
  case $rc in
    0)
      note=$(sed -n 's/^skipped part: //p' "$log" | paste -s -d ,)
      note=passed${note:+, skipped: ${note//,/, }}
      ;;
    77) note="skipped: $(tail -n 1 "$log")" ;;
    *)
      note="FAILED, see $log"
      tail -n 60 "$log" >&2
      ;;
  esac
  RESULTS+=("$(printf '%-12s %4s s  %s' "$name" "$((SECONDS - start))" "$note")")
  say "[$((SECONDS - start)) s] $name: $note"
  [ "$rc" = 0 ] || [ "$rc" = 77 ] || FAILED=$((FAILED + 1))
}

cmd_test() {
  local selected=() name start=$SECONDS
  export WGK_TEST_FULL=${WGK_TEST_FULL:-0}
  while [ $# -gt 0 ]; do
    case $1 in
      --full) WGK_TEST_FULL=1 ;;
      --list)
        list_stages
        return
        ;;
      -*) usage_error "test: unknown option '$1'; expected --full or --list" ;;
      *)
        [ "$(type -t "stage_$1")" = function ] || usage_error "test: no stage '$1'; there are: ${STAGES[*]}"
        selected+=("$1")
        ;;
    esac
    shift
  done
  [ ${#selected[@]} -gt 0 ] || selected=("${STAGES[@]}")
  need check
  mkdir -p "$REPO/build/test"
  RESULTS=() FAILED=0
  for name in "${selected[@]}"; do run_stage "$name"; done
  say ""
  printf '%s\n' "${RESULTS[@]}"
  printf '%s of %s stages passed or skipped, %s failed, %s s\n' "$((${#selected[@]} - FAILED))" "${#selected[@]}" "$FAILED" "$((SECONDS - start))"
  [ "$FAILED" = 0 ]
}
