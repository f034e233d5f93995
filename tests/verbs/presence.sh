#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How programs find mrc0: each way in, mrcctl doctor, and what mrcctl install writes and takes back.
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
    root=$scratch/root
    mkdir -p "$root/etc"
    files() { (cd "$root" && find . -mindepth 1 | sort); }
    before=$(files)
    # control STATUS WORD...
    control() {
      local wanted=$1 got=0
      shift
      "$bin/mrcctl" "$@" >"$scratch/out.log" 2>&1 || got=$?
      ((got == wanted)) || fail "'mrcctl $*' ended with status $got, not $wanted"
    }
    # Help and words that are not known change nothing, nor does saying what would be done.
    (
      cd "$scratch"
      control 0 install --help
      grep -q '^usage: mrcctl' out.log || fail 'install --help shows no help'
      for words in './root' '--root' '--root ./absent' '--root ./root --yess' '--root ./root --yes more'; do
        # shellcheck disable=SC2086
        control 2 install $words
      done
      control 2 uninstall --root ./root --blacklist-ib-core
      [[ ! -e ./--help && ! -e ./absent ]] || fail 'a folder was made of a word'
    )
    control 0 install --root "$root"
    [[ $(grep -c '^  would be made ' "$scratch/out.log") == 2 ]] || fail 'it does not say what would be made'
    grep -q 'Nothing has been changed' "$scratch/out.log" || fail 'it does not say that nothing was changed'
    [[ $(files) == "$before" ]] || fail 'something was changed without --yes'

    control 0 install --root "$root" --yes
    read -r word provider < <(grep -v '^#' "$root/etc/libibverbs.d/mrc.driver")
    [[ $word == driver && -e $provider-rdmav34.so ]] || fail 'the driver file does not name the provider'
    grep -q '^L /dev/infiniband/uverbs-mrc0 .* ../null$' "$root/etc/tmpfiles.d/mrc.conf" || fail 'no device file'
    [[ ! -e $root/etc/modprobe.d ]] || fail 'kernel modules were touched'
    control 0 install --root "$root" --yes --blacklist-ib-core
    grep -qx 'blacklist ib_core' "$root/etc/modprobe.d/mrc.conf" || fail 'ib_core is not kept away'
    [[ $(grep -c '^  unchanged ' "$scratch/out.log") == 2 ]] || fail 'repeating it changes something'
    control 0 install --root "$root" --yes --blacklist-ib-core
    [[ $(grep -c '^  unchanged ' "$scratch/out.log") == 3 ]] || fail 'repeating it changes something'
    ;;
  uninstall)
    root=$scratch/root
    mkdir -p "$root/etc/tmpfiles.d"
    control=("$bin/mrcctl")
    files() { (cd "$root" && find . | sort && find . -type f -exec md5sum {} + | sort); }
    before=$(files)
    "${control[@]}" uninstall --root "$root" --yes >"$scratch/out.log"
    [[ $(files) == "$before" ]] || fail 'it removed what was not its own'
    "${control[@]}" install --root "$root" --yes --blacklist-ib-core >"$scratch/out.log"
    # systemd made this from the file.
    mkdir -p "$root/dev/infiniband"
    ln -s ../null "$root/dev/infiniband/uverbs-mrc0"
    installed=$(files)
    "${control[@]}" uninstall --root "$root" >"$scratch/out.log"
    [[ $(grep -c '^  would be removed ' "$scratch/out.log") == 4 ]] || fail 'it does not say what would be removed'
    [[ $(files) == "$installed" ]] || fail 'something was changed without --yes'
    "${control[@]}" uninstall --root "$root" --yes >"$scratch/out.log"
    rmdir "$root/dev/infiniband" "$root/dev"
    [[ $(files) == "$before" ]] || fail 'something is left, or too much is gone'

    # A file that somebody has changed, and one that somebody else has made, are named and stay.
    "${control[@]}" install --root "$root" --yes >"$scratch/out.log"
    echo '# and this' >>"$root/etc/tmpfiles.d/mrc.conf"
    mkdir "$root/etc/modprobe.d"
    echo 'blacklist ib_core' >"$root/etc/modprobe.d/mrc.conf"
    ! "${control[@]}" uninstall --root "$root" --yes >"$scratch/out.log" || fail 'it takes everything for removed'
    grep -q '^  left .*/etc/tmpfiles.d/mrc.conf (changed' "$scratch/out.log" || fail 'the changed file is not named'
    grep -q '^  left .*/etc/modprobe.d/mrc.conf (not made' "$scratch/out.log" || fail 'the foreign file is not named'
    grep -qx '# and this' "$root/etc/tmpfiles.d/mrc.conf" || fail 'the changed file is gone'
    [[ -e $root/etc/modprobe.d/mrc.conf && ! -e $root/etc/libibverbs.d ]] || fail 'the wrong file was removed'
    # Nor does install write over them; one that says the same is as good as its own.
    echo 'L /dev/else - - - - ../null' >"$root/etc/tmpfiles.d/mrc.conf"
    foreign=$(md5sum "$root"/etc/*/mrc.conf)
    ! "${control[@]}" install --root "$root" --yes --blacklist-ib-core >"$scratch/out.log" || fail 'nothing was in its way'
    grep -q '^  in the way .*/etc/tmpfiles.d/mrc.conf' "$scratch/out.log" || fail 'what is in the way is not named'
    grep -q '^  unchanged .*/etc/modprobe.d/mrc.conf' "$scratch/out.log" || fail 'a file that says the same is in the way'
    [[ $(md5sum "$root"/etc/*/mrc.conf) == "$foreign" ]] || fail 'a file of somebody else was changed'
    ;;
  *)
    fail "there is no case '$name'"
    ;;
esac
