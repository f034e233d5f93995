#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a verbs test program through mrcrun in a run directory of its own.   program.sh BUILD_DIR COMMAND...
set -euo pipefail

build_dir=$1
shift
# shellcheck source=watchdog.sh
. "${BASH_SOURCE[0]%/*}/watchdog.sh"
# Short: the names of sockets live below it, and those are limited to 107 bytes.
export MRC_RUNDIR=$build_dir/t/$$
mkdir -p "$build_dir/t"
mkdir -m 700 "$MRC_RUNDIR"
child=
finish() {
  stop_watchdog
  [[ -z $child ]] || kill -KILL "$child" 2>/dev/null || true
  rm -rf "$MRC_RUNDIR"
}
trap finish EXIT
trap 'exit 1' INT TERM
export MRC_TRACE=${MRC_TRACE:-20}
start_watchdog "$build_dir/bin/mrcctl"

"$build_dir/bin/mrcrun" "$@" &
child=$!
wait "$child"
child=
