#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# compare_builds.sh ROUNDS BUILD_A BUILD_B TOOL ARGUMENTS...: perftest on the devices of two builds in turn, in one run, since
# machines have slow minutes. Prints what each round gave, the medians, and the median of the rounds' ratios B to A. Latencies
# are perftest's typical ones, all else its averages (message rate with 64 bytes or fewer).
# With MRC_BESIDE_B=COMMAND that runs beside each measurement of B (capture_cost.sh).
#   tests/verbs/compare_builds.sh 9 ../before/build build ib_write_bw -s 65536 -n 20000
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
(($# >= 4)) || { sed -n '3,7s/^# //p' tests/verbs/compare_builds.sh >&2; exit 2; }
. cmake/processes.sh
. tests/verbs/median.sh
rounds=$1 a=$(realpath "$2") b=$(realpath "$3")
shift 3

scratch=$(mktemp -d -t mrc.XXXXXX)
mkdir -m 700 "$scratch/a" "$scratch/b"
trap 'mrc_stop_all; rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Of the table: 4 is the average rate, 5 the rate of messages, or the typical latency.
column_of() {
  local tool=$1 last='' word
  [[ $tool != *_lat ]] || { echo 5; return; }
  for word in "$@"; do
    [[ $last != -s ]] || ((word > 64)) || { echo 5; return; }
    last=$word
  done
  echo 4
}
column=$(column_of "$@")

# measure NAME BUILD TOOL ARGUMENTS...
measure() {
  local run=$scratch/$1 bin=$2/bin port
  shift 2
  port=$(mrc_free_port)
  MRC_RUNDIR=$run mrc_start "$scratch/server.log" "$bin/mrcrun" "$@" -d mrc0 -F -p "$port"
  local server=$mrc_pid
  mrc_await_listener "$port" "$server" || { cat "$scratch/server.log" >&2; exit 1; }
  local beside=
  if [[ $run == "$scratch/b" && -n ${MRC_BESIDE_B:-} ]]; then
    local words
    read -ra words <<<"$MRC_BESIDE_B"
    MRC_RUNDIR=$run mrc_start "$scratch/beside.log" "${words[@]}"
    beside=$mrc_pid
  fi
  MRC_RUNDIR=$run "$bin/mrcrun" "$@" -d mrc0 -F -p "$port" 127.0.0.1 >"$scratch/client.log" 2>&1 || { cat "$scratch/client.log" >&2; exit 1; }
  wait "$server" || { cat "$scratch/server.log" >&2; exit 1; }
  if [[ -n $beside ]]; then
    kill -INT "$beside"
    wait "$beside" || true
    cat "$scratch/beside.log" >&2
  fi
  mrc_started=()
  awk -v column="$column" '$1 ~ /^[0-9]+$/ && NF >= column { value = $column } END { print value }' "$scratch/client.log"
}

for ((round = 1; round <= rounds; ++round)); do
  measure a "$a" "$@" >"$scratch/one"
  measure b "$b" "$@" >"$scratch/two"
  read -r one <"$scratch/one"
  read -r two <"$scratch/two"
  awk -v one="$one" -v two="$two" 'BEGIN { printf "%12s %12s   %.2f\n", one, two, two / one }' | tee -a "$scratch/table"
done
printf '%12s %12s   %s\n' "$(awk '{ print $1 }' "$scratch/table" | median)" "$(awk '{ print $2 }' "$scratch/table" | median)" \
  "$(awk '{ print $3 }' "$scratch/table" | median)   medians"
