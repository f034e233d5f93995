# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the parts of ./test that build in another system: folders with Debian's packages, and how far they are.

mrc_part_name=part
mrc_parts=1
mrc_part=0

# mrc_take_arguments FOLDER [--fetch-only | --build-only] SOURCE_DIR BUILD_DIR [JUNIT_FILE]: into $only, $source_dir,
# $place (FOLDER in BUILD_DIR, which is made) and $junit.
# shellcheck disable=SC2034 # variables of those who call it
mrc_take_arguments() {
  local folder=$1
  shift
  only=
  case ${1:-} in
    --fetch-only | --build-only)
      only=$1
      shift
      ;;
  esac
  if (($# < 2 || $# > 3)); then
    printf 'usage: %s [--fetch-only | --build-only] SOURCE_DIR BUILD_DIR [JUNIT_FILE]\n' "${0##*/}" >&2
    exit 2
  fi
  source_dir=$(realpath "$1")
  mkdir -p "$2/$folder"
  place=$(realpath "$2/$folder")
  junit=${3:+$(realpath -m "$3")}
}

mrc_say() { printf '%s: part %d of %d, %4d s: %s\n' "$mrc_part_name" "$mrc_part" "$mrc_parts" "$SECONDS" "$1"; }
mrc_next() {
  mrc_part=$((mrc_part + 1))
  mrc_say "$1"
}
mrc_skip() {
  printf 'skipped: %s: %s\n' "$mrc_part_name" "$1"
  exit 77
}
# mrc_part_failed WHAT [LOG]
mrc_part_failed() {
  [[ -z ${2:-} ]] || tail -n 60 "$2"
  mrc_say "FAILED: $1"
  exit 1
}

# mrc_progress LOG PATTERN: keeps what comes in the log; lines that say "n/m" as in the pattern are told, now and then.
mrc_progress() {
  local line last=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line" >&4
    if ((SECONDS >= last + 15)) && [[ $line =~ $2 ]]; then
      last=$SECONDS
      mrc_say "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    fi
  done 4>"$1"
}

# The mirror from which this machine gets Debian.
mrc_mirror() {
  # shellcheck disable=SC2016 # apt-get's variable
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | awk 'NR == 1'
}

# mrc_make_root RELEASE FOLDER LOG MMDEBSTRAP_ARGUMENT...: all of the folder anew. Ends the script if that cannot be.
mrc_make_root() {
  local release=$1 root=$2 log=$3 from proxy=()
  shift 3
  command -v mmdebstrap >/dev/null || mrc_skip 'no mmdebstrap'
  from=$(mrc_mirror 2>/dev/null || true)
  [[ -n $from ]] || mrc_skip 'apt knows no mirror of Debian'
  mapfile -t proxy < <(apt-config dump Acquire | grep -iE '::proxy "' | sed 's/^/--aptopt=/' || true)
  rm -rf --one-file-system "$root"
  if ! mmdebstrap --quiet "${proxy[@]}" --aptopt='APT::Install-Recommends "false"' "$@" "$release" "$root" "$from" \
    >"$log" 2>&1; then
    rm -rf --one-file-system "$root"
    ! grep -qE 'Unable to locate package|no installation candidate|unmet dependencies' "$log" ||
      mrc_part_failed 'a package is not there' "$log"
    mrc_skip "mmdebstrap could not make the folder: $(grep -E '^(E|W|error|mmdebstrap)' "$log" | tail -n 1)"
  fi
}

# mrc_cached STAMP CONTENT COMMAND...: runs the command unless it did so before for the same content.
mrc_cached() {
  local stamp=$1 content=$2
  shift 2
  if [[ $(cat "$stamp" 2>/dev/null) == "$content" ]]; then
    mrc_say 'there from before'
    return
  fi
  rm -f "$stamp"
  "$@"
  printf '%s\n' "$content" >"$stamp"
}

# mrc_count_results SOURCE_DIR REPORT...: ends the script with what the reports of ctest say.
mrc_count_results() {
  local source_dir=$1 status=0 summary
  shift
  summary=$(python3 "$source_dir/cmake/count_results.py" "$@") || status=$?
  if ((status != 0)); then printf '%s\n' "$summary"; else grep '^skipped:' <<<"$summary" || true; fi
  mrc_say "$(tail -n 1 <<<"$summary")"
  exit "$status"
}
