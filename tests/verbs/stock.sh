#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's own verbs programs, unmodified, on mrc0.   stock.sh SOURCE_DIR BUILD_DIR CASE [as-nobody]
set -euo pipefail

# shellcheck source=case.sh
. "${BASH_SOURCE[0]%/*}/case.sh"

# pair TOOL ARGUMENTS...: server and client; both must end with status 0 and without a word of an error.
pair() {
  local port
  port=$(mrc_free_port)
  mrc_start "$scratch/server.log" "${as_user[@]}" "$@" -d mrc0 -F -p "$port"
  server=$mrc_pid
  mrc_await_listener "$port" "$server" || fail "the server of '$*' does not listen"
  mrc_start "$scratch/client.log" "${as_user[@]}" "$@" -d mrc0 -F -p "$port" 127.0.0.1
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
  good=$(awk -v column="$2" '$1 ~ /^[0-9]+$/ && NF >= column && $column + 0 > 0' "$scratch/client.log" | wc -l)
  ((good == $1)) || fail "expected $1 rows with results, found $good"
}

cut_a_plane() {
  sleep 1
  "${prefix[@]}" "$bin/mrcctl" plane 2 black-hole
  "${prefix[@]}" "$bin/mrc_top" --lines --seconds 1 >"$scratch/view.log"
  "${prefix[@]}" "$bin/mrcctl" plane 2 heal
  # The fault must have been felt, or the test shows nothing: "... paths   96/128  retransmits ..."
  awk '{ split($6, paths, "/"); if (paths[1] < paths[2]) felt = 1 } END { exit !felt }' "$scratch/view.log" ||
    fail 'no path was put aside although a plane was cut'
}

shows() { grep -qE "$1" "$scratch/info.log" || fail "ibv_devinfo does not show: $1"; }

# A program that wants to use the device must fail, and its error output must say why and what to do. This one makes
# its verbs objects before it listens for the other side.
explains() {
  local status=0
  "${as_user[@]}" ibv_rc_pingpong -d mrc0 -g 0 -p "$(mrc_free_port)" >"$scratch/out.log" 2>"$scratch/err.log" || status=$?
  ((status != 0)) || fail 'ibv_rc_pingpong was expected to fail'
  ((status != 124 && status < 128)) || fail "ibv_rc_pingpong did not end by itself (status $status)"
  local pattern
  for pattern in "$@"; do
    grep -qiE -- "$pattern" "$scratch/err.log" || fail "the error does not say: $pattern"
  done
  cat "$scratch/err.log"
}

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
    rows 23 4  # 2 bytes to 8 MiB
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
  write_bw_plane_cut)
    during=cut_a_plane pair ib_write_bw -s 65536 -D 3
    rows 1 4
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
