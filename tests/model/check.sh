#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh FOLDER: searches the models core.pml, with a few faults at a time, and link.pml completely, and then with one
# rule taken away at a time, which must be found. FOLDER is for what spin makes. Status 0: all as it should be, 77: there
# is no spin.
set -euo pipefail
command -v spin >/dev/null || { echo 'skipped: spin is not installed'; exit 77; }
models=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
mkdir -p "$1"
cd "$1"
ln -sf "$models"/{core,link}.pml .  # spin writes beside the model

# search safe|live FAULTS...: how many errors were found, and in how many states.
search() {
  local kind=$1 options=(-w22 -m1000000) build=(-DSAFETY -DNOCLAIM)
  shift
  if [[ $kind == live ]]; then
    build=(-DNFAIR=3)
    options+=(-a -f) # every process that could always go on does
  fi
  spin -a "$@" "$model.pml" >spin.log 2>&1 || { cat spin.log; exit 1; }
  cc "$optimized" -w -DCOLLAPSE "${build[@]}" -o pan pan.c
  ./pan "${options[@]}" >pan.log 2>&1
  ! grep -q 'Search not completed' pan.log || grep -q 'errors: [1-9]' pan.log || { cat pan.log; exit 1; }
  awk '/errors:/ { errors = $NF } / states, stored/ { states = $1 } END { print errors, states }' pan.log
}

optimized=-O1
failed=0
# expect 0|1 NAME KIND FAULTS...
expect() {
  local wanted=$1 name=$2 kind=$3 found states
  shift 2
  read -r found states < <(search "$@")
  printf '%-24s %s  %9d states, errors: %d\n' "$name" "$kind" "$states" "$found"
  ((found == wanted)) || { failed=1; printf 'FAILED: %s\n' "$name"; }
}

none=(-DDEATHS=0 -DLOSSES=0 -DDUPLICATES=0 -DEARLY_TIMERS=0)
death=(-DDEATHS=1 -DLOSSES=0 -DDUPLICATES=0 -DEARLY_TIMERS=0)
loss=(-DDEATHS=0 -DLOSSES=1 -DDUPLICATES=0 -DEARLY_TIMERS=0)
copy=(-DDEATHS=0 -DLOSSES=0 -DDUPLICATES=1 -DEARLY_TIMERS=0)
early=(-DDEATHS=0 -DLOSSES=0 -DDUPLICATES=0 -DEARLY_TIMERS=1)

model=core
# A search for what never ends finds wrong states too.
expect 0 'no fault' live "${none[@]}"
expect 0 'a path dies' live "${death[@]}"
expect 0 'a packet is lost' live "${loss[@]}"
expect 0 'a packet comes twice' safe "${copy[@]}"
expect 0 'the timer is early' safe "${early[@]}"

# A mistake is found at once: compiling the search takes longer than the search.
optimized=-O0
expect 1 'duplicates are placed' safe -DMISTAKE_PLACE_DUPLICATES "${early[@]}"
expect 1 'READ before its turn' safe -DMISTAKE_READ_ON_ARRIVAL "${none[@]}"
expect 1 'completed by a SACK' safe -DMISTAKE_COMPLETE_ON_SACK "${loss[@]}"
expect 1 'no timer' live -DMISTAKE_NO_TIMER "${loss[@]}"
expect 1 'nothing sent again' live -DMISTAKE_NO_RETRANSMISSION "${loss[@]}"
expect 1 'no probes' live -DMISTAKE_NO_PROBES "${loss[@]}"

model=link
expect 0 'a link' safe
expect 1 'no fence before the bell' safe -DMISTAKE_NO_FENCE
expect 1 'asleep without a look' safe -DMISTAKE_NO_SECOND_LOOK
expect 1 'released while read' safe -DMISTAKE_RELEASE_EARLY
expect 1 'entries without a turn' safe -DMISTAKE_NO_TURN
expect 1 'more than the ring holds' safe -DMISTAKE_OVERFILL -DFRAMES=3
exit "$failed"
