# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Formatting, linting, fuzzing, recorded behaviour.

# Prints the C and C++ files, each ended by a zero byte.
cxx_files() {
  local dirs=() dir
  for dir in include src tests benchmarks examples bindings; do
    [ ! -d "$REPO/$dir" ] || dirs+=("$REPO/$dir")
  done
  find "${dirs[@]}" -name node_modules -prune -o -type f \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) -print0 | sort -z
}

cmd_fmt() {
  local mode=(-i) files
  case ${1:-} in
    '') ;;
    --check) mode=(--dry-run --Werror) ;;
    *) usage_error "fmt: unknown argument '$1'; expected --check or nothing" ;;
  esac
  need check
  mapfile -d '' files < <(cxx_files)
  inside clang-format "${mode[@]}" "${files[@]}" || die "some files are not formatted" "run ./dev fmt"
}

shell_files() { printf '%s\n' dev .ci/run tools/dev/* tests/dev/*.sh; }

lint_text() {
  (
    cd "$REPO" || return
    # shellcheck disable=SC2046 # our own names, without blanks
    inside shellcheck -x $(shell_files) && inside codespell README.md CONTRIBUTING.md docs src include kernels tests tools dev
  )
}

lint_includes() { inside python3 tools/check_includes.py; }

# lint_tidy FILE...: clang-tidy over these files, or over all sources. It needs the command of each file, not a build.
lint_tidy() {
  local jobs=${WGK_DEV_JOBS:-$(nproc)}
  inside cmake -S . -B build/lint --preset dev >/dev/null || return 1
  inside run-clang-tidy -quiet -p build/lint -j "$jobs" -extra-arg=-Wno-unknown-warning-option "${@:-^$REPO/(src|tests|benchmarks)/}"
}

cmd_lint() {
  local rc=0
  need check
  if [ $# -gt 0 ]; then
    lint_tidy "$@"
    return
  fi
  lint_text || rc=1
  lint_includes || rc=1
  lint_tidy || rc=1
  [ "$rc" = 0 ] || die "lint found something; see above"
}

fuzz_targets() {
  (cd "$REPO/build/fuzz/fuzzers" && printf '%s\n' ./*_fuzz | sed 's|^\./||' | grep -v '^planted_fuzz$')
}

# fuzz_one TARGET SECONDS: fuzzes one target; new inputs, findings and the log go to build/fuzz.
fuzz_one() {
  local target=$1 seconds=$2 dir=build/fuzz seeds args=()
  mkdir -p "$REPO/$dir/corpus/$target" "$REPO/$dir/findings" "$REPO/$dir/logs"
  [ ! -e "$REPO/tests/fuzz/$target.dict" ] || args+=("-dict=tests/fuzz/$target.dict")
  args+=("$dir/corpus/$target")
  for seeds in "tests/fuzz/corpus/$target" "$dir/seeds/$target"; do
    [ ! -d "$REPO/$seeds" ] || args+=("$seeds")
  done
  inside "$dir/fuzzers/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$dir/findings/$target-" "${args[@]}" >"$REPO/$dir/logs/$target.log" 2>&1 </dev/null
}

report_fuzzing() {
  local target=$1 rc=$2 log=$REPO/build/fuzz/logs/$1.log finding
  if [ "$rc" = 0 ]; then
    say "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, nothing found"
    return 0
  fi
  finding=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  grep -m 3 -E 'ERROR|SUMMARY|runtime error' "$log" >&2 || tail -n 5 "$log" >&2
  say "$target: FOUND something, see $log"
  [ -z "$finding" ] || say "  repeat it: ./dev shell -c 'build/fuzz/fuzzers/$target $finding'"
  return 1
}

# The bug that planted_fuzz holds must be found, or the whole run means nothing.
fuzz_planted() {
  rm -rf "$REPO/build/fuzz/corpus/planted_fuzz"
  say "planted_fuzz: looking for the bug that was put there"
  if fuzz_one planted_fuzz "$1" || ! grep -q 'heap-buffer-overflow' "$REPO/build/fuzz/logs/planted_fuzz.log"; then
    die "the planted bug was not found; see build/fuzz/logs/planted_fuzz.log"
  fi
  rm -f "$REPO"/build/fuzz/findings/planted_fuzz-*
  say "planted_fuzz: found, as it must be"
}

# Two targets at a time, as many as fit the smallest machine.
fuzz_all() {
  local seconds=$1 target rc=0 i pids=() names=()
  shift
  while [ $# -gt 0 ]; do
    pids=() names=()
    for target in "$1" ${2:+"$2"}; do
      say "$target: fuzzing for $seconds s"
      fuzz_one "$target" "$seconds" &
      pids+=($!) names+=("$target")
    done
    for i in "${!pids[@]}"; do
      if wait "${pids[i]}"; then report_fuzzing "${names[i]}" 0; else report_fuzzing "${names[i]}" 1 || rc=1; fi
    done
    shift $(($# > 1 ? 2 : 1))
  done
  return "$rc"
}

fuzz_merge() {
  local target
  for target; do
    mkdir -p "$REPO/tests/fuzz/corpus/$target" "$REPO/build/fuzz/corpus/$target"
    inside "build/fuzz/fuzzers/$target" -set_cover_merge=1 -use_counters=0 "tests/fuzz/corpus/$target" "build/fuzz/seeds/$target" "build/fuzz/corpus/$target" \
      2>&1 | tail -n 1 >&2
  done
}

cmd_fuzz() {
  local seconds=3600 merge=0 target targets=()
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) seconds=60 ;;
      --seconds)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage_error "fuzz: --seconds needs a whole number"
        seconds=$2
        shift
        ;;
      --merge) merge=1 ;;
      -*) usage_error "fuzz: unknown option '$1'; expected --quick, --seconds N or --merge" ;;
      *) targets+=("$1") ;;
    esac
    shift
  done
  need check
  build fuzz all || exit 1
  inside python3 tests/fuzz/seeds.py build/fuzz/seeds || exit 1
  [ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(fuzz_targets)
  for target in "${targets[@]}"; do
    [ -x "$REPO/build/fuzz/fuzzers/$target" ] || usage_error "fuzz: no target '$target'; there are: $(fuzz_targets | tr '\n' ' ')"
  done
  if [ "$merge" = 1 ]; then
    fuzz_merge "${targets[@]}"
    return
  fi
  fuzz_planted 60
  fuzz_all "$seconds" "${targets[@]}" || die "fuzzing found something; see above"
}
