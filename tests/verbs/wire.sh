#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's own verbs programs, unmodified, between two hosts: network namespaces joined by veth pairs, one per plane.
#   wire.sh SOURCE_DIR BUILD_DIR CASE
# Each case has namespaces, run directories and files of its own and leaves nothing behind. One script: all cases are a few
# lines on top of the same hosts, wires and programs, and mrcd on them.
set -euo pipefail

source_dir=$1 build_dir=$2 name=$3
bin=$build_dir/bin
# shellcheck source=../../cmake/processes.sh
. "$source_dir/cmake/processes.sh"
# shellcheck source=watchdog.sh
. "$source_dir/tests/verbs/watchdog.sh"
# shellcheck source=perftest_rows.sh
. "$source_dir/tests/verbs/perftest_rows.sh"

if ((EUID != 0)); then
  echo 'SKIPPED: only root can make network namespaces'
  exit 77
fi
if ! ip netns add "mrc-try-$$" 2>/dev/null; then
  echo 'SKIPPED: network namespaces cannot be made here'
  exit 77
fi
ip netns del "mrc-try-$$"

# Short: the names of sockets live below it, and those are limited to 107 bytes.
scratch=$build_dir/t/$$
mkdir -p "$scratch"
a=mrc-a-$$ b=mrc-b-$$
finish() {
  stop_watchdog
  mrc_stop_all
  ip netns del "$a" 2>/dev/null || true
  ip netns del "$b" 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT
trap 'fail "it was told to end"' INT TERM
export MRC_RUNDIRS="$scratch/run.$a $scratch/run.$b" MRC_TRACE=${MRC_TRACE:-20}
start_watchdog "$bin/mrcctl"

fail() {
  printf 'FAILED: %s\n' "$1"
  local log
  for log in "$scratch"/*.log; do
    [[ -s $log ]] || continue
    printf -- '--- %s\n' "${log##*/}"
    tail -n 40 "$log"
  done
  exit 1
}

# inside HOST COMMAND...: in its network. Not "ip netns exec" or "ip -n": those change mounts, which not every chroot
# allows.
inside() { nsenter --net="/run/netns/$1" "${@:2}"; }

# join PLANE MTU: a veth pair between the hosts, with addresses.
join() {
  local plane=$1
  ip link add "v$plane" mtu "$2" netns "$a" type veth peer name "v$plane" mtu "$2" netns "$b"
  inside "$a" ip addr add "10.77.$plane.1/24" dev "v$plane"
  inside "$b" ip addr add "10.77.$plane.2/24" dev "v$plane"
  inside "$a" ip addr add "fd77:0:$plane::1/64" dev "v$plane" nodad
  inside "$b" ip addr add "fd77:0:$plane::2/64" dev "v$plane" nodad
  inside "$a" ip link set "v$plane" up
  inside "$b" ip link set "v$plane" up
}

# network PLANES [MTU]: hosts $a (10.77.P.1) and $b (10.77.P.2), joined by v0, v1, ...
network() {
  local host plane
  for host in "$a" "$b"; do
    ip netns add "$host"
    inside "$host" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
    inside "$host" ip link set lo up
  done
  for ((plane = 0; plane < $1; ++plane)); do join "$plane" "${2:-4300}"; done
  for host in "$a" "$b"; do mkdir -m 700 "$scratch/run.$host"; done
}

# settings PLANES [EXTRA]: the same file for both hosts.
settings() {
  local plane
  {
    [[ -z ${2:-} ]] || printf '%s\n' "$2"
    for ((plane = 0; plane < $1; ++plane)); do
      printf '[[port]]\nbackend = "af_packet"\ninterface = "v%d"\n' "$plane"
    done
  } | tee "$scratch/$a.toml" >"$scratch/$b.toml"
}

# Any program on a host, of root or of the user run_as. Not a function: its pid must be the program's.
run_as=
on() {
  local user=()
  [[ -z $run_as ]] || user=(setpriv --reuid="$run_as" --regid="$run_as" --clear-groups)
  prefix=(nsenter --net="/run/netns/$1" env MRC_RUNDIR="$scratch/run.$1$run_as" MRC_CONFIG="$scratch/$1.toml" MRC_PLANES=
    MRC_PORTS="$scratch/mrcd.$1/ports" timeout -k 15 "$((${MRC_TEST_DEADLINE:-90} + 20))" "${user[@]}" "$bin/mrcrun")
}

