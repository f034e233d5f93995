#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Several devices from one settings file: programs find them, each has planes, GIDs, pages and faults of its own, and a
# process uses two at once.   two_devices.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

name=two_devices
# shellcheck source=case.sh
. "$1/tests/verbs/case.sh" "$1" "$2" $name
for tool in ibv_devinfo ibv_devices ib_write_bw; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done

export MRC_CONFIG=$1/tests/verbs/two_devices.toml

"${as_user[@]}" ibv_devices >"$scratch/devices.log" || fail 'ibv_devices'
[[ $(awk '$1 ~ /^mrc[01]$/ {print $2}' "$scratch/devices.log" | sort -u | wc -l) == 2 ]] || fail 'not two devices with GUIDs of their own'
"${as_user[@]}" ibv_devinfo -v -d mrc1 >"$scratch/devinfo.log" || fail 'ibv_devinfo -d mrc1'
grep -q '127.0.0.2' "$scratch/devinfo.log" || fail 'mrc1 has not its own GID'

"${as_user[@]}" "$bin/two_devices" mrc0 mrc1 >"$scratch/both.log" 2>&1 || fail 'two devices at once'

# Stock programs on the second, while its first plane is down and the first device knows nothing of it.
"$bin/mrcctl" --device mrc1 plane 0 down
"$bin/mrcctl" planes >"$scratch/planes.log"
! grep -q down "$scratch/planes.log" || fail 'a fault of mrc1 is one of mrc0'
"$bin/mrcctl" --device mrc1 planes | grep -q 'plane 0: down' || fail 'the fault is not there'
"$bin/mrcctl" --device mrc1 fault add drop rate=0.02 opcode=write >"$scratch/add.log"
port=$(free_port)
mrc_start "$scratch/server.log" "${as_user[@]}" ib_write_bw -d mrc1 -s 65536 -n 200 -p "$port" -F
server=$mrc_pid
mrc_await_listener "$port" "$server" || fail 'the server does not listen'
"${as_user[@]}" ib_write_bw -d mrc1 -s 65536 -n 200 -p "$port" -F 127.0.0.1 >"$scratch/client.log" 2>&1 || fail 'ib_write_bw -d mrc1'
wait "$server" || fail 'the server of ib_write_bw -d mrc1'
mrc_started=()
"$bin/mrcctl" --device mrc1 fault list --json | python3 -c '
import json, sys
assert json.load(sys.stdin)["faults"][0]["hits"] > 0' || fail 'nothing was dropped on mrc1'
[[ $("$bin/mrcctl" fault) == 'nothing goes wrong on purpose' ]] || fail 'a rule of mrc1 is one of mrc0'
"${as_user[@]}" "$bin/two_devices" mrc0 mrc1 5 >"$scratch/both.log" 2>&1 || fail 'two devices at once, one of them with faults'
got=0
"$bin/mrcctl" --device mrc7 planes >"$scratch/none.log" 2>&1 || got=$?
((got == 2)) || fail 'a device that is not there was taken'
"$bin/mrcctl" doctor >"$scratch/doctor.log" || true  # whether the machine is good is not the question
for device in mrc0 mrc1; do grep -q "$device has 1 GID" "$scratch/doctor.log" || fail "the doctor knows nothing of $device"; done
echo 'two devices, each its own'
