#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# other_architecture.sh [--fetch-only | --build-only] SOURCE_DIR BUILD_DIR [JUNIT_FILE]: builds the whole tree for x86_64 on aarch64, or the reverse,
# and runs the unit tests of libmrc and a short soak under user-mode emulation. The packages of that architecture cannot
# be installed beside this one's (libfdt-dev and rdma-core exclude each other), so their files are unpacked into a folder.
# It stays in BUILD_DIR/other and is used again. Status 0: all passed, 1: not, 77: they cannot be had here.
set -euo pipefail

tree=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../..
. "$tree/cmake/setup.sh"
. "$tree/cmake/chroots.sh"
mrc_take_arguments other "$@"
junit=${junit:-$place/tests.xml}
case $(uname -m) in
  aarch64) processor=x86_64 architecture=amd64 ;;
  x86_64) processor=aarch64 architecture=arm64 ;;
  *)
    printf 'skipped: other architecture: none is known for %s\n' "$(uname -m)"
    exit 77
    ;;
esac
mrc_part_name="$processor"
mrc_parts=4

# --- its packages ---

compiler=$processor-linux-gnu-g++
release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
library=libstdc++-$("$compiler" -dumpversion)-dev
packages=(libc6-dev "$library" "${mrc_library_packages[@]}" libgtest-dev librdmacm-dev)
root=$place/root

# Links of the packages that begin at the root lead out of the folder.
mend_links() {
  local link target
  while IFS= read -r -d '' link; do
    target=$(readlink "$link")
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$target")" "$link"
  done < <(find "$root" -type l -lname '/*' -print0)
}

make_root() {
  mrc_make_root "$release" "$root" "$place/mmdebstrap.log" --mode=root --variant=extract \
    --architectures="$architecture" --include="$(IFS=, && printf '%s' "${packages[*]}")"
  mend_links
}

mrc_next "packages of $processor"
mrc_cached "$place/root.packages" "$release $architecture ${packages[*]}" make_root

[[ $only != --fetch-only ]] || exit 0

# --- the build ---

log=$place/log
mrc_next 'configuring'
cmake -S "$source_dir" -B "$place/build" -G Ninja --toolchain "$source_dir/cmake/cross.cmake" \
  -DMRC_CROSS_PROCESSOR="$processor" -DMRC_CROSS_SYSROOT="$root" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DMRC_HOT_OPTIONS=-O1 \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DMRC_WARNINGS_AS_ERRORS=ON -DMRC_BUILD_TESTS=ON \
  -DMRC_SOAK_SEEDS=1..30 >"$log" 2>&1 || mrc_part_failed 'configuring' "$log"
mrc_next "building with $compiler"
ninja -C "$place/build" -j "$(nproc)" 2>&1 | mrc_progress "$log" '^\[([0-9]+)/([0-9]+)\]' ||
  mrc_part_failed 'building' "$log"

[[ $only != --build-only ]] || exit 0

# --- the tests ---

mrc_next "testing under $(qemu-"$processor" --version | awk 'NR == 1')"
rm -f "$junit"
# One seed of each random test: emulation is slow, and what differs between architectures does not hide in a seed.
export MRC_SEED=${MRC_SEED:-$((1 + RANDOM % 100))}
mrc_say "MRC_SEED=$MRC_SEED"
ctest --test-dir "$place/build" --no-tests=error --output-on-failure -j "$(nproc)" --output-junit "$junit" \
  -R '^((wire|path|congestion|reliability|guard|memory|qp|engine|cm)_test|sim\.soak)$' 2>&1 |
  mrc_progress "$log" '^ *([0-9]+)/([0-9]+) Test' || true
[[ -s $junit ]] || mrc_part_failed 'ctest wrote no report' "$log"
mrc_count_results "$source_dir" "$junit"
