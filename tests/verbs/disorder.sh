#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that relies on the last byte of a WRITE breaks in disorder, every time, and its repair does not; other
# programs of ours work on.   disorder.sh BUILD_DIR
set -euo pipefail

# shellcheck source=scratch.sh
. "${BASH_SOURCE[0]%/*}/scratch.sh"
run() { timeout 60 "$bin/mrcrun" "$@"; }

run "$bin/programs/last_byte" 20 || fail 'it breaks without disorder, too'
run "$bin/programs/last_byte" --repaired 20 || fail 'the repaired one breaks without disorder'
for seed in 1 2 3; do
  if MRC_DISORDER=$seed run "$bin/programs/last_byte" 20 >"$scratch/out"; then fail "seed $seed does not break it"; fi
  # Nearly all of them; a reader that had no CPU in time may miss some.
  read -r broken _ <"$scratch/out"
  ((broken >= 5)) || fail "seed $seed: $(cat "$scratch/out")"
  MRC_DISORDER=$seed run "$bin/programs/last_byte" --repaired 20 || fail "seed $seed breaks the repaired one"
done
if MRC_DISORDER=x run "$bin/programs/last_byte" 1 2>"$scratch/out"; then fail 'a seed that is no number was taken'; fi
grep -q 'MRC_DISORDER=x must be a whole number' "$scratch/out" || fail "$(cat "$scratch/out")"

# By mrcctl, in programs that know nothing of it.
"$bin/mrcctl" fault add disorder seed=5 delay_us=300 >"$scratch/out"
run "$bin/write_check" --self --sizes 0,1,4096,65536 >"$scratch/out" 2>&1 || fail "write_check: $(cat "$scratch/out")"
run "$bin/programs/ping_pong" 50 >"$scratch/out" || fail 'ping_pong'
"$bin/mrcctl" fault list --json | python3 -c '
import json, sys
assert json.load(sys.stdin)["faults"][0]["hits"] > 50' || fail 'there was no disorder'
"$bin/mrcctl" fault clear
run "$bin/programs/last_byte" 20 || fail 'it does not end'
echo 'broken programs break, and whole ones do not'
