#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The libraries and applications above the verbs, as Debian has them, on mrc0: UCX, Open MPI, libfabric, fio, gloo,
# iSER, QEMU.
# apps.sh SOURCE_DIR BUILD_DIR CASE [as-nobody]
set -euo pipefail

# shellcheck source=case.sh
. "${BASH_SOURCE[0]%/*}/case.sh"

# No other device and no shared memory: what passes has gone through mrc0.
export UCX_NET_DEVICES=mrc0:1 UCX_WARN_UNUSED_ENV_VARS=n UCX_LOG_LEVEL=warn

# ended: both have status 0 and neither speaks of an error.
ended() {
  wait "$client" || fail "the client of '$*' ended with status $?"
  wait "$server" || fail "the server of '$*' ended with status $?"
  mrc_started=()
  if grep -iE 'error|failed|unable|corrupt|mismatch' "$scratch"/{server,client}.log >"$scratch/words.log"; then
    fail "'$*' speaks of an error"
  fi
  cat "$scratch/client.log"
}

# ucx TLS TEST ARGUMENTS...: ucx_perftest; the last line of its table has the rate. Newer ones have strong fences for
# the devices of one vendor only, and take them for the others too if nobody objects.
ucx() {
  local transports=$1 test=$2 port alone=()
  shift 2
  port=$(free_port)
  export UCX_TLS=$transports UCX_FENCE_MODE=weak
  # Where it is built with MPI it starts that in any case, and leaves a file of shared memory behind.
  export OMPI_MCA_btl=^sm
  # Where it is built with MPI it believes that mpirun has started it, unless it is told otherwise.
  [[ $(ucx_perftest -h 2>&1 || true) != *'MPI mode'* ]] || alone=(-P 0)
  mrc_start "$scratch/server.log" "${as_user[@]}" ucx_perftest "${alone[@]}" "${server_words[@]}" -p "$port"
  server=$mrc_pid
  mrc_await_listener "$port" "$server" || fail "ucx_perftest does not listen"
  mrc_start "$scratch/client.log" "${as_user[@]}" ucx_perftest "${alone[@]}" 127.0.0.1 -p "$port" -t "$test" "$@"
  client=$mrc_pid
  ended ucx_perftest -t "$test" "$@"
  grep -qE '^Final: +[1-9][0-9]*' "$scratch/client.log" || fail "ucx_perftest -t $test has no result"
}

# uct TRANSPORT TEST ARGUMENTS...: the same without UCP above, so that nothing takes the place of the operation. Newer
# servers want to be told the device as well.
server_words=()
uct() {
  server_words=(-d mrc0:1 -x "$1")
  ucx all "$2" "${server_words[@]}" "${@:3}"
}

# mpi RANKS MCA...: the checker of every byte, on that many ranks.
mpi() {
  local ranks=$1
  shift
  local arguments=(--oversubscribe --mca btl '^sm,vader,tcp,openib,uct' "$@")
  [[ $as == as-nobody ]] || ((EUID != 0)) || arguments+=(--allow-run-as-root)
  # PMIx keeps its sockets below TMPDIR, whose name has to be short.
  export TMPDIR=$scratch/tmp OMPI_MCA_rmaps_base_oversubscribe=1
  mkdir -m 1777 "$TMPDIR"
  "${as_user[@]}" mpirun -np "$ranks" "${arguments[@]}" "$bin/mpi_check" --max "${mpi_max:-16777216}" \
    >"$scratch/mpi.log" 2>&1 || fail "mpirun ended with status $?"
  grep -q "mpi_check: $ranks ranks, all bytes are right" "$scratch/mpi.log" || fail 'mpi_check did not end well'
  cat "$scratch/mpi.log"
}

# fabric PROVIDER ENDPOINT DOMAIN: libfabric's ping-pong with its check of the data, over the verbs provider.
fabric() {
  local port
  port=$(free_port)
  mrc_start "$scratch/server.log" "${as_user[@]}" fi_pingpong -p "$1" -e "$2" -d "$3" -I 50 -c -B "$port"
  server=$mrc_pid
  mrc_await_listener "$port" "$server" || fail "fi_pingpong does not listen"
  mrc_start "$scratch/client.log" "${as_user[@]}" fi_pingpong -p "$1" -e "$2" -d "$3" -I 50 -c -P "$port" 127.0.0.1
  client=$mrc_pid
  ended fi_pingpong -p "$1" -e "$2"
}