# for_users USER...: run directories of their own on both hosts.
for_users() {
  local user host
  chmod 755 "$scratch"
  chmod 644 "$scratch"/*.toml
  for user in "$@"; do
    setpriv --reuid="$user" --regid="$user" --clear-groups test -x "$bin/mrcrun" ||
      { echo "SKIPPED: user $user may not enter $bin"; exit 77; }
    for host in "$a" "$b"; do install -d -m 700 -o "$user" -g "$user" "$scratch/run.$host$user"; done
  done
}

# start_mrcd HOST: it has the ports of the host; its pid in sharers[HOST].
declare -A sharers
start_mrcd() {
  local tries=0
  mkdir -p "$scratch/mrcd.$1"
  rm -f "$scratch/mrcd.$1.log" # of an earlier one, which has listened, too
  mrc_start "$scratch/mrcd.$1.log" nsenter --net="/run/netns/$1" env MRC_CONFIG="$scratch/$1.toml" \
    MRC_PORTS="$scratch/mrcd.$1/ports" "$bin/mrcd" "$scratch/mrcd.$1/broker"
  sharers[$1]=$mrc_pid
  until grep -qs 'listening at\|no FUSE' "$scratch/mrcd.$1.log" && grep -qs 'sharing ports' "$scratch/mrcd.$1.log"; do
    if ! kill -0 "$mrc_pid" 2>/dev/null || ((tries++ >= 600)); then fail "mrcd on $1 does not listen"; fi
    sleep 0.05
  done
}

# shared_settings PLANES [EXTRA]: as settings(), but mrcd has the ports.
shared_settings() {
  settings "$@"
  sed -i '/^interface = /a share = "mrcd"' "$scratch/$a.toml" "$scratch/$b.toml"
}

# net_af_packet INTERFACE QUEUES: as DPDK writes it, with frames that ours fit into.
net_af_packet() { echo "net_af_packet0,iface=$1,qpairs=$2,blocksz=69632,framesz=4352,framecnt=512"; }

# Three pairs by mrcd of each host, both of whose threads must have had frames for programs and from them.
through_threads() {
  local tag host
  export MRC_DEBUG=1
  start_mrcd "$a"
  start_mrcd "$b"
  unset MRC_DEBUG
  start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 1500
  start_pair y "$a" "$b" 10.77.0.1 ib_write_bw -s 65536 -n 1500
  start_pair w "$a" "$b" 10.77.0.1 ib_send_bw -s 4096 -n 1000
  for tag in x y w; do
    finish_pair "$tag"
    rows "$tag" 1 4
  done
  for host in "$a" "$b"; do
    kill "${sharers[$host]}"
    wait "${sharers[$host]}" || fail "mrcd ended with status $?"
    grep '^mrcd: thread' "$scratch/mrcd.$host.log"
    (($(grep -cE '^mrcd: thread [01]: frames: [1-9][0-9]* to programs, [1-9][0-9]* to wires' "$scratch/mrcd.$host.log") == 2)) ||
      fail "not all threads of mrcd on $host have carried frames"
  done
}

listens() { [[ -n $(inside "$1" ss -Hltn "sport = :$2") ]]; }

# start_pair TAG SERVER_HOST CLIENT_HOST ADDRESS TOOL ARGUMENTS...: pids in server_TAG and client_TAG.
start_pair() {
  local tag=$1 server=$2 client=$3 address=$4 port=$((20000 + RANDOM % 10000)) tries=0
  shift 4
  on "$server"
  mrc_start "$scratch/server.$tag.log" "${prefix[@]}" "$@" -d "${device:-mrc0}" -F -p "$port"
  declare -g "server_$tag=$mrc_pid"
  until listens "$server" "$port"; do
    if ! kill -0 "$mrc_pid" 2>/dev/null || ((tries++ >= 1200)); then fail "the server of '$*' does not listen"; fi
    sleep 0.05
  done
  on "$client"
  mrc_start "$scratch/client.$tag.log" "${prefix[@]}" "$@" -d "${device:-mrc0}" -F -p "$port" "$address"
  declare -g "client_$tag=$mrc_pid"
}

# start_cm_pair TAG SERVER CLIENT ADDRESS COMMAND...: the same with a connection by rdma_cm, which chooses the devices. The
# server listens at all addresses.
start_cm_pair() {
  local tag=$1 server=$2 client=$3 address=$4 port=$((20000 + RANDOM % 10000)) tries=0
  shift 4
  on "$server"
  mrc_start "$scratch/server.$tag.log" "${prefix[@]}" "$@" -R -F -p "$port"
  declare -g "server_$tag=$mrc_pid"
  until grep -qsE '^[0-9]+ [0-9a-f]+ 1 ' "$scratch/run.$server/cm.0106.$port"; do
    if ! kill -0 "$mrc_pid" 2>/dev/null || ((tries++ >= 1200)); then fail "the server of '$*' does not listen"; fi
    sleep 0.05
  done
  on "$client"
  mrc_start "$scratch/client.$tag.log" "${prefix[@]}" "$@" -R -F -p "$port" "$address"
  declare -g "client_$tag=$mrc_pid"
}

# finish_pair TAG: both must end with status 0 and without a word of an error.
finish_pair() {
  local client=client_$1 server=server_$1
  wait "${!client}" || fail "the client of pair $1 ended with status $?"
  wait "${!server}" || fail "the server of pair $1 ended with status $?"
  ! grep -iE 'completion with error|failed|error|unable' "$scratch"/{server,client}."$1".log ||
    fail "pair $1 speaks of an error"
  cat "$scratch/client.$1.log"
}

pair() {
  start_pair "$@"
  finish_pair "$1"
}

rows() {
  local good
  good=$(perftest_rows "$scratch/client.$1.log" "$3")
  ((good == $2)) || fail "expected $2 rows with results, found $good"
}

# sent HOST PLANE: bytes that have left by it.
sent() { inside "$1" awk -v interface="v$2:" '$1 == interface { print $10 }' /proc/net/dev; }

# used HOST PLANES BYTES: every plane has carried so much at least. A thirtieth of its share: where programs
# wait for a CPU, a plane whose packets are lost in its ring is left alone for a while.
used() {
  local plane
  for ((plane = 0; plane < $2; ++plane)); do
    (($(sent "$1" "$plane") >= $3)) || fail "plane $plane carried only $(sent "$1" "$plane") bytes"
  done
}

# The kernels of the two hosts saw every packet and must have kept quiet.
no_icmp() {
  local host count
  for host in "$a" "$b"; do
    count=$(inside "$host" awk '$1 == "Icmp:" && !seen++ { for (i = 1; i <= NF; ++i) if ($i == "OutDestUnreachs") at = i; next }
      $1 == "Icmp:" { print $at }' /proc/net/snmp)
    ((count == 0)) || fail "$host sent $count ICMP errors"
    count=$(inside "$host" awk '$1 ~ /^Icmp6Out(DestUnreachs|ParmProblems)$/ { n += $2 } END { print n + 0 }' \
      /proc/net/snmp6)
    ((count == 0)) || fail "$host sent $count ICMPv6 errors"
  done
}

explains() {
  local status=0 pattern
  on "$a"
  "${prefix[@]}" ibv_rc_pingpong -d mrc0 -g 0 >"$scratch/out.log" 2>"$scratch/err.log" || status=$?
  ((status != 0 && status != 124 && status < 128)) || fail "ibv_rc_pingpong ended with status $status"
  for pattern in "$@"; do
    grep -qE -- "$pattern" "$scratch/err.log" || fail "the error does not say: $pattern"
  done
  cat "$scratch/err.log"
}

# await_growth NAMESPACE PLANE WHAT: another megabyte goes out by that plane. Status 1: the client ended before.
await_growth() {
  local before i
  missing=$3
  before=$(sent "$1" "$2")
  for ((i = 0; i < 600; ++i)); do
    (($(sent "$1" "$2") - before < 1000000)) || return 0
    # shellcheck disable=SC2154
    kill -0 "$client_x" 2>/dev/null || return 1
    sleep 0.05
  done
  fail "$missing"
}

# eal_threads PID: of the program that a pair's pid stands for, with mrcrun and timeout before it.
eal_threads() {
  local child
  cat "/proc/$1"/task/*/comm 2>/dev/null | grep -cE '^(eal|dpdk|rte)-' || true
  for child in $(pgrep -P "$1"); do eal_threads "$child"; done
}

