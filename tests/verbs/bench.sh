#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mrc_bench measures one number of each kind, once and shortly: that it can, not how much. bench.sh BUILD_DIR
set -euo pipefail
MRC_RUNDIR=$(mktemp -d "$1/bench.XXXXXX")
export MRC_RUNDIR TMPDIR=$MRC_RUNDIR
trap 'rm -rf "$MRC_RUNDIR"' EXIT
for row in write_lat_8_tcp threads_2_64 setups paths_8_planes_256 ucx_tag_lat; do
  "$1/bin/mrc_bench" --seconds 0.02 --rounds 1 --only "$row" --json | tee /dev/stderr | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert found["rounds"] == 1 and found["machine"], found
for row in found["rows"]:
    assert row["name"].startswith(sys.argv[1]) and row["ours"] > 0 and row["command"], row
    assert "reference" not in row or row["reference"] > 0 and row["ratio"] > 0 and row["reference_command"], row' "$row"
done
"$1/bin/mrc_bench" --seconds 0.02 --rounds 1 --bare --markdown | grep -q '^| bare_bw | [0-9.]* Gb/s |'
if "$1/bin/mrc_bench" --only nothing-of-that-name 2>/dev/null; then exit 1; fi
