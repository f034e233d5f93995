#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mrcrun is as good as not there: status, signals, pid, terminals and /dev are the program's own, and nothing is left
# behind.   provider_mrcrun.sh BUILD_DIR
set -euo pipefail

# shellcheck source=scratch.sh
. "${BASH_SOURCE[0]%/*}/scratch.sh"
mrcrun=$bin/mrcrun

# status WANTED COMMAND...
status() {
  local wanted=$1 got=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
  ((got == wanted)) || fail "'$*' ended with status $got, not $wanted"
}

before=$(ls -A /dev)

status 0 "$mrcrun" --help
grep -q '^usage: mrcrun' "$scratch/out" || fail 'no usage in --help'
status 2 "$mrcrun"
status 2 "$mrcrun" --no-such-option true
status 0 "$mrcrun" true
status 7 "$mrcrun" sh -c 'exit 7'
status 143 "$mrcrun" sh -c 'kill -TERM $$'
status 127 "$mrcrun" "$scratch/absent"
: >"$scratch/plain"
status 126 "$mrcrun" "$scratch/plain"
status 0 "$mrcrun" -- sh -c 'echo out; echo err >&2'
[[ $(cat "$scratch/out") == out && $(cat "$scratch/err") == err ]] || fail 'output is not the program'\''s own'

# The program replaces mrcrun: a signal to its pid ends it.
"$mrcrun" sleep 60 &
child=$!
for ((i = 0; i < 100; i++)); do
  [[ $(cat "/proc/$child/comm") == sleep ]] && break
  sleep 0.05
done
[[ $(cat "/proc/$child/comm") == sleep ]] || fail 'the program does not have the pid of mrcrun'
kill -TERM "$child"
got=0
wait "$child" || got=$?
((got == 143)) || fail "a TERM gave status $got"

# /dev is as it was, with the device file added.
status 0 "$mrcrun" sh -c '
  [ -c /dev/infiniband/uverbs-mrc0 ] && [ -c /dev/null ] && [ -d /dev/shm ] && [ -d /dev/pts ] &&
  : >/dev/null && head -c 1 /dev/zero >/dev/null && touch /dev/shm/mrc-test.$$ && rm /dev/shm/mrc-test.$$'
status 0 "$mrcrun" python3 -c 'import os, pty; m, s = pty.openpty(); os.write(s, b"x"); assert os.read(m, 1) == b"x"'
[[ $(ls -A /dev) == "$before" ]] || fail '/dev has changed outside'

# Many at once, and within each other; one tree serves all.
for ((i = 0; i < 10; i++)); do "$mrcrun" ibv_devices >"$scratch/devices.$i" & done
wait
(($(cat "$scratch"/devices.* | grep -c mrc0) == 10)) || fail 'not every mrcrun shows the device'
status 0 "$mrcrun" "$mrcrun" ibv_devices
grep -q mrc0 "$scratch/out" || fail 'no device within two mrcruns'
trees=("$MRC_RUNDIR"/sys.*)
((${#trees[@]} == 1)) || fail "there are ${#trees[@]} trees"
