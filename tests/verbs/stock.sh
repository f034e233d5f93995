#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's own verbs programs, unmodified, on mrc0.   stock.sh SOURCE_DIR BUILD_DIR CASE [as-nobody]
set -euo pipefail

# shellcheck source=case.sh
. "${BASH_SOURCE[0]%/*}/case.sh"
# shellcheck source=perftest_rows.sh
. "${BASH_SOURCE[0]%/*}/perftest_rows.sh"

# pair TOOL ARGUMENTS...: server and client; both must end with status 0 and without a word of an error.
pair() {
  local port common=(-d mrc0 -F)
  [[ $1 != ibv_* ]] || common=(-d mrc0 -g 0)
  port=$(free_port)
  mrc_start "$scratch/server.log" "${as_user[@]}" "$@" "${common[@]}" -p "$port"
  server=$mrc_pid
  mrc_await_listener "$port" "$server" || fail "the server of '$*' does not listen"
  mrc_start "$scratch/client.log" "${as_user[@]}" "$@" "${common[@]}" -p "$port" 127.0.0.1
  client=$mrc_pid
  [[ -z ${during:-} ]] || "$during"
  wait "$client" || fail "the client of '$*' ended with status $?"
  wait "$server" || fail "the server of '$*' ended with status $?"
  mrc_started=()
  if grep -iE 'completion with error|failed|error|unable' "$scratch"/{server,client}.log >"$scratch/words.log"; then
    fail "'$*' speaks of an error"
  fi
  cat "$scratch/client.log"
}

# rows COUNT COLUMN: the client's table has so many rows, each with a number above zero in that column.
rows() {
  local good
  good=$(perftest_rows "$scratch/client.log" "$2")
  ((good == $1)) || fail "expected $1 rows with results, found $good"
}

# bandwidth|latency TOOL ARGUMENTS...: of one message size.
bandwidth() {
  pair "$@"
  rows 1 4
}
latency() {
  pair "$@"
  rows 1 5
}

# lasting COLUMNS TOOL ARGUMENTS...: for a time. Perftest counts what happens in the middle of it, where a busy machine may
# have left it no CPU at all.
lasting() {
  local columns=$1 seconds
  shift
  for seconds in 1 5 20; do
    pair "$@" -D "$seconds"
    (($(perftest_rows "$scratch/client.log" "$columns") != 1)) || return 0
  done
  rows 1 "$columns"
}

# pingpong TOOL ARGUMENTS...: of libibverbs' own examples.
pingpong() {
  pair "$@"
  local side
  for side in client server; do
    grep -qE '^[0-9]+ iters in' "$scratch/$side.log" || fail "the $side of '$*' has no result"
  done
}

# raw_latency: whole Ethernet frames to and fro. They have no handshake and repeat nothing: who starts first on a busy machine
# may wait for ever, so they are given three chances.
raw_latency() {
  local chance server one=02:00:00:00:00:01 two=02:00:00:00:00:02
  ((EUID == 0)) || skip 'raw packets need CAP_NET_RAW'
  for chance in 1 2 3; do
    mrc_start "$scratch/server.log" stdbuf -oL "${as_user[@]}" raw_ethernet_lat --server -d mrc0 -B $one -E $two -n 1000 -s 64
    server=$mrc_pid
    for ((i = 0; i < 100; ++i)); do
      ! grep -q '#bytes' "$scratch/server.log" || break
      sleep 0.1
    done
    if timeout 20 "$bin/mrcrun" raw_ethernet_lat --client -d mrc0 -B $two -E $one -n 1000 -s 64 >"$scratch/client.log" 2>&1 &&
      wait "$server"; then
      mrc_started=()
      rows 1 5
      return
    fi
    mrc_stop_all
  done
  fail "$chance times without a result"
}

# xsrq_pingpong ARGUMENTS...: it says nothing when all went well.
xsrq_pingpong() {
  pair ibv_xsrq_pingpong -n 200 "$@"
}

