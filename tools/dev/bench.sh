# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Measuring: our own cases, the guard against slow-downs, and public peers on the same cases.

BASELINES=benchmarks/baselines

# Times the cases of packages; without arguments those of the row norm. `--check`: all packages against the baseline of the
# device's kind. `peers`, `turns`: see below.
cmd_bench() {
  case ${1:-} in
    peers)
      shift
      cmd_peers "$@"
      return
      ;;
    turns)
      shift
      cmd_turns "$@"
      return
      ;;
    figures)
      shift
      cmd_figures "$@"
      return
      ;;
    --check | --save-baseline)
      local option=$1
      shift
      need
      build_and_enter wgk "$REPO/build/release/wgk" bench "$REPO"/kernels/com.* "$option" "$REPO/$BASELINES" "$@"
      ;;
  esac
  need
  [ $# -gt 0 ] || set -- "$REPO/$RUN_PACKAGE" --tags cpu
  build_and_enter wgk "$REPO/build/release/wgk" bench "$@"
}

peers_help() {
  cat <<'EOF'
usage: ./dev bench peers [--tag TAG] [--out DIR] [--skip-ours] [PACKAGE...]

Times the cases with TAG (default: cpu, with CUDA: h200) of packages (default: the row norm) with the program and with public
peers on this machine: ONNX Runtime CPU and WebGPU from PyPI, PyTorch CPU; where Python finds PyTorch with CUDA (WGK_PEERS_PYTHON
names another Python), PyTorch eager, torch.compile, Triton, and Liger, FlashInfer and QuACK where they are installed.
The results go to DIR (default: out/peers), one file for each peer, and a report of all goes to standard output. A peer that
is missing is reported.
EOF
}

cmd_peers() {
  local tag='' out=$REPO/out/peers ours=1 packages=() python=${WGK_PEERS_PYTHON:-python3} cuda=0 machine
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help)
        peers_help
        return
        ;;
      --tag | --out)
        [ $# -ge 2 ] || usage_error "bench peers: $1 needs a value"
        if [ "$1" = --tag ]; then tag=$2; else out=$2; fi
        shift
        ;;
      --skip-ours) ours=0 ;;
      -*) usage_error "bench peers: unknown option '$1'" ;;
      *) packages+=("$(readlink -f "$1")") ;;
    esac
    shift
  done
  [ ${#packages[@]} -gt 0 ] || packages=("$REPO/$RUN_PACKAGE")
  if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then cuda=1; fi
  [ -n "$tag" ] || { if [ "$cuda" = 1 ]; then tag=h200; else tag=cpu; fi; }
  need peers
  { mkdir -p "$out" && out=$(readlink -f "$out"); } || die "cannot make the folder $out"
  machine=$(uname -m)
  if [ "$ours" = 1 ]; then
    build release wgk || die "the program could not be built"
    inside build/release/wgk bench "${packages[@]}" --tags "$tag" --hot "--json=$out/machine.ours.json" >&2 ||
      warn "not every case could be timed; see $out/machine.ours.json"
  fi
  measure_peer "$out" "$tag" ort-cpu onnxruntime "${packages[@]}"
  measure_peer "$out" "$tag" ort-webgpu,ort-webgpu-kernels onnxruntime-webgpu "${packages[@]}"
  measure_peer "$out" "$tag" torch-cpu '' "${packages[@]}"
  if [ "$cuda" = 1 ]; then
    (cd "$REPO/benchmarks/peers" && "$python" run.py "${packages[@]}" --tag "$tag" --peers cuda --out "$out/machine.cuda.json") ||
      warn "the CUDA peers could not be measured"
  else
    say "CUDA peers: no Python with PyTorch and CUDA on this machine ($machine)"
  fi
  inside python3 benchmarks/report.py "$out"/machine.*.json
}

turns_help() {
  cat <<'EOF'
usage: ./dev bench turns OUT.json [OPTIONS...]

Times the row norm's cases for CPUs with the program and with ONNX Runtime WebGPU in turns, case by case, the cores kept awake on both sides, and
writes OUT.json, from which benchmarks/report.py makes a table; OPTIONS are those of benchmarks/peers/turns.py (--rounds, --case, --note). Takes about ten minutes; both
sides use all cores, so let nothing else run. Figures for the repository:
  ./dev bench turns benchmarks/results/llvmpipe.turns-ssln.json && benchmarks/report.py
EOF
}

# Ours and a peer in turns: ratios that a change of the machine's speed between two runs cannot spoil.
cmd_turns() {
  local python out
  case ${1:-} in
    -h | --help)
      turns_help
      return
      ;;
    '' | -*) usage_error "bench turns: the first argument is the file to write" ;;
  esac
  out=$(readlink -f "$1") || die "there is no folder for $1"
  shift
  need peers
  build release wgk || die "the program could not be built"
  python=$(peer_python onnxruntime-webgpu)
  ensure_venv "${python%/bin/python3}" onnxruntime-webgpu || die "onnxruntime-webgpu could not be installed"
  inside env PYTHONDONTWRITEBYTECODE=1 "$python" benchmarks/peers/turns.py "$RUN_PACKAGE" --tag cpu --keep-awake --wgk build/release/wgk --out "$out" "$@"
}