# io_demo_pair TLS ARGUMENTS...: UCX's client and server, which find each other by rdma_cm alone and check what they
# get. The server stays for the next client.
io_demo_pair() {
  local transports=$1 port server
  shift
  port=$(free_port)
  export UCX_TLS=$transports UCX_SOCKADDR_TLS_PRIORITY=rdmacm
  mrc_start "$scratch/server.log" "${as_user[@]}" io_demo -p "$port" -q "$@"
  server=$mrc_pid
  await_cm_listener 0106 "$port" "$server" || fail 'io_demo does not listen'
  mrc_start "$scratch/client.log" "${as_user[@]}" io_demo -p "$port" -q -i 200 "$@" 127.0.0.1
  wait "$mrc_pid" || fail "io_demo ended with status $?"
  mrc_stop_all
  grep -q "Client exit with status 'OK'" "$scratch/client.log" || fail 'io_demo is not content'
  ! grep -iE 'corrupt|mismatch' "$scratch"/{server,client}.log || fail 'io_demo found wrong data'
}

# fio_pair VERB ARGUMENTS...: one that only takes what comes, and one that sends, writes or reads: fio calls all of
# these --rw=write. Who takes SENDs has receives for all of them, for fio does not try again (rnr_retry 0).
fio_pair() {
  local verb=$1 port common side
  shift
  port=$(free_port)
  common=(--ioengine=rdma --port="$port" --bs=64k --size=16m --thread "$@")
  mrc_start "$scratch/server.log" "${as_user[@]}" fio --name=server "${common[@]}" --iodepth=512 --rw=read
  server=$mrc_pid
  await_cm_listener 0106 "$port" "$server" || fail 'fio does not listen'
  mrc_start "$scratch/client.log" "${as_user[@]}" fio --name=client "${common[@]}" --iodepth=16 --rw=write \
    --hostname=127.0.0.1 --verb="$verb"
  client=$mrc_pid
  wait "$client" || fail "fio with $verb ended with status $?"
  wait "$server" || fail "the server of fio with $verb ended with status $?"
  mrc_started=()
  for side in client server; do
    grep -qE 'err= 0' "$scratch/$side.log" || fail "fio's $side with $verb reports an error"
  done
  ! grep -iE 'verify: bad|status [0-9]+\(' "$scratch"/{server,client}.log || fail "fio with $verb found an error"
  grep -qE 'write: .*\(16\.0MiB/' "$scratch/client.log" || fail "fio's client with $verb did not move 16 MiB"
}

# fio_notices: who takes SENDs without the marks that it wants says so. Otherwise the others would prove nothing.
fio_notices() {
  local port common
  port=$(free_port)
  common=(--ioengine=rdma --port="$port" --bs=64k --size=1m --thread --verify_state_save=0)
  mrc_start "$scratch/server.log" "${as_user[@]}" fio --name=server "${common[@]}" --iodepth=512 --rw=read --verify=crc32c
  server=$mrc_pid
  await_cm_listener 0106 "$port" "$server" || fail 'fio does not listen'
  mrc_start "$scratch/client.log" "${as_user[@]}" fio --name=client "${common[@]}" --iodepth=16 --rw=write \
    --hostname=127.0.0.1 --verb=send
  wait "$mrc_pid" || fail "fio ended with status $?"
  ! wait "$server" || fail 'the server takes data without marks for good ones'
  mrc_started=()
  grep -q 'verify: bad magic header' "$scratch/server.log" || fail 'the server does not say what is wrong'
}

# fio_refuses RW MESSAGE: fio has no such mode for this engine, whatever the device. It says so before it connects.
fio_refuses() {
  local status=0
  "${as_user[@]}" fio --name=client --ioengine=rdma --hostname=127.0.0.1 --port="$(free_port)" --bs=64k --size=1m \
    --thread --verb=write --rw="$1" >"$scratch/client.log" 2>&1 || status=$?
  ((status != 0)) || fail "fio takes --rw=$1: docs/verbs.md says that it does not"
  grep -qF "$2" "$scratch/client.log" || fail "fio does not say: $2"
}

