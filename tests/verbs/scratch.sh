# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by scripts that try programs of ours: SCRIPT BUILD_DIR. A run directory and a folder for files, gone at the end.
bin=$1/bin
scratch=$1/t/$$
mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT
export MRC_RUNDIR=$scratch/run
mkdir -m 700 "$MRC_RUNDIR"

fail() {
  printf 'FAILED: %s\n' "$1"
  exit 1
}
