#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every program answers --help and --version, and refuses a word that it does not know without doing anything.
#   words_test.sh BUILD_DIR VERSION
set -euo pipefail
bin=$1/bin version=$2
scratch=$1/t/$$
mkdir -p "$scratch/empty"
trap 'rm -rf "$scratch"' EXIT
export MRC_RUNDIR=$scratch/run
cd "$scratch/empty"

fail() {
  printf 'FAILED: %s\n' "$1"
  cat "$scratch/out" "$scratch/err"
  exit 1
}

# status WANTED COMMAND...
status() {
  local wanted=$1 got=0
  shift
  timeout -k 1 20 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
  ((got == wanted)) || fail "'$*' ended with status $got, not $wanted"
}

# refuses WORD COMMAND...: the word is named on standard error, and nothing has been made of it.
refuses() {
  local word=$1
  shift
  status 2 "$@"
  grep -qF -- "$word" "$scratch/err" || fail "'$*' does not name the word"
  [[ ! -s $scratch/out ]] || fail "'$*' says something on standard output"
  [[ -z $(ls -A .) && ! -e $MRC_RUNDIR ]] || fail "'$*' has made something"
}

for program in mrcrun mrcctl mrcd mrc_top mrc_bench mrc_lab mrc_perf mrc_sim write_check; do
  status 0 "$bin/$program" --version
  [[ $(cat "$scratch/out") == "$program $version" && ! -s $scratch/err ]] || fail "$program --version"
  for help in --help -h; do
    status 0 "$bin/$program" $help
    grep -q "^usage: $program " "$scratch/out" || fail "$program $help"
    [[ ! -s $scratch/err ]] || fail "$program $help says something on standard error"
  done
  refuses --no-such-word "$bin/$program" --no-such-word
  # There it is a program's name, and a host's.
  [[ $program == mrcrun || $program == mrc_perf ]] || refuses no-such-word "$bin/$program" no-such-word
done

# Words behind the first one, too.
refuses more "$bin/mrcctl" planes more
refuses more "$bin/mrcctl" heal more
refuses mend "$bin/mrcctl" plane 1 mend
refuses 99 "$bin/mrcctl" plane 99 down
refuses ./here "$bin/mrcctl" install ./here
refuses more "$bin/mrcctl" ev --json more
refuses sideways "$bin/mrcctl" port 1 sideways
refuses --plain "$bin/mrcctl" probe host --plain
refuses 12x "$bin/mrcctl" probe host --count 12x
refuses --demon "$bin/mrcctl" map --demon
refuses more "$bin/mrcctl" map more
refuses more "$bin/mrcd" "$scratch/empty/socket" more
refuses 12x "$bin/mrc_top" --pid 12x
refuses --linez "$bin/mrc_top" --once --linez
refuses --json5 "$bin/mrc_bench" --quick --json5
refuses 12x "$bin/mrc_perf" -s 12x
refuses teleport "$bin/mrc_perf" --op teleport
refuses more "$bin/mrc_perf" host more
refuses more "$bin/mrc_lab" down more
refuses --hostz "$bin/mrc_lab" up --hostz 2
refuses more "$bin/mrc_lab" status --all more
refuses --seedz "$bin/mrc_sim" soak --seedz 1..2
refuses --quik "$bin/mrc_sim" run plane_cut --quik
refuses --sefl "$bin/write_check" --self --sefl

# What stands behind the program's name is the program's.
status 0 "$bin/mrcrun" echo --version --help
[[ $(cat "$scratch/out") == '--version --help' ]] || fail 'mrcrun takes its program'\''s words'
status 0 "$bin/mrcrun" -- echo --view
