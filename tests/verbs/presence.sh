#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How programs find mrc0: each way in, mrcctl doctor, and what an installation writes.
#   presence.sh SOURCE_DIR BUILD_DIR CASE [as-nobody]
set -euo pipefail
# shellcheck source=case.sh
. "$1/tests/verbs/case.sh"

run=(timeout -k 1 60 "${prefix[@]}")
shows_device() { grep -qE '^ +mrc0[[:space:]]+[0-9a-f]{16}$' "$scratch/out.log" || fail "$1"; }
says() { grep -qE -- "$1" "$scratch/out.log" || fail "the doctor does not say: $1"; }
# doctor STATUS COMMAND...
doctor() {
  local wanted=$1 got=0
  shift
  "${run[@]}" "$@" doctor >"$scratch/out.log" 2>&1 || got=$?
  ((got == wanted)) || fail "the doctor ended with status $got, not $wanted"
}

case $name in
  sysfs_path)
    "$bin/mrcctl" tree "$scratch/sys"
    ! "$bin/mrcctl" tree "$scratch/sys" 2>/dev/null || fail 'a tree was made over another'
    # The device file is mrcrun's; the tree is the one that was just made.
    "${run[@]}" "$bin/mrcrun" env SYSFS_PATH="$scratch/sys" ibv_devices >"$scratch/out.log" 2>&1 || fail 'ibv_devices'
    shows_device 'mrc0 is not found by SYSFS_PATH'
    [[ $(cat "$scratch/sys/class/net/lo/mtu") == $(cat /sys/class/net/lo/mtu) ]] || fail 'the rest of /sys is not there'
    ;;
  view)
    before=$(ls -A /sys/class)
    # shellcheck disable=SC2016
    "${run[@]}" "$bin/mrcrun" --view env -u SYSFS_PATH -u IBV_DRIVERS -u RDMAV_DRIVERS sh -c '
      ibv_devices && ibv_devinfo -d mrc0 >/dev/null &&
      cat /sys/class/infiniband/mrc0/ports/1/gid_attrs/types/0 /sys/class/net/lo/mtu >/dev/null &&
      [ "$(readlink -f /sys/class/net/lo)" = /sys/devices/virtual/net/lo ] &&
      [ -f /etc/libibverbs.d/mlx5.driver ]' >"$scratch/out.log" 2>&1 || fail 'the view lacks something'
    shows_device 'mrc0 is not found without environment'
    [[ $(ls -A /sys/class) == "$before" ]] || fail '/sys/class has changed outside'
    [[ ! -e /sys/class/infiniband/mrc0 ]] || fail 'the device is seen outside'
    ;;
  launcher)
    "${run[@]}" "$bin/mrcrun" ibv_devices >"$scratch/out.log" 2>&1 || fail 'ibv_devices'
    shows_device 'mrc0 is not found by mrcrun'
    ;;
  doctor)
    doctor 0 "$bin/mrcctl"
    says '^ok +libibverbs has the provider interface 34'
    says '^=> (Start programs with mrcrun|Programs find mrc0 by themselves)'
    doctor 0 "$bin/mrcrun" --view "$bin/mrcctl"
    says '^=> Programs find mrc0 by themselves'
    # Alone, without the library.
    mkdir -p "$scratch/away/bin"
    cp "$bin/mrcctl" "$scratch/away/bin/"
    doctor 1 "$scratch/away/bin/mrcctl"
    says '^PROBLEM +libmrc-rdmav34.so is not there'
    MRC_CONFIG=$scratch/absent.toml doctor 1 "$bin/mrcctl"
    says "^PROBLEM .*$scratch/absent.toml"
    MRC_RUNDIR=$scratch/away/bin/mrcctl doctor 1 "$bin/mrcctl"
    says '^PROBLEM .*run directory'
    ;;
  install)
    "$bin/mrcctl" install "$scratch/root" >/dev/null
    read -r word provider <"$scratch/root/etc/libibverbs.d/mrc.driver"
    [[ $word == driver && -e $provider-rdmav34.so ]] || fail 'the driver file does not name the provider'
    grep -q '^L /dev/infiniband/uverbs-mrc0 .* ../null$' "$scratch/root/usr/lib/tmpfiles.d/mrc.conf" || fail 'no device file'
    grep -qx 'blacklist ib_core' "$scratch/root/etc/modprobe.d/mrc.conf" || fail 'ib_core is not kept away'
    ;;
  *)
    fail "there is no case '$name'"
    ;;
esac