# iser LOGINS: tgt's daemon with a disk, which libiscsi's tools log in to by iSER, one after the other; then one of them writes
# to the disk and reads it back. Ports of rdma_cm are those of this case alone, so tgtd may have its own; it takes no other.
iser() {
  local target=iqn.2024-01.test:disk initiator=iqn.2024-01.test:initiator url i
  command -v tgtd >/dev/null || skip 'there is no tgtd (tgt)'
  command -v iscsi-inq >/dev/null || skip 'there is no iscsi-inq (libiscsi-bin)'
  url=iser://127.0.0.1:3260/$target/1
  export TGT_IPC_SOCKET=$scratch/tgt
  truncate -s 16M "$scratch/disk"
  mrc_start "$scratch/tgtd.log" "${as_user[@]}" tgtd -f -C 7 --iser pool_sz_mb=64 --iscsi "portal=127.0.0.1:$(free_port)"
  await_cm_listener 0106 3260 "$mrc_pid" || fail 'tgtd does not listen'
  tgt() { tgtadm -C 7 --lld iser "$@" || fail "tgtadm refuses: $*"; }
  tgt --mode target --op new --tid 1 -T "$target"
  tgt --mode logicalunit --op new --tid 1 --lun 1 -b "$scratch/disk"
  tgt --mode target --op bind --tid 1 -I ALL
  tgt --mode target --op bind --tid 1 -Q "$initiator"
  for ((i = 1; i <= $1; ++i)); do
    "${as_user[@]}" iscsi-inq -i "$initiator" "$url" >"$scratch/login.log" 2>&1 || fail "login $i failed"
    grep -q 'DIRECT_ACCESS' "$scratch/login.log" || fail "after login $i there is no disk"
  done
  # libiscsi takes the list of a connection's descriptors for empty in memory that it has not cleared: with MALLOC_PERTURB_=165
  # it ends with a segmentation fault every time, before it sends anything, and without it in one of a hundred runs. Then again.
  local status=139
  for ((i = 1; status == 139 && i <= 3; ++i)); do
    status=0
    "${as_user[@]}" iscsi-test-cu -i "$initiator" -d -t SCSI.Read16.Simple,SCSI.Write16.Simple,SCSI.WriteVerify16.Simple "$url" \
      >"$scratch/test.log" 2>&1 || status=$?
  done
  ((status == 0)) || fail "iscsi-test-cu is not content: status $status"
  grep -qE 'tests +3 +3 +3 +0' "$scratch/test.log" || fail 'iscsi-test-cu did not pass its three tests'
  cat "$scratch/test.log"
}

# gloo RANKS: all-reduces over gloo's ibverbs transport.
gloo() {
  local rank pids=()
  [[ -x $bin/gloo_check ]] || skip 'gloo_check was not built: there is no libgloo-dev with its ibverbs transport'
  mkdir -m 777 "$scratch/store"
  for ((rank = 0; rank < $1; ++rank)); do
    mrc_start "$scratch/rank.$rank.log" "${as_user[@]}" "$bin/gloo_check" "$rank" "$1" "$scratch/store"
    pids+=("$mrc_pid")
  done
  for ((rank = 0; rank < $1; ++rank)); do
    wait "${pids[rank]}" || fail "rank $rank ended with status $?"
    grep -q 'all values are right' "$scratch/rank.$rank.log" || fail "rank $rank did not end well"
  done
  mrc_started=()
}

# migration: QEMU moves a running guest by rdma:.
migration() {
  local port status=0
  port=$(free_port)
  "${prefix[@]}" timeout -k 1 "${MRC_TEST_DEADLINE:-90}" python3 "${BASH_SOURCE[0]%/*}/migration.py" "$scratch" "$port" \
    "$MRC_RUNDIR" "$bin/mrcrun" >"$scratch/migration.log" 2>&1 || status=$?
  ((status != 77)) || skip "$(sed -n 's/^SKIPPED: //p' "$scratch/migration.log")"
  ((status == 0)) || fail "the migration ended with status $status"
  cat "$scratch/migration.log"
}

