# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Building and running. Users' commands and the tests share the preset release, so nothing is built twice.

environment_name() {
  case $WHERE in
    root) basename "$ROOT" ;;
    container) printf '%s\n' "$IMAGE" ;;
    host) printf 'host\n' ;;
  esac
}

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  inside "$REPO/tools/dev/build-target" "$preset" "$(environment_name)" "$@"
}

# build_and_enter TARGET CMD...: builds TARGET of the preset release, then becomes CMD.
build_and_enter() {
  local target=$1
  shift
  enter "$REPO/tools/dev/build-target" release "$(environment_name)" "$target" -- "$@"
}

cmd_build() {
  local preset=release
  if [ "${1:-}" = --preset ]; then
    [ $# -ge 2 ] || usage_error "--preset needs a name (see CMakePresets.json)"
    preset=$2
    shift 2
  fi
  if [ "$preset" = fuzz ]; then need check; else need; fi
  [ $# -gt 0 ] || set -- wgk
  build "$preset" "$@"
}

cmd_shell() {
  need
  enter bash "$@"
}

cmd_wgk() {
  need
  build_and_enter wgk "$REPO/build/release/wgk" "$@"
}

RUN_PACKAGE=kernels/com.microsoft.SkipSimplifiedLayerNormalization

# The main job: the row norm on the captured tensors of examples/data, or on what the arguments name.
cmd_run() {
  need
  if [ $# -eq 0 ]; then
    cd "$REPO" || return
    mkdir -p out
    set -- --input input=examples/data/input.f32.npy --input skip=examples/data/skip.f32.npy --input gamma=examples/data/gamma.f32.npy \
      --attr epsilon=1e-5 --output output=out/output.npy --output input_skip_bias_sum=out/input_skip_bias_sum.npy
  fi
  build_and_enter wgk "$REPO/build/release/wgk" run "$REPO/$RUN_PACKAGE" "$@"
}

# Runs a corpus of recorded behaviour against the core; without an argument the one of tests/interop.
cmd_interop() {
  need
  build_and_enter wgk_interop "$REPO/build/release/wgk_interop" "${1:-$REPO/tests/interop}"
}
