#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The parts of packages_test.sh that run inside the chroot:  inside.sh update | list | install | run | purge
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
apt=(apt-get -q -y -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root -o APT::Install-Recommends=false)
ours=(libmrc1 libmrc-dev mrc-utils)
user=(setpriv --reuid=1000 --regid=1000 --clear-groups env -u MRC_RUNDIR HOME=/)

fail() {
  printf 'FAILED: %s\n' "$1"
  exit 1
}

listens() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "$(printf ':%04X 0*:0000 0A' "$1")"; }

case $1 in
  update)
    "${apt[@]}" -o APT::Update::Error-Mode=any update
    # The verbs program, and libibverbs with it: what those leave when they go is not ours.
    "${apt[@]}" install perftest
    ;;
  list)
    # All files, and what is in those of /etc. Not those that apt, dpkg and ldconfig keep for themselves.
    own='/var/(lib/(apt|dpkg)|cache|log)/.*|/etc/ld\.so\.cache'
    find / -xdev -regextype posix-extended -regex "$own" -o -printf '%y %m %U:%G %p %l\n' | sort
    find /etc -type f ! -name ld.so.cache -exec sha256sum {} + | sort -k 2
    ;;
  install)
    "${apt[@]}" install /packages/*.deb
    ;;
  run)
    for program in mrcrun mrcctl mrc_top mrc_bench mrc_lab mrc_perf mrcd; do
      "${user[@]}" "$program" --version || fail "$program does not run"
      "${user[@]}" "$program" --help >/dev/null || fail "$program has no help"
      [[ -s $(echo /usr/share/man/man[18]/"$program".[18].gz) ]] || fail "$program has no man page"
      [[ -e /usr/share/bash-completion/completions/$program ]] || fail "$program has no completion"
    done
    [[ $(cat /etc/libibverbs.d/mrc.driver) == 'driver mrc' ]] || fail 'the driver file does not name the provider'
    [[ -e $(echo /usr/lib/*/libibverbs/libmrc-rdmav34.so) ]] || fail 'the provider is not in the folder of libibverbs'
    for name in lib_mrc libnv_mrc libmrc; do
      [[ -e $(echo /usr/lib/mrc/lib/*/"$name".so) ]] || fail "there is no $name.so below /usr/lib/mrc"
    done
    [[ -e /usr/lib/mrc/include/mrc_ctl.h && -e /usr/include/mrc/mrcdv.h ]] || fail 'there are no headers'
    [[ -e $(echo /usr/lib/*/cmake/mrc/mrcConfig.cmake) ]] || fail 'find_package(mrc) finds nothing'
    [[ -e /usr/share/man/man3/mrc_post_recv.3.gz ]] || fail 'mrc_post_recv has no man page'
    "${user[@]}" mrcctl doctor
    # shellcheck disable=SC2016
    [[ $("${user[@]}" mrcrun sh -c 'echo $IBV_DRIVERS') == /usr/lib/*/libibverbs/libmrc ]] || fail 'mrcrun shows another provider'
    bandwidth=("${user[@]}" timeout -k 5 120 mrcrun ib_write_bw -d mrc0 -s 65536 -n 2000 -F)
    "${bandwidth[@]}" >/tmp/server.log 2>&1 &
    server=$!
    for ((i = 0; i < 600; i++)); do
      listens 18515 && break
      kill -0 "$server" 2>/dev/null || break
      sleep 0.1
    done
    "${bandwidth[@]}" 127.0.0.1 || fail "the client: status $?; the server: $(cat /tmp/server.log)"
    wait "$server" || fail "the server: status $?; $(cat /tmp/server.log)"
    # What an administrator may do beyond it, and take back.
    mrcctl install --yes --blacklist-ib-core
    mrcctl uninstall --yes
    ;;
  purge)
    "${apt[@]}" purge "${ours[@]}"
    "${apt[@]}" autoremove --purge
    ;;
esac