# has_eal COUNT: while pair x runs, so many of its programs' threads are EAL's: none, or some.
has_eal() {
  local count
  await_growth "$a" 0 'nothing is sent' || fail 'the transfer is over too soon'
  # shellcheck disable=SC2154
  count=$({ eal_threads "$server_x" && eal_threads "$client_x"; } | awk '{ n += $1 } END { print n + 0 }')
  if [[ $1 == none ]]; then ((count == 0)); else ((count > 0)); fi || fail "$count threads of EAL, wanted: $1"
}

flap() {
  local status=0
  await_growth "$a" 2 'the plane is not used' || return 1
  inside "$b" ip link set v2 down
  sleep 1
  await_growth "$a" 1 'the other planes do not go on' || status=1
  inside "$b" ip link set v2 up
  ((status == 0)) && await_growth "$a" 2 'the plane that came back is not used'
}

# A veth pair is deleted and made anew: other interfaces with the same names, and other MAC addresses.
recreate() {
  local status=0
  await_growth "$a" 1 'the plane is not used' || return 1
  inside "$a" ip link del v1
  await_growth "$a" 0 'the other plane does not go on' || status=1
  join 1 4300
  ((status == 0)) && await_growth "$a" 1 'the plane that was made anew is not used' &&
    await_growth "$b" 1 'the plane that was made anew is not used by the other host'
}

# while_writing DURING ARGUMENTS...: ib_write_bw, and DURING meanwhile; where it was over before that, with more time.
while_writing() {
  local during=$1 seconds status
  shift
  for seconds in 5 40; do
    start_pair x "$b" "$a" 10.77.0.2 ib_write_bw "$@" -s 65536 -D "$seconds"
    status=0
    "$during" || status=1
    finish_pair x
    rows x 1 4
    ((status != 0)) || return 0
  done
  fail "$missing"
}

