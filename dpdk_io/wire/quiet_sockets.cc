// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/quiet_sockets.h"

#include <linux/filter.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/packet.h"

namespace mrc {
namespace {

void set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

// Before it is bound, so that nothing ever waits in it.
void drop_everything(int fd) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &drop};
  setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

int make(int family, int type, int protocol) {
  const int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (fd >= 0) drop_everything(fd);
  return fd;
}

// On any address, shared with whoever else does the same, of whatever user.
int bind_any(int fd, int family, uint16_t port) {
  if (fd < 0) return -1;
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const int result = family == AF_INET ? bind(fd, reinterpret_cast<const sockaddr*>(&v4), sizeof v4)
                                       : bind(fd, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  if (result == 0) return fd;
  close(fd);  // the kernel's own RoCE has it: then nobody complains either
  return -1;
}

}  // namespace

QuietSockets::~QuietSockets() {
  for (const int fd : fds_) close(fd);
}

void QuietSockets::add(int fd) {
  if (fd >= 0) fds_.push_back(fd);
}

void QuietSockets::open(bool srv6) {
  for (const uint16_t port : {kUdpPort, kUdpPortSpecPrint}) {  // peers may use either
    add(bind_any(make(AF_INET, SOCK_DGRAM, 0), AF_INET, port));
    const int v6 = make(AF_INET6, SOCK_DGRAM, 0);
    if (v6 >= 0) {
      set(v6, IPPROTO_IPV6, IPV6_V6ONLY, 1);
      set(v6, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);  // RoCE has no UDP checksums, or the kernel logs each packet
    }
    add(bind_any(v6, AF_INET6, port));
  }
  if (!srv6) return;
  add(make(AF_INET6, SOCK_RAW, kProtocolIpv6));
  add(make(AF_INET6, SOCK_RAW, kProtocolIpv4));
}

}  // namespace mrc
