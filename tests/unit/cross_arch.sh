#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compiles the wire code for the other architecture (x86_64 on aarch64, and the reverse) and runs its golden frames and
# CRC variants there under user-mode emulation. Usage: cross_arch.sh <build dir>. Exit 77 (skip) without the tools.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: $0 <build dir>" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
out=$1/cross_arch
mkdir -p "$out"

case $(uname -m) in
  aarch64) other=x86_64 ;;
  x86_64) other=aarch64 ;;
  *) echo "cross_arch: no other architecture known for $(uname -m)"; exit 77 ;;
esac
compiler=$other-linux-gnu-g++
emulator=qemu-$other
for tool in "$compiler" "$emulator"; do
  if ! command -v "$tool" >/dev/null; then
    echo "cross_arch: $tool is missing; install the cross compiler g++-*-linux-gnu and qemu-user" >&2
    exit 77
  fi
done

for optimisation in -O0 -O2; do
  "$compiler" -std=c++20 "$optimisation" -Wall -Wextra -Werror -I"$source_dir" \
    "$source_dir"/libmrc/wire/*.cc "$here/golden/cross_main.cc" -o "$out/wire_$other$optimisation"
  "$emulator" -cpu max -L "/usr/$other-linux-gnu" "$out/wire_$other$optimisation"
done