# mrcd of one host is killed and started again, then that of the other; all go on each time.
kill_sharers() {
  local host
  for host in "$a" "$b"; do
    await_growth "$a" 0 'the plane is not used' || return 1
    kill -9 "${sharers[$host]}"
    wait "${sharers[$host]}" 2>/dev/null || true
    start_mrcd "$host"
    await_growth "$a" 0 'nothing goes on after mrcd came back' || return 1
    await_growth "$b" 0 'the other host does not go on after mrcd came back' || return 1
  done
}

# SRv6 without a switch between: both hosts hang on one leaf, which is the other host.
srv6_settings() {
  local own=$1 other=$2 host=$3 planes=$4 plane
  printf '[device]\ngids = ["10.77.0.%d"]\n[srv6]\nblock = "fd00:4d52::/32"\nleaf = 0\nhost = %d\n' "$own" "$host"
  for ((plane = 0; plane < planes; ++plane)); do
    printf '[[port]]\nplane = %d\nbackend = "af_packet"\ninterface = "v%d"\ngateway = "fd77:0:%d::%d"\n' \
      "$plane" "$plane" "$plane" "$other"
  done
  printf '[[host]]\ngids = ["10.77.0.1"]\nleaf = 0\nhost = 5\n[[host]]\ngids = ["10.77.0.2"]\nleaf = 0\nhost = 6\n'
}

# srv6_hosts PLANES: settings of both.
srv6_hosts() {
  srv6_settings 1 2 5 "$1" >"$scratch/$a.toml"
  srv6_settings 2 1 6 "$1" >"$scratch/$b.toml"
}

# srv6_pair: data goes by four planes, and source-routed packets are seen on two of them.
srv6_pair() {
  local plane watcher watchers=()
  for plane in 0 3; do
    watch_srv6 "$plane" &
    mrc_started+=("$!")
    watchers+=("$!")
  done
  pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 2000
  used "$a" 4 1000000
  for watcher in "${watchers[@]}"; do wait "$watcher" || fail 'no source-routed packet on a plane'; done
}

# mpi RANKS MAX: the checker of every byte, with so many ranks on each host and messages of up to MAX bytes. One-sided
# operations by UCX, too: between hosts Open MPI would take libfabric, whose verbs have no atomics. mpirun is on $a; what it would do by ssh on $b is done
# inside its network. Ranks know their own settings by the host they are on.
mpi() {
  local total=$((2 * $1)) hosts="10.77.0.1:$1,10.77.0.2:$1" rank_words
  [[ -x $bin/mpi_check ]] || { echo 'SKIPPED: there is no Open MPI'; exit 77; }
  cat >"$scratch/there" <<REMOTE
#!/bin/sh
shift
exec nsenter --net=/run/netns/$b sh -c "\$*"
REMOTE
  cat >"$scratch/rank" <<RANK
#!/bin/sh
host=$a
[ "\$(stat -Lc %i /proc/self/ns/net)" = "\$(stat -Lc %i /run/netns/$a)" ] || host=$b
MRC_RUNDIR=$scratch/run.\$host MRC_CONFIG=$scratch/\$host.toml MRC_PORTS=$scratch/mrcd.\$host/ports exec $bin/mrcrun "\$@"
RANK
  chmod 755 "$scratch/there" "$scratch/rank"
  mkdir -m 1777 "$scratch/tmp"
  rank_words=(--allow-run-as-root --oversubscribe --host "$hosts" --mca plm_rsh_agent "$scratch/there"
    --mca oob_tcp_if_include v0 --mca btl self --mca pml ucx --mca osc ucx -x UCX_TLS=rc_v,self -x UCX_NET_DEVICES=mrc0:1
    -x UCX_WARN_UNUSED_ENV_VARS=n -x OMPI_MCA_rmaps_base_oversubscribe=1)
  inside "$a" env TMPDIR="$scratch/tmp" MRC_PLANES= timeout -k 1 "${MRC_TEST_DEADLINE:-200}" mpirun -np "$total" "${rank_words[@]}" \
    "$scratch/rank" "$bin/mpi_check" --max "$2" >"$scratch/mpi.log" 2>&1 || fail "mpirun ended with status $?"
  grep -q "mpi_check: $total ranks, all bytes are right" "$scratch/mpi.log" || fail 'mpi_check did not end well'
  cat "$scratch/mpi.log"
}

# Reads frames on a plane of $b until one is IPv4 in IPv6 to the address that the settings make.
watch_srv6() {
  inside "$b" timeout 30 python3 - "$1" <<'PYTHON'
import socket, sys
plane = int(sys.argv[1])
want_source = socket.inet_pton(socket.AF_INET6, 'fd00:4d52:9%x05::' % plane)
want = socket.inet_pton(socket.AF_INET6, 'fd00:4d52:2%x00:9%x06::' % (plane, plane))
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86dd))
s.bind(('v%d' % plane, 0x86dd))
while True:
    frame = s.recv(9000)
    if frame[20] == 4 and frame[22:38] == want_source and frame[38:54] == want and frame[54] == 0x45:
        break
