#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's programs again and again on a busy machine: how often does each end well?
# busy_programs.sh SOURCE_DIR BUILD_DIR [--rounds N] [--loops N] [PROGRAM...]
#   --rounds N   times that each program is run (50)
#   --loops N    busy loops beside them (3)
#   PROGRAM      some of: rping ucmatose rstream riostream rcopy iser_login gloo_4 ucx_ud_tag_lat migration (all without)
# Rounds are mixed, so that all programs meet the same load. The last lines say how many of how many ended well, and how long
# a round took at most; the status is 0 only if all did. What a program said that did not is in BUILD_DIR/busy/.
set -euo pipefail

usage() {
  sed -n '3,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

(($# >= 2)) || usage
source_dir=$1 build_dir=$2
shift 2
rounds=50 loops=3 programs=()
while (($# > 0)); do
  case $1 in
    --rounds | --loops)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage
      if [[ $1 == --rounds ]]; then rounds=$2; else loops=$2; fi
      shift 2
      ;;
    -*) usage ;;
    *)
      programs+=("$1")
      shift
      ;;
  esac
done
((${#programs[@]} > 0)) || programs=(rping ucmatose rstream riostream rcopy iser_login gloo_4 ucx_ud_tag_lat migration)

# The script that has the case.
script_of() {
  case $1 in
    rping | ucmatose | rstream | riostream | rcopy) printf 'stock_cm.sh' ;;
    iser_login | gloo_4 | ucx_ud_tag_lat | migration) printf 'apps.sh' ;;
    *)
      printf 'busy_programs.sh: there is no program %s\n' "$1" >&2
      exit 2
      ;;
  esac
}
for program in "${programs[@]}"; do script_of "$program" >/dev/null; done

busy=()
finish() { ((${#busy[@]} == 0)) || kill "${busy[@]}" 2>/dev/null || true; }
trap finish EXIT
trap 'exit 1' INT TERM
for ((i = 0; i < loops; ++i)); do
  (while :; do :; done) &
  busy+=("$!")
done

mkdir -p "$build_dir/busy"
declare -A good=() slowest=() skipped=()
for ((round = 1; round <= rounds; ++round)); do
  for program in "${programs[@]}"; do
    log=$build_dir/busy/$program.$round.log status=0 began=$SECONDS
    "$source_dir/tests/verbs/$(script_of "$program")" "$source_dir" "$build_dir" "$program" >"$log" 2>&1 || status=$?
    took=$((SECONDS - began))
    ((took <= ${slowest[$program]:-0})) || slowest[$program]=$took
    if ((status == 0)); then
      good[$program]=$((${good[$program]:-0} + 1))
      rm -f "$log"
    elif ((status == 77)); then
      skipped[$program]=$(sed -n 's/^SKIPPED: //p' "$log")
      rm -f "$log"
    else
      printf 'round %d of %d: %s ended with status %d: %s\n' "$round" "$rounds" "$program" "$status" "$log"
    fi
  done
  printf 'round %d of %d after %d s\n' "$round" "$rounds" "$SECONDS"
done

all=0
for program in "${programs[@]}"; do
  if [[ -n ${skipped[$program]:-} ]]; then
    printf '%-16s not run: %s\n' "$program" "${skipped[$program]}"
    continue
  fi
  printf '%-16s %d of %d, at most %d s\n' "$program" "${good[$program]:-0}" "$rounds" "${slowest[$program]:-0}"
  ((${good[$program]:-0} == rounds)) || all=1
done
exit "$all"
