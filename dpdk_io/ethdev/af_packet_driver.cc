// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/af_packet_driver.h"

#include <linux/if_packet.h>
#include <poll.h>
#include <rte_version.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "dpdk_io/host/cancellation.h"
#include "dpdk_io/host/import_redirect.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace mrc {
namespace {

thread_local SocketFilterScope* t_scope = nullptr;

// A packet socket hears all interfaces until it is bound, so the filter comes first.
int socket_filtered(int domain, int type, int protocol) {
  const int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
  if (fd < 0 || domain != AF_PACKET) return fd;
  const int one = 1;
  setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
  if (t_scope == nullptr) return fd;
  if (set_socket_filter(fd, t_scope->filter())) {
    t_scope->add(fd);
    return fd;
  }
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

// The driver's group has a number made from the process id: two processes with ids that agree in 16 bits, or
// two devices of one process, would get half of each other's frames.
int setsockopt_without_fanout(int fd, int level, int option, const void* value, socklen_t bytes) {
  if (level == SOL_PACKET && option == PACKET_FANOUT) return 0;
  return setsockopt(fd, level, option, value, bytes);
}

// The driver waits without limit for room in its ring. Our data path comes back later instead.
int poll_at_once(pollfd* files, nfds_t count, int) {
  const WithoutCancellation burst;
  return poll(files, count, 0);
}

std::string redirect_af_packet() {
  const void* driver = find_loaded_library("librte_net_af_packet.so");
  if (driver == nullptr)
    return "mrc: DPDK's af_packet driver is not there; install the package with librte_net_af_packet "
           "(Debian: libdpdk-dev brings it)";
  const Redirection redirections[] = {
      {"socket", reinterpret_cast<void*>(socket_filtered)},
      {"setsockopt", reinterpret_cast<void*>(setsockopt_without_fanout)},
      {"poll", reinterpret_cast<void*>(poll_at_once)},
      {"sendto", reinterpret_cast<void*>(&uncancelled::sendto)},
  };
  const std::string failure = redirect_imports(driver, redirections);
  if (failure.empty()) return {};
  return "mrc: cannot repair DPDK's af_packet driver: " + failure + "; the driver of " + rte_version() +
         " is built otherwise than those that were tried (docs/platforms.md)";
}

}  // namespace

bool repair_af_packet_driver(std::string* error) {
  static const std::string failure = redirect_af_packet();
  *error = failure;
  return failure.empty();
}

SocketFilterScope::SocketFilterScope(std::vector<sock_filter> filter) : filter_(std::move(filter)) {
  t_scope = this;
}

SocketFilterScope::~SocketFilterScope() {
  t_scope = nullptr;
}

bool set_socket_filter(int socket, const std::vector<sock_filter>& filter) {
  const sock_fprog program{static_cast<uint16_t>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};  // NOLINT: the kernel only reads it
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

}  // namespace mrc
