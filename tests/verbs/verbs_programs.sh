#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The example programs for verbs do what they say, also where every legal order happens.
# verbs_programs.sh BUILD_DIR; run by program.sh within mrcrun.
set -euo pipefail
programs=$1/bin/programs/verbs

# says PATTERN PROGRAM WORDS...
says() {
  local pattern=$1 program=$programs/$2 said
  shift 2
  said=$("$program" "$@")
  printf '%s\n' "$said"
  grep -q "$pattern" <<<"$said"
}

for seed in '' 1 2; do
  if [[ -n $seed ]]; then export MRC_DISORDER=$seed; fi
  says '^1048576 bytes have come, with the immediate 4711$' write_imm
  says '^the counter went to 3000, then one swap of two took it$' read_atomics
  says '^100 of 100 were answered' ud_ping
  says '^600 messages from 3 clients' shared_receives
done

# Where there is librdmacm to build it with. The port is one of this run directory.
[[ -x $programs/cm_echo ]] || exit 0
{
  read -r word
  [[ $word == listens ]]
  says '^hello came back by mrc0$' cm_echo 127.0.0.1 7471 hello
} < <("$programs/cm_echo" 7471)
wait $!
if "$programs/cm_echo" 127.0.0.1 7472 hello 2>/dev/null; then
  echo 'cm_echo reaches a server that is not there'
  exit 1
fi
