# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Building and running. Users' commands and the tests share the preset release, so nothing is built twice.

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  inside "$REPO/tools/dev/build-target" "$preset" "$@"
}

# build_and_enter TARGET CMD...: builds TARGET of the preset release, then becomes CMD.
build_and_enter() {
  local target=$1
  shift
  enter "$REPO/tools/dev/build-target" release "$target" -- "$@"
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
  local argument capture=1 outputs=1
  need
  for argument; do
    case $argument in
      -h | --help | --input | --input=* | --case | --case=* | --cases | --cases=* | --request | --request=*) capture=0 ;;
      --output | --output=*) outputs=0 ;;
    esac
  done
  if [ "$capture" = 1 ]; then
    local data=$REPO/examples/data
    set -- --input "input=$data/input.f32.npy" --input "skip=$data/skip.f32.npy" --input "gamma=$data/gamma.f32.npy" \
      --attr epsilon=1e-5 "$@"
    if [ "$outputs" = 1 ]; then
      mkdir -p "$REPO/out"
      set -- --output "output=$REPO/out/output.npy" --output "input_skip_bias_sum=$REPO/out/input_skip_bias_sum.npy" "$@"
    fi
  fi
  build_and_enter wgk "$REPO/build/release/wgk" run "$REPO/$RUN_PACKAGE" "$@"
}

# Runs a corpus of recorded behaviour against the core; without an argument the one of tests/interop.
cmd_interop() {
  need
  build_and_enter wgk_interop "$REPO/build/release/wgk_interop" "${1:-$REPO/tests/interop}"
}
