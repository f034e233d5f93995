#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mrcctl ev, cc and port: what an operator sees and changes of what controllers have told the device.
# controller_commands.sh BUILD_DIR
set -euo pipefail

# shellcheck source=scratch.sh
. "${BASH_SOURCE[0]%/*}/scratch.sh"
# refused WORDS...: a wrong call says so and changes nothing.
refused() {
  local got=0
  timeout 60 "$bin/mrcctl" "$@" >"$scratch/out" 2>&1 || got=$?
  ((got == 2)) || fail "'mrcctl $*' ended with status $got: $(cat "$scratch/out")"
}
# says EXPECTED WORDS...: what mrcctl --json WORDS says, by an expression of Python about `told`.
says() {
  local expression=$1
  shift
  "$bin/mrcctl" "$@" --json >"$scratch/out" || fail "'mrcctl $* --json' failed"
  python3 -c 'import json, sys; told = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), told' \
    "$scratch/out" "$expression" || fail "'mrcctl $* --json': $expression: $(cat "$scratch/out")"
}

for words in 'ev frobnicate' 'ev deny' 'ev deny nowhere' 'ev deny 7/1/0xc001' 'ev load' 'ev --json more' 'cc more' \
  'port 1' 'port 0 up' 'port 99 up' 'port 1 sideways' 'port 1 up more'; do
  # shellcheck disable=SC2086
  refused $words
done

# Ports.
says '[p["admin"] for p in told["ports"]] == ["up"] * 4' port
"$bin/mrcctl" port 2 down
says '[p["port"] for p in told["ports"] if p["admin"] == "down"] == [2]' port
"$bin/mrcctl" port | grep -q '^port 2 (plane 1): down' || fail 'port 2 is not shown as down'
timeout 60 "$bin/mrcrun" "$bin/write_check" --self --sizes 1,65536 >"$scratch/out" 2>&1 || fail "write_check: $(cat "$scratch/out")"
"$bin/mrcctl" port 2 up
says '[p for p in told["ports"] if p["admin"] == "down"] == []' port

# A controller has made a profile; its EVs are denied one by one, and by a file.
one=fcbb:bbbb:2000:1000:2001:9001:: two=fcbb:bbbb:2100:1101:2101:9101::
"$bin/mrcrun" "$bin/ev_controller" 5 1=$one 2=$two >"$scratch/out"
says '[(p["id"], p["state"], p["mode"], p["format"], p["count"]) for p in told["profiles"]] == [(5, "online", "explicit", "srv6", 2)]' ev
says "[(e['port'], e['ev'], e['state']) for e in told['profiles'][0]['evs']] == [(1, '$one', 'good'), (2, '$two', 'good')]" ev
"$bin/mrcctl" ev deny 5/2/$two
says '[e["state"] for e in told["profiles"][0]["evs"]] == ["good", "denied"]' ev
# It has to keep one.
"$bin/mrcctl" ev deny 5/1/$one 2>"$scratch/out" && fail 'the last EV was denied'
"$bin/mrcctl" ev allow 5/2/$two
says '[e["state"] for e in told["profiles"][0]["evs"]] == ["good", "good"]' ev

# Links, by uSIDs and by the names of a file.
"$bin/mrcctl" ev deny 2000-1002 s1103
says 'told["denied_links"] == ["l2000-s1002", "s1103"]' ev
"$bin/mrcctl" ev deny 1002-2000
"$bin/mrcctl" ev allow s1103
says 'told["denied_links"] == ["l2000-s1002"]' ev
printf '# found today\nl2001-s1003\n\n5/1/%s # an EV\n' $one >"$scratch/denied"
"$bin/mrcctl" ev load "$scratch/denied"
says 'told["denied_links"] == ["l2001-s1003"] and told["profiles"][0]["evs"][0]["state"] == "denied"' ev
printf 'l2001-s1003\nnonsense\n' >"$scratch/wrong"
refused ev load "$scratch/wrong"
grep -q 'wrong:2: nonsense' "$scratch/out" || fail 'the line is not named'
refused ev load "$scratch/none"
printf '2001 rack-7\n1003 spine3\n' >"$scratch/names"
printf '[[port]]\nplane = 0\nbackend = "af_packet"\ninterface = "lo"\n[srv6]\nblock = "fcbb:bbbb::/32"\nleaf = 0\nhost = 0\nnames = "%s"\n' "$scratch/names" \
  >"$scratch/mrc.toml"
MRC_CONFIG=$scratch/mrc.toml says 'told["denied_links"] == ["rack-7-spine3"]' ev
MRC_CONFIG=$scratch/mrc.toml "$bin/mrcctl" ev allow rack-7-spine3
says 'told["denied_links"] == []' ev
"$bin/mrcctl" ev deny 2000-1002
"$bin/mrcctl" ev clear
says 'told["denied_links"] == [] and told["profiles"][0]["evs"][0]["state"] == "good"' ev

says 'told["profiles"] == []' cc
echo 'what controllers have told the device is seen and changed'
