#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mrc_bench measures all of its rows, once and shortly, and tells of each what belongs to it: that it can, not how much.
# bench.sh BUILD_DIR
set -euo pipefail
MRC_RUNDIR=$(mktemp -d "$1/bench.XXXXXX")
export MRC_RUNDIR TMPDIR=$MRC_RUNDIR
trap 'rm -rf "$MRC_RUNDIR"' EXIT

# Where nobody may make a network namespace there is no veth to compare with.
without=
unshare --net true 2>/dev/null || unshare --map-root-user --net true 2>/dev/null || without=write_bw_64k_veth
"$1/bin/mrc_bench" --seconds 0.02 --rounds 1 --json >"$MRC_RUNDIR/found" || [[ -n $without ]]
python3 - "$MRC_RUNDIR/found" "$without" <<'END'
import json, sys

WANTED = """write_bw_64k write_bw_64k_veth write_bw_64k_tcp read_bw_64k send_bw_64k write_bw_1m write_bw_8_qps
write_64 write_64_lists write_lat_8 write_lat_8_memif write_lat_8_tcp threads_2_64k threads_2_64 threads_16_qps_64
setups qps_4096_64k qps_16384_each regions_million lookups_million device_idle
paths_8_planes_256 paths_srv6 ucx_ucp_put_bw ucx_tag_bw ucx_tag_lat""".split()

with open(sys.argv[1], encoding="utf-8") as file:
    found = json.load(file)
assert found["rounds"] == 1 and found["machine"] and found["seconds"] > 0, found
rows = {row["name"]: row for row in found["rows"]}
missing = [name for name in WANTED if name not in rows]
assert not missing, missing
for name, row in rows.items():
    print(row)
    if name == sys.argv[2]:
        continue
    assert row["ours"] > 0 and row["reference"] > 0 and row["ratio"] > 0 and row["spread"] >= 0, row
    assert row["command"] and row["unit"] and row["reference_name"] and ("at_least" in row or "at_most" in row), row
    assert "reference_command" in row or row["reference_name"] == "what is wanted", row
END

"$1/bin/mrc_bench" --seconds 0.02 --rounds 1 --bare --markdown | grep -q '^| bare_bw | [0-9.]* Gb/s |'
"$1/bin/mrc_bench" --seconds 0.02 --rounds 1 --only setups | grep -q '^[0-9]* seconds in all$'
if "$1/bin/mrc_bench" --only nothing-of-that-name 2>/dev/null; then exit 1; fi
