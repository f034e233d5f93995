// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/eal_descriptors.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "dpdk_io/host/import_redirect.h"

namespace mrc {
namespace {

int private_pipe(int ends[2]) {
  return pipe2(ends, O_CLOEXEC);
}
int private_epoll(int) {
  return epoll_create1(EPOLL_CLOEXEC);
}
int private_epoll1(int flags) {
  return epoll_create1(flags | EPOLL_CLOEXEC);
}
int private_timer(int clock, int flags) {
  return timerfd_create(clock, flags | TFD_CLOEXEC);
}
int private_event(unsigned value, int flags) {
  return eventfd(value, flags | EFD_CLOEXEC);
}
int private_memory(const char* name, unsigned flags) {
  return memfd_create(name, flags | MFD_CLOEXEC);
}
int private_socket(int domain, int type, int protocol) {
  return socket(domain, type | SOCK_CLOEXEC, protocol);
}

}  // namespace

void close_eal_descriptors_on_exec() {
  const void* eal = find_loaded_library("librte_eal.so");
  if (eal == nullptr) return;
  const Redirection redirections[] = {
      {"pipe", reinterpret_cast<void*>(private_pipe)},
      {"epoll_create", reinterpret_cast<void*>(private_epoll)},
      {"epoll_create1", reinterpret_cast<void*>(private_epoll1)},
      {"timerfd_create", reinterpret_cast<void*>(private_timer)},
      {"eventfd", reinterpret_cast<void*>(private_event)},
      {"memfd_create", reinterpret_cast<void*>(private_memory)},
      {"socket", reinterpret_cast<void*>(private_socket)},
  };
  // Releases of DPDK differ in which they use.
  for (const Redirection& redirection : redirections)
    redirect_import(eal, redirection.symbol, redirection.replacement);
}

}  // namespace mrc
