#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a verbs test program through mrcrun in a run directory of its own.
# program.sh BUILD_DIR [--as-nobody] COMMAND...
set -euo pipefail

build_dir=$1
shift
prefix=()
if [[ $1 == --as-nobody ]]; then
  shift
  ((EUID == 0)) || { echo 'SKIPPED: only root can become nobody (other cases already run as an ordinary user)'; exit 77; }
  prefix=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  "${prefix[@]}" test -x "$build_dir/bin/mrcrun" || { echo "SKIPPED: nobody may not enter $build_dir"; exit 77; }
fi
# shellcheck source=watchdog.sh
. "${BASH_SOURCE[0]%/*}/watchdog.sh"
# Short: the names of sockets live below it, and those are limited to 107 bytes.
export MRC_RUNDIR=$build_dir/t/$$
mkdir -p "$build_dir/t"
mkdir -m 700 "$MRC_RUNDIR"
((${#prefix[@]} == 0)) || chown 65534:65534 "$MRC_RUNDIR"
child=
finish() {
  stop_watchdog
  [[ -z $child ]] || kill -KILL "$child" 2>/dev/null || true
  rm -rf "$MRC_RUNDIR"
}
trap finish EXIT
trap 'exit 1' INT TERM
export MRC_TRACE=${MRC_TRACE:-20}
start_watchdog "${prefix[@]}" "$build_dir/bin/mrcctl"

"${prefix[@]}" "$build_dir/bin/mrcrun" "$@" &
child=$!
wait "$child"
child=
