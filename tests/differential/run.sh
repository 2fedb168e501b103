#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a corpus with the reference engine and replays it: run.sh BUILD_FOLDER [COUNT [SEED]]. Exit status 77: npm cannot fetch the
# engine; then the committed cases are all that was replayed.
set -euo pipefail
here=$(cd -P "$(dirname "$0")" && pwd)
build=$(cd -P "$1" && pwd)
count=${2:-12000}
seed=${3:-1}
work=$build/differential
mkdir -p "$work"
cp "$here"/*.mjs "$here"/package.json "$here"/package-lock.json "$work"
cd "$work"
if [ ! -e node_modules/@huggingface/jinja/package.json ] && ! npm ci --no-audit --no-fund >npm.log 2>&1; then
  cat npm.log
  "$build/tests/differential/jinja_differential" "$here/corpus.jsonl"
  echo "npm cannot fetch the reference engine; the committed cases were replayed"
  exit 77
fi
node generate.mjs --count "$count" --seed "$seed" >corpus.jsonl
"$build/tests/differential/jinja_differential" corpus.jsonl
