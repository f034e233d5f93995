#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's own rdma_cm programs, unmodified, on mrc0.   stock_cm.sh SOURCE_DIR BUILD_DIR CASE [as-nobody]
set -euo pipefail

# shellcheck source=case.sh
. "${BASH_SOURCE[0]%/*}/case.sh"
# shellcheck source=perftest_rows.sh
. "${BASH_SOURCE[0]%/*}/perftest_rows.sh"

# both SPACE PORT SERVER... -- CLIENT...: both must end with status 0 and without a word of an error.
both() {
  local space=$1 port=$2 server=()
  shift 2
  while [[ $1 != -- ]]; do
    server+=("$1")
    shift
  done
  shift
  mrc_start "$scratch/server.log" "${as_user[@]}" "${server[@]}"
  local server_pid=$mrc_pid
  await_cm_listener "$space" "$port" "$server_pid" || fail "'${server[*]}' does not listen"
  mrc_start "$scratch/client.log" "${as_user[@]}" "$@"
  wait "$mrc_pid" || fail "'$*' ended with status $?"
  local status=0
  if [[ -n ${server_stays:-} ]]; then
    kill -TERM "$server_pid" 2>/dev/null || true # cmtime stays in rdma-core 44 and ends by itself in 56
  fi
  wait "$server_pid" || status=$?
  [[ $status == 0 || -n ${server_stays:-} && $status == 143 ]] || fail "'${server[*]}' ended with status $status"
  mrc_started=()
  if grep -iE 'completion with error|failed|error|unable|mismatch' "$scratch"/{server,client}.log >"$scratch/words.log"; then
    fail 'they speak of an error'
  fi
  cat "$scratch/client.log"
}

# rping SERVER_ADDRESS CLIENT_ADDRESS: ten checked round trips of SEND, READ and WRITE.
ping() {
  local port
  port=$(free_port)
  both 0106 "$port" rping -s -a "$1" -p "$port" -C 10 -v -V -- rping -c -a "$2" -p "$port" -C 10 -v -V
  local rounds
  rounds=$(grep -c 'ping data: rdma-ping-' "$scratch/client.log") || true
  ((rounds == 10)) || fail "expected 10 round trips, found $rounds"
}

# multicast ADDRESS GROUP: two processes receive what a third one sends, ten datagrams each.
multicast() {
  local pids=() i
  for i in 1 2; do
    mrc_start "$scratch/receiver.$i.log" "${as_user[@]}" stdbuf -oL mckey -b "$1" -m "$2" -C 10
    pids+=("$mrc_pid")
  done
  for i in 1 2; do
    until grep -q 'receiving data transfers' "$scratch/receiver.$i.log"; do
      kill -0 "${pids[i - 1]}" 2>/dev/null || fail 'a receiver has ended'
      sleep 0.05
    done
  done
  mrc_start "$scratch/sender.log" "${as_user[@]}" mckey -s -b "$1" -m "$2" -C 10
  wait "$mrc_pid" || fail "the sender ended with status $?"
  for i in 1 2; do wait "${pids[i - 1]}" || fail "receiver $i ended with status $?"; done
  mrc_started=()
  for i in receiver.1 receiver.2 sender; do says "$i" 'test complete|return status 0'; done
}

# The first address of the family that is no loopback and no link-local one; empty: there is none.
own_address() { ip -o "$1" address show up scope global | awk '$2 != "lo" { sub("/.*", "", $4); print $4; exit }'; }

# perf TOOL ARGUMENTS...: perftest with its connections made by rdma_cm.
perf() {
  local port
  port=$(free_port)
  both 0106 "$port" "$@" -R -F -p "$port" -- "$@" -R -F -p "$port" 127.0.0.1
  local good
  good=$(perftest_rows "$scratch/client.log" 4)
  ((good == 1)) || fail "expected 1 row with results, found $good"
}

