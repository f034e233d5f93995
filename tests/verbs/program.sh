#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a verbs test program through mrcrun in a run directory of its own.   program.sh BUILD_DIR COMMAND...
set -euo pipefail

build_dir=$1
shift
# Short: the names of sockets live below it, and those are limited to 107 bytes.
export MRC_RUNDIR=$build_dir/t/$$
mkdir -p "$build_dir/t"
mkdir -m 700 "$MRC_RUNDIR"
child=
finish() {
  [[ -z $child ]] || kill -KILL "$child" 2>/dev/null || true
  rm -rf "$MRC_RUNDIR"
  rmdir "$build_dir/t" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 1' INT TERM

"$build_dir/bin/mrcrun" "$@" &
child=$!
wait "$child"
child=
