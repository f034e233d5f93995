#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# compare_tcp.sh ROUNDS BUILD [MTU]: kernel TCP (iperf3, one stream, a veth between two namespaces of its own, offloads as the
# kernel has them) and `ib_write_bw -s 65536` between two processes, in turn, in one run. Prints Gb/s of each round, the medians,
# and the median of the rounds' ratios. Needs root, for the namespaces, and iperf3.
#   tests/verbs/compare_tcp.sh 5 build
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
(($# >= 2)) || { sed -n '3,6s/^# //p' tests/verbs/compare_tcp.sh >&2; exit 2; }
. cmake/processes.sh
. tests/verbs/median.sh
rounds=$1 bin=$(realpath "$2")/bin mtu=${3:-1500}
command -v iperf3 >/dev/null || { echo "compare_tcp: iperf3 is not installed" >&2; exit 2; }

scratch=$(mktemp -d -t mrc.XXXXXX)
mkdir -m 700 "$scratch/run"
one=mrc-tcp-$$-a two=mrc-tcp-$$-b
remove_all() {
  mrc_stop_all
  ip netns del "$one" 2>/dev/null || true
  ip netns del "$two" 2>/dev/null || true
  rm -rf "$scratch"
}
trap remove_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ip netns add "$one"
ip netns add "$two"
ip link add wire netns "$one" mtu "$mtu" type veth peer name wire netns "$two" mtu "$mtu"
ip -n "$one" address add 10.0.0.1/24 dev wire
ip -n "$two" address add 10.0.0.2/24 dev wire
ip -n "$one" link set wire up
ip -n "$two" link set wire up

measure_tcp() {
  mrc_start "$scratch/server.log" ip netns exec "$two" iperf3 --server --one-off
  local server=$mrc_pid
  for ((tries = 0; tries < 100; ++tries)); do
    ip netns exec "$two" ss -Hltn 'sport = 5201' | grep -q . && break
    sleep 0.05
  done
  ip netns exec "$one" iperf3 --client 10.0.0.2 --time 2 --format m >"$scratch/client.log" 2>&1 || { cat "$scratch/client.log" >&2; exit 1; }
  wait "$server" || { cat "$scratch/server.log" >&2; exit 1; }
  mrc_started=()
  awk '/receiver/ { for (i = 1; i < NF; ++i) if ($(i + 1) == "Mbits/sec") print $i / 1000 }' "$scratch/client.log"
}

measure_ours() {
  local port server
  port=$(mrc_free_port)
  local program=("$bin/mrcrun" ib_write_bw -s 65536 -D 2 -d mrc0 -F --report_gbits -p "$port")
  MRC_RUNDIR=$scratch/run mrc_start "$scratch/server.log" "${program[@]}"
  server=$mrc_pid
  mrc_await_listener "$port" "$server" || { cat "$scratch/server.log" >&2; exit 1; }
  MRC_RUNDIR=$scratch/run "${program[@]}" 127.0.0.1 >"$scratch/client.log" 2>&1 || { cat "$scratch/client.log" >&2; exit 1; }
  wait "$server" || { cat "$scratch/server.log" >&2; exit 1; }
  mrc_started=()
  awk '$1 == 65536 { print $4 }' "$scratch/client.log"
}

for ((round = 1; round <= rounds; ++round)); do
  measure_tcp >"$scratch/tcp"
  measure_ours >"$scratch/ours"
  read -r tcp <"$scratch/tcp"
  read -r ours <"$scratch/ours"
  awk -v tcp="$tcp" -v ours="$ours" 'BEGIN { printf "TCP %6.1f   ours %6.1f   %.2f\n", tcp, ours, ours / tcp }' | tee -a "$scratch/table"
done
printf 'TCP %6.1f   ours %6.1f   %.2f   medians\n' "$(awk '{ print $2 }' "$scratch/table" | median)" \
  "$(awk '{ print $4 }' "$scratch/table" | median)" "$(awk '{ print $5 }' "$scratch/table" | median)"