# with_each_plane_silent COMMAND...: one plane after the other loses every frame, from before the start on. Nobody is told.
with_each_plane_silent() {
  local plane
  export MRC_PLANES=4
  for plane in 0 1 2 3; do
    "${prefix[@]}" "$bin/mrcctl" plane "$plane" black-hole
    "$@"
    "${prefix[@]}" "$bin/mrcctl" plane "$plane" heal
  done
}
ucmatose_pair() {
  local port
  port=$(free_port)
  both 0106 "$port" ucmatose -p "$port" -c 5 -C 20 -S 5000 -- ucmatose -s 127.0.0.1 -p "$port" -c 5 -C 20 -S 5000
  says client 'return status 0'
}
# stream PROGRAM ARGUMENTS...: rstream and riostream check nothing they print, but end only when every byte has come.
stream() {
  local port
  port=$(free_port)
  both 0106 "$port" "$@" -p "$port" -- "$@" -p "$port" -s 127.0.0.1
  says client 'MB|Gb|usec|latency|bytes'
}
# A file goes over a socket on RDMA and comes out as it was.
copy_file() {
  local port
  port=$(free_port)
  head -c 3000000 /dev/urandom >"$scratch/file"
  ((${#prefix[@]} == 0)) || chown 65534:65534 "$scratch/file"
  rm -f "$scratch/run/copy"
  server_stays=1 both 0106 "$port" rcopy -p "$port" -- rcopy "$scratch/file" "127.0.0.1:$scratch/run/copy" -p "$port"
  cmp "$scratch/file" "$scratch/run/copy" || fail 'the file has changed on its way'
}

# says SIDE TEXT
says() { grep -qE -- "$2" "$scratch/$1.log" || fail "the $1 does not say: $2"; }

command -v rping >/dev/null || skip 'there is no rping (rdmacm-utils)'
port=$(free_port)
case $name in
  rping)
    ping 0.0.0.0 127.0.0.1
    ;;
  rping_own_address)
    address=$(own_address -4)
    [[ -n $address ]] || skip 'this machine has no IPv4 address but loopback'
    ping "$address" "$address"
    ;;
  rping_ipv6)
    address=$(own_address -6)
    [[ -n $address ]] || skip 'this machine has no IPv6 address but loopback'
    ping :: "$address"
    ;;
  rping_ipv6_loopback)
    grep -qs . /proc/net/if_inet6 || skip 'this machine has no IPv6'
    ping :: ::1
    ;;
  ucmatose)
    both 0106 "$port" ucmatose -p "$port" -c 10 -C 50 -S 5000 -- ucmatose -s 127.0.0.1 -p "$port" -c 10 -C 50 -S 5000
    says client 'return status 0'
    ;;
  ucmatose_migrate)
    both 0106 "$port" ucmatose -p "$port" -c 5 -m -- ucmatose -s 127.0.0.1 -p "$port" -c 5 -m
    says client 'return status 0'
    ;;
  udaddy)
    both 0111 7174 udaddy -c 4 -C 20 -S 1000 -- udaddy -s 127.0.0.1 -c 4 -C 20 -S 1000
    says client 'return status 0'
    ;;
  mckey)
    address=$(own_address -4)
    multicast "${address:-127.0.0.1}" 239.7.7.7
    ;;
  mckey_ipv6)
    address=$(own_address -6)
    [[ -n $address ]] || skip 'this machine has no IPv6 address but loopback'
    multicast "$address" ff0e::7:7
    ;;
  cmtime)
    server_stays=1 both 0106 "$port" cmtime -p "$port" -c 50 -- cmtime -s 127.0.0.1 -p "$port" -c 50
    says client '^disconnect'
    ;;
  rdma_client)
    both 0106 "$port" rdma_server -p "$port" -- rdma_client -s 127.0.0.1 -p "$port"
    says client 'end 0'
    ;;
  two_devices) # both at the same time, by servers at all addresses; rping and datagrams on the second one
    export MRC_CONFIG=$source_dir/tests/verbs/two_devices.toml
    declare -A servers=() clients=()
    for device in mrc0 mrc1; do
      port=$(free_port)
      mrc_start "$scratch/server.$device.log" "${as_user[@]}" ib_write_bw -s 65536 -n 500 -R -F -p "$port"
      servers[$device]=$mrc_pid
      await_cm_listener 0106 "$port" "$mrc_pid" 2 || fail 'ib_write_bw does not listen'
      mrc_start "$scratch/client.$device.log" "${as_user[@]}" ib_write_bw -s 65536 -n 500 -R -F -p "$port" "127.0.0.$((${device#mrc} + 1))"
      clients[$device]=$mrc_pid
    done
    for device in mrc0 mrc1; do
      wait "${clients[$device]}" || fail "the client on $device ended with status $?"
      wait "${servers[$device]}" || fail "the server on $device ended with status $?"
      # Its GID is that of the context in use; the "Device" that it prints is always the first of the list.
      for side in client server; do says "$side.$device" "GID: .*:127:00:00:0$((${device#mrc} + 1))\$"; done
      (($(perftest_rows "$scratch/client.$device.log" 4) == 1)) || fail "no results on $device"
    done
    mrc_started=()
    ping 0.0.0.0 127.0.0.2
    ping 127.0.0.2 127.0.0.2
    both 0111 7174 udaddy -b 127.0.0.2 -c 4 -C 20 -S 1000 -- udaddy -s 127.0.0.2 -c 4 -C 20 -S 1000
    says client 'return status 0'
    multicast 127.0.0.2 239.7.7.7
    ;;
  broken_device) # a server at all addresses is there on the devices that do start
    sed 's/^gids = ."127.0.0.2".$/&\n[[device.port]]\nbackend = "af_packet"\ninterface = "none"/; s/^planes = 3/planes = 1/' \
      "$source_dir/tests/verbs/two_devices.toml" >"$scratch/mrc.toml"
    chmod 755 "$scratch"
    export MRC_CONFIG=$scratch/mrc.toml
    mrc_start "$scratch/server.log" "${as_user[@]}" rping -s -a 0.0.0.0 -p "$port" -C 3
    server_pid=$mrc_pid
    await_cm_listener 0106 "$port" "$server_pid" || fail 'rping does not listen'
    "${as_user[@]}" rping -c -a 127.0.0.1 -p "$port" -C 3 -V -v >"$scratch/client.log" 2>&1 || fail "rping ended with status $?"
    wait "$server_pid" || fail "the server ended with status $?"
    mrc_started=()
    says server 'mrc: .*none'
    says client 'rdma-ping-2'
    ;;
  silent_rping) with_each_plane_silent ping 0.0.0.0 127.0.0.1 ;;
  silent_ucmatose) with_each_plane_silent ucmatose_pair ;;
  silent_rstream) with_each_plane_silent stream rstream -S 65536 -C 200 ;;
  silent_riostream) with_each_plane_silent stream riostream -S 4096 -C 200 ;;
  silent_rcopy) with_each_plane_silent copy_file ;;
  rstream) stream rstream -S 1048576 -C 100 ;;
  riostream) stream riostream -S 65536 -C 500 ;;
  rcopy) copy_file ;;
  write_bw) perf ib_write_bw -s 65536 -n 1000 ;;
  write_lat) perf ib_write_lat -s 8 -n 500 ;;
  write_bw_both_qps) perf ib_write_bw -s 65536 -n 300 -q 4 -b ;;
  write_bw_qps) perf ib_write_bw -s 65536 -n 500 -q 4 ;;
  send_bw) perf ib_send_bw -s 65536 -n 500 ;;
  send_bw_srq) perf ib_send_bw -s 16384 -n 500 --use-srq ;;
  send_lat_events) perf ib_send_lat -s 64 -n 500 -e ;;
  send_lat_ud) perf ib_send_lat -s 64 -n 500 -c UD ;;
  send_bw_ud) perf ib_send_bw -s 2048 -n 500 -c UD ;;
  send_lat) perf ib_send_lat -s 8 -n 500 ;;
  read_lat) perf ib_read_lat -s 8 -n 500 ;;
  atomic_bw) perf ib_atomic_bw -n 500 ;;
  read_bw) perf ib_read_bw -s 65536 -n 500 ;;
  atomic_lat) perf ib_atomic_lat -n 500 ;;
  *)
    fail "there is no case '$name'"
    ;;
esac
