#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mrcctl fault and [[fault]]: what an operator makes go wrong in programs that know nothing of it.
# fault_commands.sh BUILD_DIR
set -euo pipefail

# shellcheck source=scratch.sh
. "${BASH_SOURCE[0]%/*}/scratch.sh"
# refused WORDS...: a wrong call says so and changes nothing.
refused() {
  local got=0
  "$bin/mrcctl" "$@" >"$scratch/out" 2>&1 || got=$?
  ((got == 2)) || fail "'mrcctl $*' ended with status $got: $(cat "$scratch/out")"
}
write_check() {
  timeout 60 "$bin/mrcrun" "$bin/write_check" --self --sizes 0,1,4096,65536 >"$scratch/out" 2>&1 ||
    fail "write_check: $(cat "$scratch/out")"
}

[[ $("$bin/mrcctl" fault) == 'nothing goes wrong on purpose' ]] || fail 'there is something at first'
[[ $("$bin/mrcctl" fault list --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["faults"]))') == 0 ]] ||
  fail 'the empty list is no JSON'
refused fault frobnicate
refused fault add
refused fault add drop colour=red
refused fault add drop rate=7
refused fault remove one
refused fault list --jason
"$bin/mrcctl" fault remove 5 2>/dev/null && fail 'what is not there was removed'

# Of programs that start later, and of those that run.
[[ $("$bin/mrcctl" fault add drop rate=0.05 opcode=write direction=send seed=9) == \
  'fault 1: drop rate=0.05 seed=9 direction=send opcode=write' ]] || fail 'it is not told what was added'
"$bin/mrcctl" fault add mark rate=0.1 plane=0,1 >"$scratch/out"
write_check
"$bin/mrcctl" fault list --json >"$scratch/list"
python3 - "$scratch/list" <<'P' || fail "the list is wrong: $(cat "$scratch/list")"
import json, sys
drop, mark = json.load(open(sys.argv[1], encoding="utf-8"))["faults"]
assert drop["kind"] == "drop" and drop["hits"] > 0 and drop["rate"] == "0.05", drop
assert mark["kind"] == "mark" and mark["hits"] > 0 and mark["plane"] == "0,1", mark
P
"$bin/mrcctl" fault remove 1
[[ $("$bin/mrcctl" fault list) == 'fault 2: mark '* ]] || fail 'it was not removed'
"$bin/mrcctl" fault clear
[[ $("$bin/mrcctl" fault) == 'nothing goes wrong on purpose' ]] || fail 'something is left'

# A call that fails, by the page and by the settings.
"$bin/mrcctl" fault add call call=reg-mr nth=1 errno=ENOMEM >"$scratch/out"
if timeout 60 "$bin/mrcrun" "$bin/write_check" --self --sizes 1 >"$scratch/out" 2>&1; then fail 'reg_mr did not fail'; fi
"$bin/mrcctl" fault clear
write_check
printf '[[fault]]\nkind = "call"\ncall = "create-qp"\nerrno = "EAGAIN"\n' >"$scratch/mrc.toml"
export MRC_CONFIG=$scratch/mrc.toml
if timeout 60 "$bin/mrcrun" "$bin/write_check" --self --sizes 1 >"$scratch/out" 2>&1; then fail 'create_qp did not fail'; fi
printf '[[fault]]\nkind = "drop"\nrate = 0.02\nplane = [0, 1]\n[[fault]]\nkind = "reorder"\nrate = 0.1\n' >"$scratch/mrc.toml"
write_check

# Nobody else's: the page belongs to the owner of the run directory.
[[ $(stat -c %a "$MRC_RUNDIR/faults") == 600 ]] || fail 'others may open the page'
if ((EUID == 0)) && setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/mrcctl" fault add drop >"$scratch/out" 2>&1; then
  fail 'somebody else has injected a fault'
fi
echo 'what goes wrong on purpose does, and nothing else'
