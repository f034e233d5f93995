# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by ./run and the tests' shell drivers: processes that never outlive the script, and TCP ports.

mrc_started=()

# mrc_start LOG PROGRAM...: starts it in the background with its output in LOG; its pid is in mrc_pid. A program,
# not a shell function, so that the pid is the program's.
mrc_start() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 &
  mrc_pid=$!
  mrc_started+=("$mrc_pid")
}

# Ends what mrc_start started and is still there. Call it from an EXIT trap.
mrc_stop_all() {
  local pid
  for pid in "${mrc_started[@]}"; do
    kill -TERM "$pid" 2>/dev/null || continue
    # Who ignores TERM is given three seconds.
    local tries=0
    while kill -0 "$pid" 2>/dev/null && ((tries++ < 60)); do sleep 0.05; done
    kill -0 "$pid" 2>/dev/null || continue
    # What it has started as well (timeout and its program): who is killed tells nobody.
    pkill -KILL -P "$pid" || true
    kill -KILL "$pid" 2>/dev/null || true
  done
  for pid in "${mrc_started[@]}"; do wait "$pid" 2>/dev/null || true; done
  mrc_started=()
}

# mrc_halt_below PID: their pids; none of them starts another one meanwhile.
mrc_halt_below() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    [[ $child != "$BASHPID" ]] && kill -STOP "$child" 2>/dev/null || continue
    printf '%d\n' "$child"
    mrc_halt_below "$child"
  done
}

# mrc_stop_below PID: ends all that this process, its children and theirs have started and that is still there.
mrc_stop_below() {
  local pids
  mapfile -t pids < <(mrc_halt_below "$1")
  ((${#pids[@]} > 0)) || return 0
  kill -TERM "${pids[@]}" 2>/dev/null || true
  kill -CONT "${pids[@]}" 2>/dev/null || true
}

mrc_listening() {
  [[ -n $(ss -Hltn "sport = :$1") ]]
}

# A TCP port nobody listens on, below the range that the kernel gives out itself.
mrc_free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    mrc_listening "$port" || break
  done
  printf '%s\n' "$port"
}

# mrc_await_listener PORT PID: returns when PID listens there; fails when it ended or a minute is over.
mrc_await_listener() {
  local tries=0
  until mrc_listening "$1"; do
    kill -0 "$2" 2>/dev/null || return 1
    ((tries++ < 1200)) || return 1
    sleep 0.05
  done
}

# mrc_wait PID SECONDS: the exit status of a process that was started here; ends it after so much time (124).
mrc_wait() {
  local deadline=$((SECONDS + $2)) status=0
  while kill -0 "$1" 2>/dev/null; do
    if ((SECONDS > deadline)); then
      kill -KILL "$1" 2>/dev/null || true
      wait "$1" 2>/dev/null || true
      return 124
    fi
    sleep 0.05
  done
  wait "$1" || status=$?
  return "$status"
}
