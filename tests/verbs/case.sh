# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by the scripts that run other people's programs on mrc0: SCRIPT SOURCE_DIR BUILD_DIR CASE [as-nobody]
# Each case has a run directory and TCP port of its own and leaves neither processes nor files behind.

source_dir=$1 build_dir=$2 name=$3 as=${4:-}
bin=$build_dir/bin
# shellcheck source=../../cmake/processes.sh
. "$source_dir/cmake/processes.sh"
# shellcheck source=watchdog.sh
. "$source_dir/tests/verbs/watchdog.sh"

# Short: the names of sockets live below it, and those are limited to 107 bytes.
scratch=$build_dir/t/$$
mkdir -p "$scratch"
finish() {
  stop_watchdog
  mrc_stop_all
  [[ ! -s $scratch/ports ]] || xargs -d '\n' rm -f <"$scratch/ports"
  rm -rf "$scratch"
}
trap finish EXIT
trap 'fail "it was told to end"' INT TERM

export MRC_RUNDIR=$scratch/run
mkdir -m 700 "$MRC_RUNDIR"
export MRC_TRACE=${MRC_TRACE:-20}

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

# A TCP port of this case alone: others that run beside it do not listen yet either. They see a link to its directory;
# where that is gone, the case was killed.
free_port() {
  local port link
  while :; do
    port=$(mrc_free_port)
    link=$build_dir/t/port.$port
    [[ -e $link ]] || rm -f "$link"
    ! ln -sT "$scratch" "$link" 2>/dev/null || break
  done
  printf '%s\n' "$link" >>"$scratch/ports"
  printf '%s\n' "$port"
}

skip() {
  printf 'SKIPPED: %s\n' "$1"
  exit 77
}

prefix=()
if [[ $as == as-nobody ]]; then
  ((EUID == 0)) || skip 'only root can become nobody (and the other cases already run as an ordinary user)'
  prefix=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  "${prefix[@]}" test -x "$bin/mrcrun" || skip "nobody may not enter $bin"
  chown 65534:65534 "$MRC_RUNDIR"
fi

# Any program, from the build tree, as the user of this case. Not a function: its pid must be the program's. Who is told to
# end is killed only much later: where others take namespaces down, a process may take more than a second to end.
as_user=(timeout -k 15 "$((${MRC_TEST_DEADLINE:-90} + 20))" "${prefix[@]}" "$bin/mrcrun")
start_watchdog "${prefix[@]}" "$bin/mrcctl"

# await_cm_listener SPACE PORT PID [DEVICES]: returns when somebody listens there by rdma_cm, on so many devices: the run
# directory says so.
await_cm_listener() {
  local tries=0
  until (($(cat "$MRC_RUNDIR/cm.$1.$2" 2>/dev/null | grep -cE '^[0-9]+ [0-9a-f]+ 1 ') >= ${4:-1})); do
    kill -0 "$3" 2>/dev/null || return 1
    ((tries++ < 1200)) || return 1
    sleep 0.05
  done
}
