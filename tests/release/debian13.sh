#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# debian13.sh [--fetch-only | --build-only] SOURCE_DIR BUILD_DIR [JUNIT_FILE]: builds the tree in a chroot of Debian 13 and runs tests there, as root.
# Chroot and build stay in BUILD_DIR/debian13 and are used again. Status 0: all passed, 1: not, 77: no such release here.
set -euo pipefail

tree=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../..
. "$tree/cmake/setup.sh"
. "$tree/cmake/chroots.sh"
mrc_take_arguments debian13 "$@"
release=trixie

# Of the tests in processes of their own, these: every kind of them once, and what meets the release's own programs.
# Without those of the verbs and of the lab all tests run but the few in $left_out.
chosen=(
  'verbs\.(provider_nobody|conformance|mrcrun|access_errors|write_check_4_planes)'
  'verbs\.stock_(devices|devinfo|asyncwatch|at_once|state)'
  'verbs\.stock_(write_bw|send_bw|read_bw|write_bw_64_qps|send_bw_srq|send_bw_ud|send_lat_events|read_lat)'
  'verbs\.stock_(atomic_bw_add|atomic_lat_swap|plain_write_bw|strict_write_bw|write_bw_plane_cut)'
  'verbs\.stock_(rc|uc|ud|srq)_pingpong' 'verbs\.stock_rc_pingpong_(new_calls|events_nobody)'
  'verbs\.(cm_devices|stock_cm_(rping|udaddy|cmtime|write_bw))'
  'verbs\.command_file_(fuse|broker)' 'verbs\.presence_(view|launcher|doctor)(_nobody)?'
  'verbs\.apps_(ucx_info|ucx_tag_bw|mpi_ucx_2|mpi_ofi_2|fi_msg|fio_write)'
  'verbs\.wire_(write_bw_4|write_lat|ipv6|srv6|flap|two_pairs|no_privilege)'
  'lab\.(up|perftest)'
)
left_out='^(sim\.scenario\..*|model\..*)$'

mrc_part_name='Debian 13'
mrc_parts=4

((EUID == 0)) || mrc_skip 'a chroot is made and used by root alone'
unshare --mount --net --pid --fork true 2>/dev/null || mrc_skip 'this system makes no namespaces for root'

# --- the chroot ---

packages=("${mrc_build_packages[@]}" "${mrc_run_packages[@]}" "${mrc_test_programs[@]}" ccache)
root=$place/root

make_root() {
  mrc_make_root "$release" "$root" "$place/mmdebstrap.log" --mode=root --variant=minbase \
    --include="$(IFS=, && printf '%s' "${packages[*]}")"
  mkdir -p "$root/src" "$root/build" "$root/ccache" "$root/host"
}

mrc_next 'the chroot'
mrc_cached "$place/root.packages" "$release ${packages[*]}" make_root

[[ $only != --fetch-only ]] || exit 0

# inside COMMAND...: in namespaces of its own, whose root is the chroot; mounts, networks and processes end with it. Its
# root is not changed by chroot() alone: in such a one nobody can make user namespaces.
cache=$place/ccache
if command -v ccache >/dev/null; then cache=$(ccache -k cache_dir); fi
mkdir -p "$place/build" "$cache"
inside() {
  # shellcheck disable=SC2016 # variables of that shell
  unshare --mount --net --pid --fork --kill-child bash -euc '
    source_dir=$1 place=$2 cache=$3 root=$2/root
    shift 3
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount --bind -o ro "$source_dir" "$root/src"
    mount --bind "$place/build" "$root/build"
    mount --bind "$cache" "$root/ccache"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount --rbind /dev "$root/dev"
    # Of its own, so that files which tests leave there are seen, and go with it.
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    cd "$root"
    pivot_root . host
    umount -l /host
    cd /
    # An address besides loopback, as every machine has: libfabric looks for one.
    ip link set lo up
    if ip link add own0 type veth peer name own1; then
      ip address add 198.51.100.1/24 dev own0
      ip link set own0 up
      ip link set own1 up
    fi
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 "$@"
  ' inside "$source_dir" "$place" "$cache" "$@"
}

# --- the build ---

log=$place/log
mrc_next 'configuring'
# Fortified, as Ubuntu's compilers are by default and Debian's packages are: it makes the compiler say more.
inside cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-D_FORTIFY_SOURCE=3 \
  -DMRC_WARNINGS_AS_ERRORS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DMRC_LTO=OFF -DMRC_BUILD_TESTS=ON -DMRC_SOAK_SEEDS=1..100 -DMRC_TEST_BY_PROGRAM=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >"$log" 2>&1 ||
  mrc_part_failed 'configuring' "$log"
mrc_next "building with $(inside c++ --version | awk 'NR == 1')"
inside ninja -C /build -j "$(nproc)" 2>&1 | mrc_progress "$log" '^\[([0-9]+)/([0-9]+)\]' ||
  mrc_part_failed 'building' "$log"

[[ $only != --build-only ]] || exit 0

# --- the tests ---

mrc_next 'testing'
# tests NAME CTEST_ARGUMENT...: failures are counted from the reports.
reports=()
tests() {
  local report=/build/$1.xml left=/build/$1.left
  rm -f "$place$report" "$place$left"
  shift
  inside bash -c 'left=$1 && shift && { "$@" || true; } && ls -A /dev/shm >"$left"' list "$left" \
    ctest --test-dir /build --no-tests=error --output-on-failure -j "$(($(nproc) + 1))" --output-junit "$report" "$@" 2>&1 |
    mrc_progress "$log" '^ *([0-9]+)/([0-9]+) Test' || true
  [[ -s $place$report ]] || mrc_part_failed 'ctest wrote no report' "$log"
  reports+=("$place$report")
}
# A choice that chooses nothing is out of date.
names=$(inside ctest --test-dir /build -N | sed -n 's/^ *Test *#[0-9]*: //p')
for pattern in "${chosen[@]}"; do
  grep -qxE "$pattern" <<<"$names" || mrc_part_failed "no test has a name like $pattern"
done
tests units -LE '^(verbs|lab)$' -E "$left_out"
mrc_say 'unit tests and the simulator are done'
tests programs -R "^($(IFS='|' && printf '%s' "${chosen[*]}"))\$"

if [[ -n $junit ]]; then
  python3 - "$junit" "${reports[@]}" <<'PYTHON'
import sys
import xml.etree.ElementTree as xml

suites = xml.Element("testsuites")
suites.extend(xml.parse(report).getroot() for report in sys.argv[2:])
xml.ElementTree(suites).write(sys.argv[1])
PYTHON
fi
(mrc_count_results "$source_dir" "${reports[@]}")
left=$(cat "$place"/build/{units,programs}.left)
[[ -z $left ]] || mrc_part_failed "tests leave files in /dev/shm: ${left//$'\n'/ }"
