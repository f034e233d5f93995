# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the scripts that run programs on mrc0: no test hangs without a word. When its time is over
# (MRC_TEST_DEADLINE, in seconds), it says what every engine and every thread waits for, and ends the script.

# explain_hang PID MRCCTL...: what the engines below MRC_RUNDIR and the descendants of PID do. MRCCTL: how to call it.
explain_hang() {
  local main=$1 pid task directory
  shift
  for directory in ${MRC_RUNDIRS:-$MRC_RUNDIR}; do
    printf -- '--- engines of %s\n' "${directory##*/}"
    MRC_RUNDIR=$directory timeout 15 "$@" state 2>&1 || true
  done
  printf -- '--- threads\n'
  for pid in $(descendants "$main"); do
    [[ $pid != "$BASHPID" && -d /proc/$pid ]] || continue
    printf 'process %s: %s\n' "$pid" "$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
    for task in "/proc/$pid/task"/*; do
      printf '  thread %s %s: system call %s, waits in %s\n' "${task##*/}" "$(cat "$task/comm" 2>&1)" \
        "$(cut -d ' ' -f 1 "$task/syscall" 2>/dev/null)" "$(cat "$task/wchan" 2>/dev/null)"
    done
  done
}

descendants() {
  local child
  for child in $(pgrep -P "$1"); do
    printf '%s\n' "$child"
    descendants "$child"
  done
}

# start_watchdog MRCCTL...: of this script, which calls stop_watchdog when it ends.
start_watchdog() {
  local main=$$
  (
    # Waits without a child process that could be left behind.
    exec {never}<> <(:)
    read -rt "${MRC_TEST_DEADLINE:-90}" -u "$never" || true
    printf 'FAILED: not done after %s s\n' "${MRC_TEST_DEADLINE:-90}"
    explain_hang "$main" "$@"
    kill -TERM "$main"
  ) &
  watchdog=$!
  disown "$watchdog" # nobody waits for it, and nothing is said of its end
}

stop_watchdog() {
  [[ -n ${watchdog:-} ]] || return 0
  kill -KILL "$watchdog" 2>/dev/null || true
  watchdog=
}