PYTHON
}

# Gb/s of payload that a bare port moves from $a to $b over plane 0.
bare_rate() {
  local mac receiver
  mac=$(inside "$b" ip -brief link show v0 | awk '{ print $3 }')
  mrc_start "$scratch/bare.log" nsenter --net="/run/netns/$b" timeout 30 "$bin/bare_wire" receive v0
  receiver=$mrc_pid
  sleep 0.5
  inside "$a" timeout 30 "$bin/bare_wire" send v0 "$mac" 2
  wait "$receiver" || fail 'the bare receiver heard nothing'
}

# The same of ib_write_bw. The pair's own words go to its logs.
write_rate() {
  pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -D 2 --report_gbits >/dev/null
  awk '$1 ~ /^[0-9]+$/ && NF >= 4 { gbps = $4 } END { print gbps }' "$scratch/client.x.log"
}

median() { sort -n | sed -n 2p; }

case $name in
  write_bw_1)
    network 1
    settings 1
    pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 3000
    rows x 1 4
    used "$a" 1 150000000
    no_icmp
    ;;
  write_bw_4)
    network 4
    settings 4
    start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 3000
    has_eal none
    finish_pair x
    rows x 1 4
    used "$a" 4 1500000
    no_icmp
    ;;
  write_lat)
    network 1
    settings 1
    pair x "$b" "$a" 10.77.0.2 ib_write_lat -s 8 -n 1000
    rows x 1 5
    ;;
  small_mtu) # the device takes what fits an interface of 1500 bytes
    network 1 1500
    settings 1
    pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 500
    grep -qE 'Mtu +: 1024' "$scratch/client.x.log" || fail 'the MTU is not 1024'
    ;;
  ipv6)
    network 1
    settings 1 '[device]
gids = ["fd77:0:0::1"]'
    sed -i 's/fd77:0:0::1/fd77:0:0::2/' "$scratch/$b.toml"
    pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 500 -x 0
    no_icmp
    ;;
  flap)
    network 4
    settings 4
    while_writing flap
    ;;
  recreated)
    network 2
    settings 2
    while_writing recreate -b
    ;;
  two_pairs) # two pairs in opposite directions and one on the same host, all at once
    network 2
    settings 2
    start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 1500
    start_pair y "$a" "$b" 10.77.0.1 ib_write_bw -s 65536 -n 1500
    start_pair z "$a" "$a" 10.77.0.1 ib_write_bw -s 65536 -n 1500
    for tag in x y z; do
      finish_pair "$tag"
      rows "$tag" 1 4
    done
    no_icmp
    ;;
  shared) # three pairs at once through mrcd of each host, and one on the same host, which is not mrcd's affair
    network 2
    shared_settings 2
    start_mrcd "$a"
    start_mrcd "$b"
    start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 1500
    start_pair y "$a" "$b" 10.77.0.1 ib_write_bw -s 65536 -n 1500
    start_pair w "$a" "$b" 10.77.0.1 ib_send_bw -s 4096 -n 1000
    start_pair z "$a" "$a" 10.77.0.1 ib_write_bw -s 65536 -n 1500
    for tag in x y w z; do
      finish_pair "$tag"
      rows "$tag" 1 4
    done
    used "$a" 2 3000000
    no_icmp
    ;;
  shared_devices) # each of two devices by its own port of mrcd
    network 2
    for plane in 0 1; do
      printf '[[device]]\nplanes = 1\n[[device.port]]\nbackend = "af_packet"\ninterface = "v%d"\nshare = "mrcd"\n' "$plane"
    done | tee "$scratch/$a.toml" >"$scratch/$b.toml"
    start_mrcd "$a"
    start_mrcd "$b"
    before=$(sent "$a" 0)
    device=mrc1 start_pair x "$b" "$a" 10.77.1.2 ib_write_bw -s 65536 -n 1500
    finish_pair x
    rows x 1 4
    (($(sent "$a" 1) >= 90000000)) || fail "mrc1 sent only $(sent "$a" 1) bytes by its port"
    (($(sent "$a" 0) - before < 1000000)) || fail "the port of mrc0 carried $(sent "$a" 0) bytes of mrc1"
    start_pair y "$a" "$b" 10.77.0.1 ib_write_bw -s 65536 -n 1500
    device=mrc1 start_pair w "$b" "$a" 10.77.1.2 ib_send_bw -s 4096 -n 1000
    for tag in y w; do
      finish_pair "$tag"
      rows "$tag" 1 4
    done
    for host in "$a" "$b"; do
      kill "${sharers[$host]}"
      wait "${sharers[$host]}" || fail "mrcd ended with status $?"
      [[ -z $(ls "$scratch/mrcd.$host") ]] || fail "mrcd leaves $(ls "$scratch/mrcd.$host")"
    done
    no_icmp
    ;;
  cm_devices) # rdma_cm goes by the device whose network the server is in; a server at all addresses hears all devices
    network 2
    inside "$a" ip addr add 10.77.1.11/24 dev v1
    # Where the kernel would go from an address that is no GID, the network decides.
    gids[1]='gids = ["10.77.1.11"]'
    for host in "$a" "$b"; do
      for plane in 0 1; do
        printf '[[device]]\nplanes = 1\n%s\n[[device.port]]\nbackend = "af_packet"\ninterface = "v%d"\n' "${gids[plane]:-}" "$plane"
      done >"$scratch/$host.toml"
      gids=()
    done
    before=$(sent "$a" 0)
    start_cm_pair x "$b" "$a" 10.77.1.2 ib_write_bw -s 65536 -n 500
    finish_pair x
    (($(sent "$a" 1) >= 30000000)) || fail "mrc1 sent only $(sent "$a" 1) bytes by its port"
    (($(sent "$a" 0) - before < 1000000)) || fail "the port of mrc0 carried $(sent "$a" 0) bytes of mrc1"
    start_cm_pair y "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 500
    start_cm_pair w "$a" "$b" 10.77.1.11 ib_send_bw -s 65536 -n 500
    for tag in y w; do finish_pair "$tag"; done
    for tag in x y w; do rows "$tag" 1 4; done
    # Their GIDs are those of the contexts in use.
    for gid in x:10:77:01:11 x:10:77:01:02 y:10:77:00:01 y:10:77:00:02; do
      grep -q "GID: .*:${gid#*:}\$" "$scratch/client.${gid%%:*}.log" || fail "nobody of pair ${gid%%:*} has the GID ${gid#*:}"
    done
    (($(sent "$a" 0) - before >= 30000000)) || fail "mrc0 sent only $(sent "$a" 0) bytes by its port"
    no_icmp
    ;;
  shared_users) # programs of two users without any right, and of root, by the same port
    network 1
    shared_settings 1 '[mrcd]
