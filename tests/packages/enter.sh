#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# enter.sh ROOT ARCHIVES COMMAND...: runs a command with ROOT as the root of its mount namespace, which unshare has just
# made; whatever is mounted here ends with it. A chroot would not do: in one the kernel makes no user namespaces.
set -euo pipefail
root=$1 archives=$2
shift 2

mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir -m 1777 "$root/dev/shm"
for node in null zero full random urandom tty; do
  : >"$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
ln -s /proc/self/fd "$root/dev/fd"
for place in tmp run; do mount -t tmpfs -o mode=1777 "$place" "$root/$place"; done
mount --bind "$archives" "$root/var/cache/apt/archives"
ip link set lo up
cd "$root"
pivot_root . mnt
exec chroot . /bin/sh -c 'umount -l /mnt && cd / && exec "$@"' sh "$@"
