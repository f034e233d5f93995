#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# cmake --install to a foreign prefix and with DESTDIR: programs find the provider there, also when all of it is moved.
#   install_test.sh BUILD_DIR LIBDIR VERBS_PROVIDER_DIR
set -euo pipefail
build=$1 libdir=$2 verbs_provider_dir=$3
scratch=$build/t/$$
mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT
export MRC_RUNDIR=$scratch/run
unset DESTDIR

fail() {
  printf 'FAILED: %s\n' "$1"
  [[ ! -e $scratch/out ]] || cat "$scratch/out"
  exit 1
}
# installed to PREFIX, with DESTDIR in front of it
install_to() { DESTDIR=${2:-} cmake --install "$build" --prefix "$1" >"$scratch/out" 2>&1 || fail "cmake --install --prefix $1"; }
shows_device() {
  timeout -k 1 60 "$1/bin/mrcrun" ibv_devices >"$scratch/out" 2>&1 || fail "mrcrun of $1 does not work"
  grep -qE '^ +mrc0[[:space:]]+[0-9a-f]{16}$' "$scratch/out" || fail "no mrc0 by mrcrun of $1"
  # shellcheck disable=SC2016
  [[ $("$1/bin/mrcrun" sh -c 'echo $IBV_DRIVERS') == "$1/$libdir/libibverbs/libmrc" ]] ||
    fail "mrcrun of $1 leads to another provider"
}

prefix=$scratch/a
install_to "$prefix"
for file in bin/{mrcrun,mrcctl,mrc_top,mrc_bench,mrc_lab,mrc_perf} sbin/mrcd "$libdir"/{libmrc.so.1,libmrc.so,pkgconfig/mrc.pc} \
  "$libdir/libibverbs/libmrc-rdmav34.so" lib/systemd/system/mrcd.service share/mrc/wireshark/mrc.lua share/mrc/grafana/mrc.json share/man/man7/mrc.7.gz \
  share/bash-completion/completions/{mrcrun,mrcctl,mrcd,mrc_top,mrc_bench,mrc_lab,mrc_perf} \
  share/man/man1/{mrcrun,mrcctl,mrc_top,mrc_bench,mrc_lab,mrc_perf}.1.gz share/man/man8/mrcd.8.gz \
  include/mrc/{mrc,mrc_api_ver,mrc_ctl,mrc_ctl_api_ver,mrcdv}.h "$libdir"/cmake/mrc/mrcConfig{,Version}.cmake \
  lib/mrc/include/mrc.h lib/mrc/lib/*/{lib_mrc,libnv_mrc,libmrc}.so \
  share/man/man3/{mrc_create_qp,mrc_get_qpn,mrc_ctl_query_port,mrcdv_query_paths}.3.gz; do
  compgen -G "$prefix/$file" >/dev/null || fail "there is no $file"
done
grep -qx "driver $prefix/$libdir/libibverbs/libmrc" "$prefix/etc/libibverbs.d/mrc.driver" || fail 'the driver file'
grep -qx "ExecStart=$prefix/sbin/mrcd" "$prefix/lib/systemd/system/mrcd.service" || fail 'the unit of mrcd'
! grep -rqaF "$build" "$prefix"/{bin,sbin,share} || fail "something installed names the build folder"
shows_device "$prefix"
mv "$prefix" "$scratch/b"
shows_device "$scratch/b"

# Programs of others, in the three ways that they are built: pkg-config, find_package, MRC_HOME.
prefix=$scratch/b
source=$(dirname "$0")/../../examples/programs
mkdir "$scratch/built"
builds() { "$@" >"$scratch/out" 2>&1 || fail "cannot be built: $*"; }
runs() {
  LD_LIBRARY_PATH=$prefix/$libdir timeout -k 1 60 "$prefix/bin/mrcrun" "$1" >"$scratch/out" 2>&1 || fail "$1 does not run"
  grep -q '^1048576 bytes were written' "$scratch/out" || fail "$1 does not write"
}
read -ra flags < <(PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --cflags --libs mrc)
builds cc -std=c11 "$source/write.c" -o "$scratch/built/by_pkg_config" "${flags[@]}"
runs "$scratch/built/by_pkg_config"
"$prefix/bin/mrc_perf" --version >"$scratch/out" 2>&1 || fail 'mrc_perf does not find libmrc from its place'
home=$prefix/lib/mrc
for name in -l_mrc -lnv_mrc; do
  builds cc -std=c11 -I "$prefix/include" -I "$home/include" "$source/write.c" -o "$scratch/built/by_home" \
    -L "$(echo "$home"/lib/*/)" "$name" -libverbs
  runs "$scratch/built/by_home"
done
cat >"$scratch/built/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(other C)
find_package(mrc 1.0 REQUIRED)
add_executable(by_cmake ${SOURCE}/write.c)
target_link_libraries(by_cmake PRIVATE mrc::mrc)
END
builds cmake -G Ninja -S "$scratch/built" -B "$scratch/built/cmake" -DSOURCE="$(realpath "$source")" -DCMAKE_PREFIX_PATH="$prefix"
builds cmake --build "$scratch/built/cmake"
runs "$scratch/built/cmake/by_cmake"

# As packages are made: where libibverbs looks by itself a name is enough.
install_to "${verbs_provider_dir%"/$libdir/libibverbs"}" "$scratch/c"
[[ $(cat "$scratch/c/etc/libibverbs.d/mrc.driver") == 'driver mrc' ]] || fail 'the driver file for the usual prefix'
[[ -e $scratch/c$verbs_provider_dir/libmrc-rdmav34.so ]] || fail 'the provider is not where libibverbs looks'
