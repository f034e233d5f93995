#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# capture_cost.sh BUILD [ROUNDS]: what a program loses while its packets are captured: perftest without and with mrcctl capture
# beside it, in turn, on the same build. Status 1 if the median of the rounds' ratios is below 0.90. For a quiet machine.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
(($# >= 1)) || { sed -n '3,4s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
build=$(realpath "$1")
said=$(mktemp -t mrc.XXXXXX)
trap 'rm -f "$said"' EXIT
printf '%12s %12s   ratio\n' without capturing
MRC_BESIDE_B="$build/bin/mrcctl capture /dev/null" "$here/compare_builds.sh" "${2:-9}" "$build" "$build" \
  ib_write_bw -s 65536 -n "${MRC_CAPTURE_MESSAGES:-20000}" 2> >(tee "$said" >&2) | tee "$said.table"
ratio=$(awk '/medians$/ { print $3 }' "$said.table")
rm -f "$said.table"
# A capture that has seen nothing shows nothing.
grep -qE '[1-9][0-9]* packets captured' "$said" || { echo 'nothing was captured' >&2; exit 1; }
awk -v ratio="$ratio" 'BEGIN { exit !(ratio >= 0.90) }' || { echo "capturing costs more than 10 %: $ratio" >&2; exit 1; }