# ipv6 TOOL ARGUMENTS...: with the GID of an IPv6 address. What they tell each other by TCP still goes over IPv4.
ipv6() {
  awk '$6 != "lo" { found = 1 } END { exit !found }' /proc/net/if_inet6 2>/dev/null || skip 'no interface has IPv6'
  pair "$@" --ipv6
  grep -qE '^ GID: (254:128|3[2-9]|25[23]):' "$scratch/client.log" || fail 'it was not an IPv6 GID'
}

# at_once TOOL,ARGUMENT,... ...: so many pairs of programs that share mrc0, all at the same time.
at_once() {
  local ports=() words=() i
  for ((i = 1; i <= $#; ++i)); do
    IFS=, read -ra words <<<"${!i}"
    ports[i]=$(free_port)
    mrc_start "$scratch/server$i.log" "${as_user[@]}" "${words[@]}" -d mrc0 -F -p "${ports[i]}"
    mrc_await_listener "${ports[i]}" "$mrc_pid" || fail "the server of '${!i}' does not listen"
  done
  for ((i = 1; i <= $#; ++i)); do
    IFS=, read -ra words <<<"${!i}"
    mrc_start "$scratch/client$i.log" "${as_user[@]}" "${words[@]}" -d mrc0 -F -p "${ports[i]}" 127.0.0.1
  done
  for i in "${mrc_started[@]}"; do wait "$i" || fail "one of them ended with status $?"; done
  mrc_started=()
  for ((i = 1; i <= $#; ++i)); do
    ! grep -iE 'completion with error|failed|error|unable' "$scratch"/{server,client}$i.log || fail 'an error'
    cp "$scratch/client$i.log" "$scratch/client.log"
    rows 1 4
  done
}

# seen CONDITION: waits for a line of mrc_top that meets it, "... 31.50 Gb/s   paths   96/128  retransmits ...", as long as
# the client runs.
seen() {
  until awk '{ split($6, paths, "/") } /cut \(black hole\)/ { cut = 1 } '"$1"' { found = 1 } END { exit !found }' \
    "$scratch/view.log"; do
    kill -0 "$client" 2>/dev/null || return 1
    sleep 0.05
  done
}

# felt: every path of the plane was put aside while data was under way.
cut_a_plane() {
  local view
  felt=
  mrc_start "$scratch/view.log" "${prefix[@]}" "$bin/mrc_top" --lines
  view=$mrc_pid
  if seen '$3 > 0'; then
    "${prefix[@]}" "$bin/mrcctl" plane 2 black-hole
    ! seen 'cut && paths[1] <= paths[2] * 3 / 4' || felt=1
    "${prefix[@]}" "$bin/mrcctl" plane 2 heal
  fi
  kill "$view"
  wait "$view" || true
}

# state_shows PATTERN...: what would be printed of these programs if they hung.
state_shows() {
  local pattern
  explain_hang $$ "${prefix[@]}" "$bin/mrcctl" >"$scratch/state.log"
  for pattern in "$@"; do
    grep -qE -- "$pattern" "$scratch/state.log" || return 1
  done
}

shows() { grep -qE "$1" "$scratch/info.log" || fail "ibv_devinfo does not show: $1"; }

# A program that wants to use the device must fail, and its error output must say why and what to do. This one makes
# its verbs objects before it listens for the other side.
explains() {
  local status=0
  "${as_user[@]}" ibv_rc_pingpong -d mrc0 -g 0 -p "$(free_port)" >"$scratch/out.log" 2>"$scratch/err.log" || status=$?
  ((status != 0)) || fail 'ibv_rc_pingpong was expected to fail'
  ((status != 124 && status < 128)) || fail "ibv_rc_pingpong did not end by itself (status $status)"
  local pattern
  for pattern in "$@"; do
    grep -qiE -- "$pattern" "$scratch/err.log" || fail "the error does not say: $pattern"
  done
  cat "$scratch/err.log"
}

# For XRC perftest makes empty files in /tmp, and leaves them there.
if [[ $name == *_xrc ]]; then
  trap 'find /tmp -maxdepth 1 -name "xrc_domain*" -empty -user "$(id -u)" -delete; finish' EXIT
fi

case $name in
  devices)
    "${as_user[@]}" ibv_devices >"$scratch/info.log" 2>&1 || fail "ibv_devices ended with status $?"
    grep -qE '^ +mrc0[[:space:]]+[0-9a-f]{16}$' "$scratch/info.log" || fail 'mrc0 is not listed'
    ! grep -qE 'mrc0[[:space:]]+0000000000000000' "$scratch/info.log" || fail 'the GUID is zero'
    ;;
  devinfo)
    "${as_user[@]}" ibv_devinfo -v >"$scratch/info.log" 2>&1 || fail "ibv_devinfo ended with status $?"
    shows 'hca_id:[[:space:]]+mrc0'
    shows 'transport:[[:space:]]+InfiniBand'
    shows 'state:[[:space:]]+PORT_ACTIVE'
    shows 'link_layer:[[:space:]]+Ethernet'
    shows 'max_mtu:[[:space:]]+4096'
    shows 'active_mtu:[[:space:]]+4096'
    shows 'GID\[ +0\]:.*:ffff:.*RoCE v2'
    for limit in max_qp max_qp_wr max_sge max_cq max_cqe max_mr max_pd; do
      shows "$limit:[[:space:]]+[1-9][0-9]*"
    done
    ;;
  write_bw)
    pair ib_write_bw -s 65536 -n 5000
    rows 1 4
    ;;
  write_bw_all)
    pair ib_write_bw -a -n 100
    rows 23 5  # 2 bytes to 8 MiB; by their rate, for two bytes may be shown as 0.00 MB/s
    ;;
  write_bw_qps)
    pair ib_write_bw -s 65536 -n 500 -q 8
    rows 1 4
    ;;
  write_bw_both)
    pair ib_write_bw -s 65536 -n 5000 -b
    rows 1 4
    ;;
  write_lat)
    pair ib_write_lat -s 8 -n 2000
    rows 1 5
    ;;
  write_bw_2_qps) bandwidth ib_write_bw -s 65536 -n 1000 -q 2 ;;
  write_bw_64_qps) bandwidth ib_write_bw -s 16384 -n 200 -q 64 ;;
  write_bw_both_qps) bandwidth ib_write_bw -s 65536 -n 500 -q 8 -b ;;
  write_bw_both_64_qps) bandwidth ib_write_bw -s 16384 -n 100 -q 64 -b ;;
  write_bw_inline) bandwidth ib_write_bw -s 64 -n 2000 -I 64 ;;
  write_bw_odp) bandwidth ib_write_bw -s 65536 -n 1000 --odp ;;
  write_bw_seconds) lasting 4 ib_write_bw -s 65536 ;;
  write_bw_ipv6) ipv6 ib_write_bw -s 65536 -n 500 ;;
  write_lat_seconds) lasting 3 ib_write_lat -s 8 ;; # the table of a duration is a short one
  at_once) at_once ib_write_bw,-s,65536,-n,1000 ib_send_bw,-s,4096,-n,1000,-q,4 ib_read_bw,-s,65536,-n,500 ;;
  write_bw_uc) bandwidth ib_write_bw -s 65536 -n 1000 -c UC ;;
  write_lat_inline) latency ib_write_lat -s 64 -n 1000 -I 128 ;;
  write_lat_uc) latency ib_write_lat -s 8 -n 1000 -c UC ;;
  send_bw) bandwidth ib_send_bw -s 65536 -n 2000 ;;
  send_bw_all)
    pair ib_send_bw -a -n 100
    rows 23 5
    ;;
  send_bw_both_qps) bandwidth ib_send_bw -s 16384 -n 300 -q 8 -b ;;
  send_bw_64_qps) bandwidth ib_send_bw -s 4096 -n 200 -q 64 ;;
  send_bw_seconds) lasting 4 ib_send_bw -s 65536 ;;
  send_bw_ipv6) ipv6 ib_send_bw -s 65536 -n 500 ;;
  send_bw_ud_ipv6) ipv6 ib_send_bw -s 2048 -n 500 -c UD ;;
  send_bw_ud_qps) bandwidth ib_send_bw -s 2048 -n 500 -c UD -q 4 ;;
  send_bw_inline) bandwidth ib_send_bw -s 64 -n 2000 -I 64 ;;
  send_lat_seconds) lasting 3 ib_send_lat -s 8 ;;
  send_lat_all)
    pair ib_send_lat -a -n 20 # it measures the CPU's frequency for half a second per row
    rows 23 5
    ;;
  send_bw_both) bandwidth ib_send_bw -s 65536 -n 1000 -b ;;
  send_bw_qps) bandwidth ib_send_bw -s 16384 -n 500 -q 8 ;;
  send_bw_srq) bandwidth ib_send_bw -s 16384 -n 500 -q 4 --use-srq ;;
  send_bw_events) bandwidth ib_send_bw -s 65536 -n 1000 -e ;;
  send_bw_uc) bandwidth ib_send_bw -s 65536 -n 1000 -c UC ;;
  send_bw_ud) bandwidth ib_send_bw -s 2048 -n 1000 -c UD ;;
  send_lat) latency ib_send_lat -s 8 -n 1000 ;;
  send_lat_events) latency ib_send_lat -s 8 -n 1000 -e ;;
  send_lat_inline) latency ib_send_lat -s 64 -n 1000 -I 128 ;;
  send_lat_srq) latency ib_send_lat -s 8 -n 1000 --use-srq ;;
  send_lat_uc) latency ib_send_lat -s 8 -n 1000 -c UC ;;
  send_lat_ud) latency ib_send_lat -s 8 -n 1000 -c UD ;;
  read_bw) bandwidth ib_read_bw -s 65536 -n 2000 ;;
  read_bw_all)
    pair ib_read_bw -a -n 100
    rows 23 5
    ;;
  read_bw_both_qps) bandwidth ib_read_bw -s 65536 -n 500 -q 8 -b ;;
  read_bw_events) bandwidth ib_read_bw -s 65536 -n 1000 -e ;;
  read_bw_64_qps) bandwidth ib_read_bw -s 16384 -n 100 -q 64 ;;
  read_bw_seconds) lasting 4 ib_read_bw -s 65536 ;;
  read_bw_ipv6) ipv6 ib_read_bw -s 65536 -n 500 ;;
  read_lat_all)
    pair ib_read_lat -a -n 20
    rows 23 5
    ;;
  read_lat_seconds) lasting 3 ib_read_lat -s 8 ;;
  read_lat_events) latency ib_read_lat -s 8 -n 500 -e ;;
  atomic_bw_both_qps) bandwidth ib_atomic_bw -n 500 -q 8 -b ;;
  atomic_bw_events) bandwidth ib_atomic_bw -n 1000 -e ;;
  atomic_bw_seconds) lasting 4 ib_atomic_bw ;;
  atomic_lat_seconds) lasting 3 ib_atomic_lat ;;
  atomic_bw_64_qps) bandwidth ib_atomic_bw -n 100 -q 64 ;;
  atomic_bw_ipv6) ipv6 ib_atomic_bw -n 500 ;;
  atomic_lat_events) latency ib_atomic_lat -n 500 -e ;;
  read_lat) latency ib_read_lat -s 8 -n 1000 ;;
  atomic_bw_add) bandwidth ib_atomic_bw -n 2000 ;;
  atomic_bw_swap) bandwidth ib_atomic_bw -n 2000 -A CMP_AND_SWAP ;;
  atomic_lat_add) latency ib_atomic_lat -n 1000 ;;
  atomic_lat_swap) latency ib_atomic_lat -n 1000 -A CMP_AND_SWAP ;;
  rc_pingpong) pingpong ibv_rc_pingpong ;;
  rc_pingpong_events) pingpong ibv_rc_pingpong -e ;;
  rc_pingpong_new_calls) pingpong ibv_rc_pingpong -N ;;
  rc_pingpong_on_demand) pingpong ibv_rc_pingpong -o -P -c ;;
  rc_pingpong_all_memory) pingpong ibv_rc_pingpong -O -P -c ;;
  rc_pingpong_times) pingpong ibv_rc_pingpong -t ;;
  rc_pingpong_device_memory) pingpong ibv_rc_pingpong -j -c ;;
  rc_pingpong_checked) pingpong ibv_rc_pingpong -c -s 1000000 -n 100 ;;
  uc_pingpong) pingpong ibv_uc_pingpong ;;
  uc_pingpong_events) pingpong ibv_uc_pingpong -e ;;
  ud_pingpong) pingpong ibv_ud_pingpong -s 2048 ;;
  ud_pingpong_events) pingpong ibv_ud_pingpong -s 2048 -e ;;
  xsrq_pingpong) xsrq_pingpong ;;
  xsrq_pingpong_events) xsrq_pingpong -e ;;
  plain_xsrq_pingpong) MRC_TRANSPORT=rc xsrq_pingpong ;;
  send_bw_xrc) bandwidth ib_send_bw -s 65536 -n 1000 -c XRC ;;
  write_bw_xrc) bandwidth ib_write_bw -s 65536 -n 1000 -c XRC -q 4 ;;
  send_lat_xrc) latency ib_send_lat -s 8 -n 1000 -c XRC ;;
  plain_send_bw_xrc) MRC_TRANSPORT=rc bandwidth ib_send_bw -s 65536 -n 1000 -c XRC ;;
  srq_pingpong) pingpong ibv_srq_pingpong ;;
  srq_pingpong_events) pingpong ibv_srq_pingpong -e ;;
  plain_write_bw) MRC_TRANSPORT=rc bandwidth ib_write_bw -s 65536 -n 1000 -q 4 ;;
  plain_read_bw) MRC_TRANSPORT=rc bandwidth ib_read_bw -s 65536 -n 1000 ;;
  plain_atomic_lat) MRC_TRANSPORT=rc latency ib_atomic_lat -n 1000 ;;
  plain_rc_pingpong) MRC_TRANSPORT=rc pingpong ibv_rc_pingpong ;;
  plain_srq_pingpong) MRC_TRANSPORT=rc pingpong ibv_srq_pingpong -e ;;
  strict_write_bw) MRC_TRANSPORT=mrc-strict bandwidth ib_write_bw -s 65536 -n 1000 -q 4 ;;
  raw_lat) raw_latency ;;
  sniffer)
    command -v tcpdump >/dev/null || skip 'tcpdump is not installed'
    "${as_user[@]}" "$bin/sniffer" "$scratch/capture" >"$scratch/sniffer.log" 2>&1 || fail 'it sniffs nothing'
    tcpdump -nn -r "$scratch/capture" >"$scratch/frames.log" 2>"$scratch/tcpdump.log" || fail 'tcpdump cannot read it'
    count=$(grep -cE ' > [^ ]+\.4791: ' "$scratch/frames.log" || true)
    ((count >= 20)) && grep -qx "$count frames" "$scratch/sniffer.log" || fail "tcpdump sees $count frames of RoCE"
    ;;
  asyncwatch)
    mrc_start "$scratch/server.log" stdbuf -oL "${as_user[@]}" ibv_asyncwatch -d mrc0
    for ((i = 0; i < 100; ++i)); do
      ! grep -q 'async event FD' "$scratch/server.log" || break
      sleep 0.1
    done
    grep -qE '^mrc0: async event FD [0-9]+$' "$scratch/server.log" || fail 'ibv_asyncwatch does not wait for events'
    ;;
  write_bw_plane_cut)
    # How soon it is under way, and how soon we see what it does, depends on the machine.
    for seconds in 3 10 30; do
      during=cut_a_plane pair ib_write_bw -s 65536 -D "$seconds"
      rows 1 4
      [[ -z $felt ]] || break
    done
    [[ -n $felt ]] || fail 'the paths of a plane were not put aside although it was cut'
    ;;
  state)
    # They are ended when it was seen; how soon they have something under way depends on the machine.
    port=$(free_port)
    mrc_start "$scratch/server.log" "${as_user[@]}" ib_write_bw -d mrc0 -F -D 80 -p "$port"
    mrc_await_listener "$port" "$mrc_pid" || fail 'ib_write_bw does not listen'
    mrc_start "$scratch/client.log" "${as_user[@]}" ib_write_bw -d mrc0 -F -D 80 -p "$port" 127.0.0.1
    until state_shows '^process [0-9]+ \(ib_write_bw\), slot 1' '^process [0-9]+ \(ib_write_bw\), slot 2' \
      'queue pair 0x.*: mrc RTR, peer' 'queue pair 0x.*: mrc RTS.*, peer' 'requester: psn [0-9]+\.\.[0-9]+' \
      'responder: expects psn' 'retransmission in' ' ms ago sent ' 'data_packets_sent=[1-9]' \
      'thread [0-9]+ mrc-mrc0:'; do
      kill -0 "$mrc_pid" 2>/dev/null || fail 'the state never showed all of it'
      sleep 0.1
    done
    ;;
  hang)
    # Not a test by itself: waits for ever.
    mrc_start "$scratch/server.log" "${as_user[@]}" ibv_asyncwatch -d mrc0
    wait "$mrc_pid"
    ;;
  hang_is_explained)
    status=0
    MRC_TEST_DEADLINE=2 "$0" "$source_dir" "$build_dir" hang "$as" >"$scratch/hang.log" 2>&1 || status=$?
    ((status == 1)) || fail "a test that hangs ended with status $status"
    for pattern in '^FAILED: not done after 2 s' '^--- engines of run' 'process [0-9]+: ibv_asyncwatch -d mrc0'; do
      grep -qE -- "$pattern" "$scratch/hang.log" || fail "it does not say: $pattern"
    done
    ;;
  rundir_not_writable)
    # Root may write everywhere, but nobody can make a directory below a file.
    : >"$scratch/file"
    chmod 644 "$scratch/file"
    MRC_RUNDIR=$scratch/file/run explains "$scratch/file/run" 'MRC_RUNDIR'
    ;;
  rundir_of_another)
    ((EUID == 0)) || skip 'needs two users'
    chown 65534:65534 "$MRC_RUNDIR"
    explains "$MRC_RUNDIR" 'MRC_RUNDIR|own'
    ;;
  fuse_refused)
    # The kernel mounts nothing for an ordinary user: who insists is told so.
    MRC_CMDFD=fuse explains mrc0 'Operation not permitted' CAP_SYS_ADMIN
    ;;
  config_typo)
    printf '[device]\nplannes = 4\n' >"$scratch/mrc.toml"
    MRC_CONFIG=$scratch/mrc.toml explains "$scratch/mrc.toml" plannes '(line |:)2' 'known keys.*planes'
    ;;
  config_not_toml)
    printf '[device\n' >"$scratch/mrc.toml"
    MRC_CONFIG=$scratch/mrc.toml explains "$scratch/mrc.toml" '(line |:)[12]'
    ;;
  config_missing)
    MRC_CONFIG=$scratch/absent.toml explains "$scratch/absent.toml" MRC_CONFIG
    ;;
  *)
    fail "there is no case '$name'"
    ;;
esac