users = ["nobody", "65533"]'
    for_users 65534 65533
    start_mrcd "$a"
    start_mrcd "$b"
    run_as=65534 start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 1000
    run_as=65533 start_pair y "$a" "$b" 10.77.0.1 ib_send_bw -s 4096 -n 1000
    start_pair w "$b" "$a" 10.77.0.2 ib_read_bw -s 65536 -n 200
    for tag in x y w; do
      finish_pair "$tag"
      rows "$tag" 1 4
    done
    no_icmp
    ;;
  shared_refused) # who may not, and who finds no mrcd or one with other ports, is told so
    network 2
    shared_settings 2
    for_users 65534
    explains "mrcd, which shares the ports, is not at $scratch/mrcd.$a/ports" 'start it as root'
    start_mrcd "$a"
    run_as=65534 explains 'does not share its ports with this user' '"users" in \[mrcd\]'
    kill "${sharers[$a]}"
    wait "${sharers[$a]}" || fail "mrcd ended with status $?"
    [[ -z $(ls "$scratch/mrcd.$a") ]] || fail "mrcd leaves $(ls "$scratch/mrcd.$a")"
    cp "$scratch/$a.toml" "$scratch/two"
    sed -i '0,/share/{/share/d}' "$scratch/$a.toml"
    start_mrcd "$a"
    cp "$scratch/two" "$scratch/$a.toml"
    explains 'shares no port of plane 0' 'the same settings'
    ;;
  shared_ethdev) # the same by another driver, which only one process can have
    network 1
    printf '[[port]]\nbackend = "ethdev"\ndevice = "net_pcap0,rx_iface_in=v0,tx_iface=v0"\ninterface = "v0"\nshare = "mrcd"\n' |
      tee "$scratch/$a.toml" >"$scratch/$b.toml"
    start_mrcd "$a"
    start_mrcd "$b"
    start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 300
    start_pair y "$a" "$b" 10.77.0.1 ib_write_bw -s 65536 -n 300
    for tag in x y; do
      finish_pair "$tag"
      rows "$tag" 1 4
    done
    no_icmp
    ;;
  ethdev) # DPDK's own driver for such interfaces, as any other
    network 1
    printf '[[port]]\nbackend = "ethdev"\ndevice = "%s"\ninterface = "v0"\n' "$(net_af_packet v0 1)" |
      tee "$scratch/$a.toml" >"$scratch/$b.toml"
    start_pair x "$b" "$a" 10.77.0.2 ib_write_bw -s 65536 -n 1000
    has_eal some
    finish_pair x
    rows x 1 4
    no_icmp
    ;;
  shared_threads) # two threads of mrcd, which divide what comes by packet sockets
    network 2
    shared_settings 2 '[mrcd]
