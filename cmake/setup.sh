# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by ./run and ./test: which Debian packages they need, and how those come onto the machine.
# Quick and silent when everything is installed.

# libdpdk-dev depends on every PMD plug-in (librte-net-af-packet and the rest), so none is named here: their names
# carry DPDK's ABI number, which differs between Debian releases.
mrc_library_packages=(libibverbs-dev libdpdk-dev libtomlplusplus-dev nlohmann-json3-dev liburing-dev libbpf-dev)
mrc_build_packages=(g++ cmake ninja-build pkg-config "${mrc_library_packages[@]}")
mrc_run_packages=(libibverbs1 ibverbs-providers ibverbs-utils perftest iproute2 util-linux)
# What the tests of one build are made of and start; and what all of ./test needs besides.
mrc_test_programs=(libgtest-dev python3 clang iputils-ping procps tcpdump tshark ucx-utils openmpi-bin libopenmpi-dev
  libfabric-bin prometheus-node-exporter fio rdmacm-utils librdmacm-dev libgloo-dev tgt libiscsi-bin)
mrc_test_packages=("${mrc_test_programs[@]}" clang-format clang-tidy qemu-user busybox-static cpio kmod xz-utils
  mmdebstrap lintian dpkg-dev libclang-rt-dev spin valgrind chromium)
# All is built for the other architecture too and tried under qemu-user. The VM with soft-RoCE is of this one, the guest that
# migrates is an x86 one everywhere.
case "$(uname -m)" in
  aarch64) mrc_test_packages+=(g++-x86-64-linux-gnu qemu-system-arm qemu-system-x86) ;;
  x86_64) mrc_test_packages+=(g++-aarch64-linux-gnu qemu-system-x86) ;;
esac

mrc_fail() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  shift
  (($# == 0)) || printf '  %s\n' "$@" >&2
  exit 1
}

# The packages of "$@" that are not installed.
mrc_missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
  done
}

mrc_install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    mrc_fail 'this is not a Debian-like system (no apt-get), so the packages cannot be installed from here.' \
      'What is needed, by its Debian names:' "$*" \
      'Install the equivalents, then build with: cmake --preset release && cmake --build --preset release'
  fi
  local missing
  mapfile -t missing < <(mrc_missing_packages "$@")
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      mrc_fail 'packages are missing and this is neither root nor is there sudo.' \
        "As root: apt-get install --no-install-recommends ${missing[*]}"
    fi
    # Not through sudo's environment policy, which may drop variables.
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
  local log
  log=$(mktemp)
  printf 'Installing %d packages: %s\n' "${#missing[@]}" "${missing[*]}"
  # One broken source of packages among many must not stop us: what counts is whether they can be installed.
  "${apt[@]}" update >"$log" 2>&1 || true
  if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    mrc_fail 'apt-get could not install the packages (its last words are above).' \
      'Is the network there, and may you install packages? The packages:' "${missing[*]}"
  fi
  rm -f "$log"
}

# mrc_build PRESET CMAKE_ARGUMENT...: configures and builds; shows Ninja's one-line progress on a terminal, and all
# of the output only when something went wrong. It goes through the file mrc_build_log, if that is set.
mrc_build() {
  local preset=$1 log=${mrc_build_log:-}
  shift
  [[ -n $log ]] || log=$(mktemp)
  local remove=(rm -f "$log")
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    "${remove[@]}"
    mrc_fail "configuring the $preset build failed (see above)." \
      'If a package is said to be missing although it is installed, remove the build folder and try again.'
  fi
  local targets=()
  [[ -z ${mrc_targets:-} ]] || read -ra targets <<<"--target $mrc_targets"
  if [[ -t 1 ]]; then
    cmake --build --preset "$preset" "${targets[@]}" || mrc_fail "the $preset build failed (see above)."
  elif ! cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)' "$log" >&2 || true
    "${remove[@]}"
    mrc_fail "the $preset build failed (see above)."
  else
    tail -n 1 "$log"
  fi
  "${remove[@]}"
}
