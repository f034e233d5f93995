#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mrc_perf between two processes, by both interfaces and with every operation. perf.sh BUILD_DIR; run within mrcrun.
set -euo pipefail
perf=$1/bin/mrc_perf
port=$((20000 + $$ % 20000))

fail() {
  printf 'FAILED: %s\n' "$1"
  exit 1
}

# pair WORDS...: what the client says
pair() {
  local server status=0
  port=$((port + 1))
  timeout -k 1 60 "$perf" -p "$port" >/dev/null &
  server=$!
  for ((i = 0; i < 200; i++)); do
    grep -q "$(printf ':%04X 0*:0000 0A' "$port")" /proc/net/tcp6 && break
    sleep 0.05
  done
  timeout -k 1 60 "$perf" -p "$port" "$@" 127.0.0.1 || status=$?
  wait "$server" || fail "the server of: $*"
  ((status == 0)) || fail "the client: $*"
}

for words in '--op write' '--op write_imm' '--op write_imm --qps 4 --both' '--op write --both -w 10' \
  '--api verbs --op write' '--api verbs --op send --qps 2' '--api verbs --op read' '--api verbs --op atomic --both'; do
  read -ra list <<<"$words"
  pair -n 300 "${list[@]}" | tee /dev/stderr | awk 'NR == 2 && $2 > 0 && $3 > 0 { good = 1 } END { exit !good }' ||
    fail "nothing was measured: $words"
done
pair -n 20 --ocp | awk '$1 == 67108864 && $2 == 20 { good = 1 } END { exit !good }' || fail 'the sizes of --ocp'
pair --duration 1 --json -s 4096 | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert len(rows) == 1 and rows[0]["bytes"] == 4096 and 0.5 < rows[0]["seconds"] < 30 and rows[0]["gbps"] > 0, rows' ||
  fail '--json'
# What it has made for that is gone with it.
pair -n 300 --srv6 8 | awk 'NR == 2 && $2 > 0 && $3 > 0 { good = 1 } END { exit !good }' || fail '--srv6'
"$1/bin/mrcctl" ev | grep -q '^no controller has made an EV profile' || fail '--srv6 leaves a profile'
if "$perf" --op read 127.0.0.1 2>/dev/null; then fail 'MRC has READs'; fi