threads = 2'
    through_threads
    used "$a" 2 3000000
    no_icmp
    ;;
  shared_queues) # two threads of mrcd with a queue each of a DPDK device
    network 1
    printf '[mrcd]\nthreads = 2\n[[port]]\nbackend = "ethdev"\ndevice = "%s"\ninterface = "v0"\nshare = "mrcd"\n' \
      "$(net_af_packet v0 2)" | tee "$scratch/$a.toml" >"$scratch/$b.toml"
    through_threads
    no_icmp
    # More threads than queues: it says so.
    sed -i 's/^threads = 2/threads = 3/' "$scratch/$a.toml"
    mkdir -p "$scratch/mrcd.$a"
    status=0
    inside "$a" env MRC_CONFIG="$scratch/$a.toml" MRC_PORTS="$scratch/mrcd.$a/ports" timeout 60 "$bin/mrcd" \
      "$scratch/mrcd.$a/broker" >"$scratch/mrcd.$a.log" 2>&1 || status=$?
    ((status == 1)) || fail "mrcd with too many threads ended with status $status"
    grep -q 'it has 2 pairs of queues, and 3 threads want one each' "$scratch/mrcd.$a.log" || fail 'the error says something else'
    ;;
  shared_killed) # mrcd is killed under traffic and started again: connections go on
    network 1
    shared_settings 1
    start_mrcd "$a"
    start_mrcd "$b"
    done=0
    for count in 10000 100000; do # where it was over before all that, more of it
      # With patience for a restart, and programs that sleep: where pollers have all CPUs the kernel takes long to close
      # packet sockets, those of a killed mrcd too.
      start_pair x "$b" "$a" 10.77.0.2 ib_send_bw -e -s 65536 -n "$count" -u 22
      start_pair y "$a" "$b" 10.77.0.1 ib_send_bw -e -s 4096 -n "$((4 * count))" -u 22
      kill_sharers && done=1
      for tag in x y; do
        finish_pair "$tag"
        rows "$tag" 1 4
      done
      ((done == 0)) || break
    done
    ((done == 1)) || fail 'the transfer is over too soon'
    ;;
  local_only) # on one host nothing goes to a wire
    network 1
    settings 1
    pair x "$a" "$a" 10.77.0.1 ib_write_bw -s 65536 -n 1000
    (($(sent "$a" 0) < 1000000)) || fail 'packets to the same host went to the wire'
    ;;
  srv6)
    network 4
    srv6_hosts 4
    srv6_pair
    ;;
  shared_srv6) # the same through mrcd of each host
    network 4
    srv6_hosts 4
    sed -i '/^interface = /a share = "mrcd"' "$scratch/$a.toml" "$scratch/$b.toml"
    start_mrcd "$a"
    start_mrcd "$b"
    srv6_pair
    ;;
  shared_mpi) # four ranks on each host, all through its mrcd
    network 2
    shared_settings 2
    start_mrcd "$a"
    start_mrcd "$b"
    mpi 4 65536
    used "$a" 2 500000
    no_icmp
    ;;
  stranger) # three processes of a host hear somebody whom they do not know: one of them answers
    network 1
    settings 1
    command -v rping >/dev/null || { echo 'SKIPPED: there is no rping (rdmacm-utils)'; exit 77; }
    pids=()
    for port in 7301 7302 7303; do
      on "$b"
      mrc_start "$scratch/rping.$port.log" "${prefix[@]}" rping -s -a 10.77.0.2 -p "$port"
      pids+=("$mrc_pid")
      for ((tries = 0; ; ++tries)); do
        [[ ! -e $scratch/run.$b/cm.0106.$port ]] || break
        ((tries < 600)) && kill -0 "$mrc_pid" || fail 'a server does not listen'
        sleep 0.05
      done
    done
    sleep 2.5 # the run directory is as it was for a while
    mac=$(inside "$b" ip -brief link show v0 | awk '{ print $3 }')
    question() {
      inside "$a" timeout 60 python3 "$source_dir/tests/verbs/stranger.py" v0 "$mac" 10.77.0.1 10.77.0.2 \
        "$scratch/run.$b" 7303 || fail "a stranger was answered wrongly $1"
    }
    question 'by three'
    # Whoever of them answers: when it is gone another one does.
    kill "${pids[0]}" && sleep 2.5
    question 'by two'
    kill "${pids[1]}" && sleep 2.5
    question 'by one'
    ;;
  raw) # whole Ethernet frames to and fro. Nothing repeats them: three chances for those that start too slowly
    network 1
    settings 1
    mac_a=$(inside "$a" ip -brief link show v0 | awk '{ print $3 }')
    mac_b=$(inside "$b" ip -brief link show v0 | awk '{ print $3 }')
    for chance in 1 2 3; do
      on "$b"
      mrc_start "$scratch/server.x.log" stdbuf -oL "${prefix[@]}" raw_ethernet_lat --server -d mrc0 -B "$mac_b" -E "$mac_a" -n 500 -s 64
      server=$mrc_pid
      for ((i = 0; i < 100; ++i)); do
        ! grep -q '#bytes' "$scratch/server.x.log" || break
        sleep 0.1
      done
      on "$a"
      ! timeout 20 "${prefix[@]}" raw_ethernet_lat --client -d mrc0 -B "$mac_a" -E "$mac_b" -n 500 -s 64 \
        >"$scratch/client.x.log" 2>&1 || break
      mrc_stop_all
    done
    wait "$server" || fail "the server ended with status $?"
    rows x 1 5
    ;;
  mckey) # one sends; one on its own host gets it by a link, two on the other host by the wire
    network 1
    settings 1
    command -v mckey >/dev/null || { echo 'SKIPPED: there is no mckey (rdmacm-utils)'; exit 77; }
    pids=()
    for host in "$a" "$b" "$b"; do
      on "$host"
      own=10.77.0.1
      [[ $host == "$a" ]] || own=10.77.0.2
      mrc_start "$scratch/receiver.${#pids[@]}.log" "${prefix[@]}" stdbuf -oL mckey -b "$own" -m 239.7.7.8 -C 10
      pids+=("$mrc_pid")
    done
    for i in 0 1 2; do
      until grep -q 'receiving data transfers' "$scratch/receiver.$i.log"; do
        kill -0 "${pids[i]}" 2>/dev/null || fail "receiver $i has ended"
        sleep 0.05
      done
    done
    inside "$b" ip maddress show | grep -q 239.7.7.8 || fail 'the kernel has not been told of the group'
    on "$a"
    mrc_start "$scratch/sender.log" "${prefix[@]}" mckey -s -b 10.77.0.1 -m 239.7.7.8 -C 10
    wait "$mrc_pid" || fail "the sender ended with status $?"
    for i in 0 1 2; do wait "${pids[i]}" || fail "receiver $i ended with status $?"; done
    no_icmp
    ;;
  rate) # how much the transport leaves of what a bare port can do; in turn, because machines are noisy
    network 1
    settings 1
    for _ in 1 2 3; do
      bare_rate >>"$scratch/bare"
      write_rate >>"$scratch/write"
    done
    bare=$(median <"$scratch/bare") write=$(median <"$scratch/write")
    printf 'bare port, 4 KiB packets: %s Gb/s; ib_write_bw: %s Gb/s; ratio ' "$bare" "$write"
    awk -v bare="$bare" -v write="$write" 'BEGIN { printf "%.2f (wanted: 0.70)\n", write / bare; exit write < 0.5 * bare }' ||
      fail 'less than half'
    ;;
  cost) # CPU time of a frame by our packet sockets and by DPDK's own driver, in turn
    network 0
    ip link add left mtu 4300 netns "$a" type veth peer name right mtu 4300 netns "$a"
    inside "$a" ip link set left up
    inside "$a" ip link set right up
    for frames in '4096 32' '64 32' '64 1'; do
      rm -f "$scratch"/{sockets,dpdk}
      # The least of each: what runs beside this only adds, for a while, and to one more than to the
      # other: the two have more tries while ours looks dear.
      for ((round = 1, dear = 1; dear && round <= 20; ++round)); do
        for by in sockets dpdk; do
          # shellcheck disable=SC2086
          inside "$a" timeout 60 "$bin/wire_cost" "$by" left right $frames >>"$scratch/$by" || fail "wire_cost $by ended with status $?"
        done
        ours=$(sort -n "$scratch/sockets" | head -n 1) theirs=$(sort -n "$scratch/dpdk" | head -n 1)
        ((dear = 4 * ours > 5 * theirs, 1))
      done
      awk -v f="$frames" -v ours="$ours" -v theirs="$theirs" -v rounds="$((round - 1))" 'BEGIN { split(f, n)
        printf "%4d bytes, bursts of %2d: %d ns per frame, DPDK %d ns, ratio %.2f, %d rounds\n", n[1], n[2], ours, theirs, ours / theirs, rounds }'
      ((dear == 0)) || fail 'packet sockets cost more than the driver that they replace'
    done
    ;;
  mtu_too_large)
    network 1 1500
    settings 1 '[device]
mtu = 4096'
    explains "$a.toml:3: " 'v0 has an MTU of 1500' 'need 4192' 'mtu = 1024'
    ;;
  no_interface)
    network 1
    settings 2
    explains "$a.toml:4: " 'interface v1 is not there'
    ;;
  no_privilege)
    network 1
    settings 1
    chmod 755 "$scratch"
    chown 65534:65534 "$scratch/run.$a"
    chmod 644 "$scratch/$a.toml"
    on "$a"
    prefix=("${prefix[@]:0:${#prefix[@]}-1}" setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/mrcrun")
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$bin/mrcrun" || exit 77
    status=0
    "${prefix[@]}" ibv_rc_pingpong -d mrc0 -g 0 >"$scratch/out.log" 2>"$scratch/err.log" || status=$?
    ((status != 0)) || fail 'ibv_rc_pingpong was expected to fail'
    grep -q 'CAP_NET_RAW' "$scratch/err.log" || fail 'the error does not speak of CAP_NET_RAW'
    ;;
  *)
    fail "there is no case '$name'"
    ;;
esac