case $name in
  iser) iser 100 ;;
  iser_login) iser 1 ;;
  gloo_4) gloo 4 ;;
  migration) migration ;;
  migration_plane_cut)
    export MRC_PLANES=4 MRC_TEST_CUT="$bin/mrcctl plane 2 black-hole"
    migration
    ;;
  ucx_info)
    "${as_user[@]}" ucx_info -d >"$scratch/info.log" 2>&1 || fail "ucx_info ended with status $?"
    for transport in rc_verbs ud_verbs; do
      grep -A1 "Transport: $transport" "$scratch/info.log" | grep -q 'Device: mrc0:1' || fail "no $transport on mrc0"
    done
    ;;
  ucx_tag_lat) ucx rc_v,self tag_lat -n 2000 -s 8 ;;
  ucx_tag_bw) ucx rc_v,self tag_bw -n 500 -s 65536 ;;
  ucx_put_bw) ucx rc_v,self ucp_put_bw -n 500 -s 65536 ;;
  ucx_put_lat) ucx rc_v,self ucp_put_lat -n 1000 -s 8 ;;
  ucx_get) ucx rc_v,self ucp_get -n 500 -s 65536 ;;
  ucx_fadd) ucx rc_v,self ucp_fadd -n 1000 -s 8 ;;
  ucx_cswap) ucx rc_v,self ucp_cswap -n 1000 -s 8 ;;
  ucx_am_bw) ucx rc_v,self ucp_am_bw -n 500 -s 16384 ;;
  ucx_am_lat) ucx rc_v,self ucp_am_lat -n 1000 -s 64 ;;
  ucx_sleep) ucx rc_v,self tag_lat -n 500 -s 8 -E sleep ;;
  ucx_stream) ucx rc_v,self stream_bw -n 500 -s 8192 ;;
  ucx_threads) ucx rc_v,self tag_bw -n 500 -s 4096 -T 4 -M multi ;;
  ucx_tag_large) ucx rc_v,self tag_bw -n 50 -w 10 -s 1048576 ;;
  ucx_uct_am_lat) uct rc_verbs am_lat -n 1000 -s 8 -D short ;;
  ucx_uct_put_bw) uct rc_verbs put_bw -n 500 -s 65536 -D zcopy ;;
  ucx_uct_get) uct rc_verbs get -n 500 -s 65536 -D zcopy ;;
  ucx_uct_ud_am_bw) uct ud_verbs am_bw -n 500 -s 1024 -D bcopy ;;
  ucx_ud_am_lat) ucx ud_v,self ucp_am_lat -n 500 -s 64 ;;
  ucx_ud_tag_lat) ucx ud_v,self tag_lat -n 1000 -s 8 ;;
  ucx_ud_tag_bw) ucx ud_v,self tag_bw -n 200 -s 65536 ;;
  ucx_ud_put_bw) ucx ud_v,self ucp_put_bw -n 200 -s 4096 ;;
  ucx_ud_get) ucx ud_v,self ucp_get -n 200 -s 4096 ;;
  ucx_ud_fadd) ucx ud_v,self ucp_fadd -n 500 -s 8 ;;
  ucx_ud_am_bw) ucx ud_v,self ucp_am_bw -n 200 -s 16384 ;;
  ucx_ud_sleep) ucx ud_v,self tag_lat -n 500 -s 8 -E sleep ;;
  ucx_cm) io_demo_pair rc_v,self -o read,write -d 1:262144 ;;
  ucx_cm_am) io_demo_pair rc_v,self -o read,write -d 1:262144 -A ;;
  ucx_cm_ud) io_demo_pair ud_v,self -o read,write -d 1:65536 ;;
  mpi_ucx_2) mpi 2 --mca pml ucx -x UCX_TLS=rc_v,self ;;
  mpi_ucx_4) mpi 4 --mca pml ucx -x UCX_TLS=rc_v,self ;;
  mpi_ud_4) mpi_max=65536 mpi 4 --mca pml ucx -x UCX_TLS=ud_v,self ;;
  mpi_ofi_2) mpi 2 --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm' ;;
  mpi_ofi_4) mpi 4 --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm' ;;
  fi_info)
    "${as_user[@]}" fi_info -p verbs >"$scratch/info.log" 2>&1 || fail "fi_info ended with status $?"
    for kind in FI_EP_MSG FI_EP_DGRAM; do
      grep -q "type: $kind" "$scratch/info.log" || fail "libfabric shows no $kind"
    done
    grep -q 'domain: mrc0' "$scratch/info.log" || fail 'libfabric does not name mrc0'
    ;;
  fi_msg) fabric verbs msg mrc0 ;;
  fi_rdm) fabric "verbs;ofi_rxm" rdm mrc0 ;;
  fi_dgram) fabric verbs dgram mrc0-dgram ;;
  fio_write) fio_pair write --verify=crc32c --verify_state_save=0 ;;
  fio_read) fio_pair read --verify=crc32c --verify_state_save=0 ;;
  fio_notices) fio_notices ;;
  fio_not_offered)
    fio_refuses randwrite "RDMA network IO can't be random"
    fio_refuses randrw 'rdma connections must be read OR write'
    fio_refuses rw 'rdma connections must be read OR write'
    ;;
  fio_send) fio_pair send --verify=crc32c --verify_state_save=0 ;;
  *)
    fail "there is no case '$name'"
    ;;
esac
