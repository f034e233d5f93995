#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The example programs for OCP's interface do what they say. programs.sh BUILD_DIR; run by program.sh within mrcrun.
set -euo pipefail
programs=$1/bin/programs

"$programs/write" | grep -q '^1048576 bytes were written'
"$programs/ping_pong" 200 | grep -q '^200 rounds'
"$programs/explicit_srv6" | tee /dev/stderr | grep -c ' used$' | grep -qx 4
"$programs/generated" | tee /dev/stderr | grep -q 'paths were used$'
"$programs/probes" | tee /dev/stderr | grep -q '^8 of 8 answered'
# Nobody has made that profile.
if "$programs/take_out" 4711 1 2>/dev/null; then
  echo 'take_out works without a profile'
  exit 1
fi
echo 'all did'
