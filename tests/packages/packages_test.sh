#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the packages, has lintian look at them, installs them in a clean chroot of the host's own release, runs
# ib_write_bw there as an ordinary user, and purges them: nothing may be left.
#   packages_test.sh [--fetch-only] BUILD_DIR        status 77: something that it needs cannot be had here
# The bare chroot and the packages that apt fetched stay in BUILD_DIR/chroot_packages for the next time.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
arguments=("$@")
fetch_only=0
if [[ ${1:-} == --fetch-only ]]; then
  fetch_only=1
  shift
fi
build=$(realpath "$1")
kept=$build/chroot_packages

step() { printf 'packages: %4d s  %s\n' "$SECONDS" "$1"; }
skip() {
  printf 'skipped: packages: %s\n' "$1"
  exit 77
}
fail() {
  printf 'FAILED: packages: %s\n' "$1"
  [[ -z ${2:-} ]] || tail -n 40 "$2"
  exit 1
}

((EUID == 0)) || skip 'a chroot can be made by root only'
# In a chroot nobody can make user namespaces, nor mount namespaces in the usual way.
if ! awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo; then
  [[ -x $build/bin/own_root && -z ${MRC_OWN_ROOT:-} ]] || skip 'this is a chroot, and there is no own_root in bin/'
  MRC_OWN_ROOT=1 exec "$build/bin/own_root" "$0" "${arguments[@]}"
fi
for tool in lintian mmdebstrap apt-get unshare pivot_root setpriv ip; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done

mkdir -p "$kept/archives"
scratch=$(mktemp -d "$kept/run.XXXXXX")
root=$scratch/root
inside_pid=
finish() {
  [[ -z $inside_pid ]] || kill -KILL "$inside_pid" 2>/dev/null || true
  wait
  rm -rf --one-file-system "$scratch"
}
trap finish EXIT
trap 'fail "it was told to end"' INT TERM

. /etc/os-release
base=$kept/$VERSION_CODENAME-$(dpkg --print-architecture).tar
if [[ ! -s $base ]]; then
  step "making a bare chroot of $VERSION_CODENAME"
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
    "Architecture: $(dpkg --print-architecture)" | awk -v name="$VERSION_CODENAME" '$3 ~ "^" name "(-|$)"' |
    sort -u >"$scratch/sources.list"
  [[ -s $scratch/sources.list ]] || skip "apt knows no source of packages for $VERSION_CODENAME"
  # What the machine's apt needs to reach them, such as a proxy.
  apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until)\b' >"$scratch/apt.conf" || true
  mmdebstrap --mode=root --variant=minbase --aptopt="$scratch/apt.conf" "$VERSION_CODENAME" "$scratch/base.tar" \
    "$scratch/sources.list" >"$scratch/log" 2>&1 || {
    tail -n 5 "$scratch/log"
    skip "no chroot of $VERSION_CODENAME can be made; is the source of packages within reach?"
  }
  mv "$scratch/base.tar" "$base"
fi

((fetch_only == 0)) || exit 0

step 'making the packages'
cmake --build "$build" --target package >"$scratch/log" 2>&1 || fail 'they cannot be made' "$scratch/log"
mapfile -t made < <(find "$build/packages" -mindepth 1 -printf '%f\n' | sed 's/_.*_.*\.deb$//' | sort)
[[ ${made[*]} == 'libmrc-dev libmrc1 mrc-utils' ]] || fail "build/packages holds: ${made[*]}"

step 'lintian'
lintian --allow-root --fail-on error "$build"/packages/*.deb >"$scratch/log" 2>&1 ||
  fail 'lintian finds errors' "$scratch/log"
sed 's/^/packages:         /' "$scratch/log"

step 'unpacking the chroot'
mkdir "$root"
tar -xf "$base" -C "$root" --numeric-owner --xattrs
cat /etc/resolv.conf >"$root/etc/resolv.conf"
cp -r "$build/packages" "$root/packages"
cp "$here/inside.sh" "$root/inside.sh"

# inside CASE: a part of inside.sh with the chroot as its root. With the host's network where apt needs it, else with
# nothing but a loopback.
inside() {
  local net=(--net) status=0
  [[ $1 == run || $1 == purge ]] || net=()
  # Whoever ends this script ends what runs inside, and with it what is mounted there.
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --propagation private "${net[@]}" \
    "$here/enter.sh" "$root" "$kept/archives" timeout -k 5 900 /inside.sh "$1" >"$scratch/log" 2>&1 &
  inside_pid=$!
  wait "$inside_pid" || status=$?
  return "$status"
}
step 'lists of packages, and perftest'
inside update || { tail -n 5 "$scratch/log"; skip 'the source of packages cannot be reached'; }
inside list || fail 'the files cannot be listed' "$scratch/log"
cp "$scratch/log" "$scratch/before"
step 'apt-get install of the packages'
inside install || fail 'they cannot be installed' "$scratch/log"
step 'ib_write_bw as an ordinary user'
inside run || fail 'a program does not work' "$scratch/log"
sed -n 's/^/packages:         /; /65536/p; /=> /p' "$scratch/log"
step 'purging'
inside purge || fail 'they cannot be purged' "$scratch/log"
inside list || fail 'the files cannot be listed' "$scratch/log"
diff "$scratch/before" "$scratch/log" >"$scratch/left" || fail 'something is left, or gone' "$scratch/left"
step 'nothing is left; passed'
