#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a test with the command file of one back end.   command_file.sh BUILD_DIR got|fuse|broker COMMAND...
set -euo pipefail

build_dir=$1 backend=$2
shift 2
export MRC_CMDFD=$backend
if [[ $backend != got ]]; then
  ((EUID == 0)) || { echo 'SKIPPED: only root can mount FUSE'; exit 77; }
  [[ -c /dev/fuse ]] || { echo 'SKIPPED: there is no /dev/fuse'; exit 77; }
fi

daemon='' child='' scratch=''
finish() {
  [[ -z $child ]] || kill -TERM "$child" 2>/dev/null || true
  if [[ -n $daemon ]] && kill -TERM "$daemon"; then wait "$daemon" || true; fi
  [[ -z $scratch ]] || rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' INT TERM

if [[ $backend == broker ]]; then
  scratch=$build_dir/t/b$$
  mkdir -p "$scratch"
  export MRC_BROKER=$scratch/broker
  "$build_dir/bin/mrcd" &
  daemon=$!
  for ((i = 0; i < 100; i++)); do
    [[ -S $MRC_BROKER ]] && break
    kill -0 "$daemon" 2>/dev/null || { echo 'FAILED: mrcd has ended'; exit 1; }
    sleep 0.05
  done
fi
status=0
"$@" &
child=$!
wait "$child" || status=$?
child=
exit "$status"
