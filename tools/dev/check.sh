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
    inside shellcheck -x $(shell_files) && inside codespell README.md src include kernels tests tools dev
  )
}

lint_includes() { inside python3 tools/check_includes.py; }

# lint_tidy FILE...: clang-tidy over these files, or over all sources.
lint_tidy() {
  local jobs=${WGK_DEV_JOBS:-$(nproc)}
  inside "$REPO/tools/dev/build-target" dev "$(environment_name)" all || return 1
  inside run-clang-tidy -quiet -p build/dev -j "$jobs" -extra-arg=-Wno-unknown-warning-option "${@:-^$REPO/(src|tests|benchmarks)/}"
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