# All that the repository says of the row norm on a software adapter, measured anew: cold and hot, in both modes, with floors and host
# costs; in turns with the peer; the baseline; the report. Nothing else may run meanwhile.
cmd_figures() {
  local results=$REPO/benchmarks/results
  case ${1:-} in
    -h | --help)
      echo "usage: ./dev bench figures [ROUNDS]   (of the comparison in turns, default 5)"
      return
      ;;
  esac
  if [ $# -gt 1 ] || [[ ! "${1:-5}" =~ ^[0-9]+$ ]]; then usage_error "usage: ./dev bench figures [ROUNDS]"; fi
  need peers
  build release wgk || die "the program could not be built"
  inside build/release/wgk bench "$RUN_PACKAGE" --tags cpu --hot --floor --host --both-modes --keep-awake "--json=$results/llvmpipe.ours-ssln.json" ||
    die "not every case could be timed"
  cmd_turns "$results/llvmpipe.turns-ssln.json" --rounds "${1:-5}"
  inside build/release/wgk bench "$RUN_PACKAGE" --tags cpu --keep-awake --save-baseline "$BASELINES"
  inside python3 benchmarks/report.py
}

# The Python of the virtual environment that holds a wheel.
peer_python() {
  echo "$(cache_dir)/peers-$(environment_name | tr -c 'a-zA-Z0-9\n' -)-$1/bin/python3"
}

# measure_peer OUT TAG PEER WHEEL PACKAGE...: in a virtual environment of its own; with no WHEEL, in the system's Python.
measure_peer() {
  local out=$1 tag=$2 peer=$3 wheel=$4 python=python3
  shift 4
  if [ -n "$wheel" ]; then
    python=$(peer_python "$wheel")
    ensure_venv "${python%/bin/python3}" "$wheel" || {
      warn "$wheel could not be installed; its figures are missing"
      return 0
    }
  fi
  inside env PYTHONDONTWRITEBYTECODE=1 "$python" benchmarks/peers/run.py "$@" --tag "$tag" --peers "$peer" \
    --isolate --out "$out/machine.${peer%%,*}.json" >&2 || warn "$peer could not be measured"
}

environment_name() {
  case $WHERE in
    root) basename "$ROOT" ;;
    container) printf '%s\n' "$IMAGE" ;;
    host) printf 'host\n' ;;
  esac
}

# ensure_venv DIR WHEEL: a private environment with the wheel and what the peers need; made whole or not at all.
ensure_venv() {
  local dir=$1 wheel=$2
  [ ! -e "$dir/.whole" ] || return 0
  rm -rf "$dir"
  step "$dir.log" "installing $wheel in $dir" inside_venv "$dir" "$wheel" || return 1
  touch "$dir/.whole"
}

inside_venv() {
  inside python3 -m venv --without-pip "$1" &&
    inside python3 -m pip --python "$1/bin/python3" install --quiet --disable-pip-version-check numpy onnx "$2"
}
