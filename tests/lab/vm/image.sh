#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes what the soft-RoCE VM boots from: Debian's kernel, and an initrd with its RDMA modules, busybox, Debian's
# verbs programs and ours.   image.sh BUILD_DIR
# The kernel package is downloaded once per build folder, into BUILD_DIR/vm; the kernel is then BUILD_DIR/vm/vmlinuz
# and the initrd BUILD_DIR/vm/initrd. Status 77: the package or a tool is not to be had here.
set -euo pipefail

build_dir=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$build_dir/vm
mkdir -p "$cache"

skip() {
  printf 'SKIPPED: %s\n' "$1"
  exit 77
}

case "$(uname -m)" in
  aarch64) flavour=arm64 emulator=qemu-system-aarch64 ;;
  x86_64) flavour=amd64 emulator=qemu-system-x86_64 ;;
  *) skip "no kernel package is known for $(uname -m)" ;;
esac
for tool in "$emulator" busybox cpio modprobe depmod dpkg-deb apt-get ib_write_bw ibv_rc_pingpong rdma tc; do
  PATH=$PATH:/sbin:/usr/sbin command -v "$tool" >/dev/null || skip "$tool is not installed"
done
export PATH=$PATH:/sbin:/usr/sbin

# What modprobe is asked for in the VM; the modules that these depend on come along.
modules=(virtio_pci virtio_net ib_uverbs ib_umad rdma_ucm rdma_rxe crc32_generic sch_ingress cls_flower act_gact fuse
  cuse)

# Of the build folder.
ours=(bin/mrcrun bin/mrcctl bin/rc_check lib/libmrc.so.1)

# The package with the modules: the one that the meta package of this architecture depends on.
fetch_kernel() {
  local package
  package=$(apt-cache depends "linux-image-$flavour" 2>/dev/null | awk '/Depends: linux-image-/ { print $2; exit }')
  [[ -n $package ]] || skip "apt knows no linux-image-$flavour (try apt-get update)"
  [[ -e $cache/$package.done ]] && return
  rm -rf "${cache:?}"/*
  (cd "$cache" && timeout 240 apt-get -q download "$package" >download.log 2>&1) || {
    cat "$cache/download.log"
    skip "$package cannot be downloaded"
  }
  mkdir "$cache/kernel"
  # Only what the modules above can need: the whole is 300 MB.
  dpkg-deb --fsys-tarfile "$cache/${package}"_*.deb | tar -x -C "$cache/kernel" --wildcards \
    './boot/vmlinuz-*' './lib/modules/*/modules.*' './lib/modules/*/kernel/crypto/*' './lib/modules/*/kernel/lib/*' \
    './lib/modules/*/kernel/net/*' './lib/modules/*/kernel/fs/configfs/*' './lib/modules/*/kernel/fs/fuse/*' \
    './lib/modules/*/kernel/drivers/virtio/*' './lib/modules/*/kernel/drivers/infiniband/*' \
    './lib/modules/*/kernel/drivers/net/*.ko*'
  find "$cache/kernel" -name '*.ko.xz' -exec xz -d {} +
  rm "$cache/${package}"_*.deb
  depmod -b "$cache/kernel" "$(ls "$cache/kernel/lib/modules")" 2>/dev/null
  mv "$cache"/kernel/boot/vmlinuz-* "$cache/vmlinuz"
  : >"$cache/$package.done"
}

# copy FILE: to the same place; a symbolic link stays one. DPDK's plug-ins have two names, and what is loaded by both
# must be one file.
copy() {
  local file=$1 real
  real=$(readlink -f "$file")
  [[ -e $root$real ]] || install -D "$real" "$root$real"
  [[ -e $root$file ]] || {
    mkdir -p "$root${file%/*}"
    ln -s "$real" "$root$file"
  }
}

# add FILE...: with the libraries it is linked with.
add() {
  local file library
  for file in "$@"; do
    copy "$file"
    while read -r library; do copy "$library"; done < <(ldd "$file" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' || true)
  done
}

add_modules() {
  local version=$1 module file
  mkdir -p "$root/lib/modules/$version"
  for module in "${modules[@]}"; do
    # Some are built into one kernel and modules of another.
    modprobe -d "$cache/kernel" -S "$version" --show-depends "$module" 2>/dev/null |
      awk '$1 == "insmod" { print $2 }' || true
  done | sort -u | while read -r file; do
    install -D -m 644 "$file" "$root/${file#"$cache/kernel/"}"
  done
  cp "$cache/kernel/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$root/lib/modules/$version/"
  depmod -b "$root" "$version"
}

add_programs() {
  local tool plugin libraries
  for tool in ibv_devices ibv_devinfo ibv_rc_pingpong ib_{send,write,read,atomic}_{bw,lat} rdma tc; do
    add "$(command -v "$tool")"
  done
  libraries=$(dirname "$(ldd "$(command -v ibv_devices)" | awk '$1 ~ /^libibverbs/ { print $3 }')")
  libraries=/usr${libraries#/usr}
  add "$libraries"/libibverbs/librxe-rdmav*.so
  install -D /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/rxe.driver"
  # Ours: bin and lib side by side. Packet sockets need no plug-in of DPDK.
  for tool in "${ours[@]}"; do
    add "$build_dir/$tool"
    install -D "$build_dir/$tool" "$root/mrc/$tool"
  done
  for plugin in "$build_dir"/lib/libmrc-rdmav*.so; do ln -s libmrc.so.1 "$root/mrc/lib/${plugin##*/}"; done
  rm -rf "${root:?}$build_dir"
}

make_initrd() {
  root=$(mktemp -d "$cache/root.XXXXXX")
  trap 'rm -rf "$root"' EXIT
  mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,proc,sys,dev,tmp,run,etc,root}
  cp "$(command -v busybox)" "$root/bin/busybox"
  install "$here/init" "$root/init"
  echo 'root:x:0:0::/root:/bin/sh' >"$root/etc/passwd"
  add_modules "$(ls "$cache/kernel/lib/modules")"
  add_programs
  ldconfig -r "$root" 2>/dev/null || true
  (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$cache/initrd.new"
  mv "$cache/initrd.new" "$cache/initrd"
}

fetch_kernel
for input in "$here/init" "$here/image.sh" "${ours[@]/#/$build_dir/}"; do
  if [[ ! $cache/initrd -nt $input ]]; then
    make_initrd
    break
  fi
done
