// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/memif_driver.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "dpdk_io/burst_guard.h"
#include "dpdk_io/import_redirect.h"

namespace mrc {
namespace {

// Both only used in the interrupt thread, which goes on while the process exits: never destroyed.
DriverRecord* current_record = nullptr;
auto& records = *new std::vector<DriverRecord*>;

// When a peer goes away the driver clears its "connected" flag and then unmaps the rings, whether or not a
// burst is reading them. The flag is clear by now: bursts that begin later see it, earlier ones are waited
// for. What the driver frees after the unmapping is safe for the same reason.
int unmap_after_bursts(void* address, size_t bytes) {
  BurstGuard::wait_for_all();
  return munmap(address, bytes);
}

// The driver does not free the interrupt handles of transmit queues (26 KB each, out of EAL's fixed memory).
// They are taken from the heap instead, and the record frees what is left when the link is gone.
rte_intr_handle* allocate_handle(uint32_t flags) {
  rte_intr_handle* handle =
      rte_intr_instance_alloc(flags & ~static_cast<uint32_t>(RTE_INTR_INSTANCE_F_SHARED));
  if (handle != nullptr && current_record != nullptr) current_record->note_handle(handle);
  return handle;
}

void free_handle(rte_intr_handle* handle) {
  for (DriverRecord* record : records)
    if (record->forget_handle(handle)) break;
  rte_intr_instance_free(handle);
}

// The driver never closes a server's listening socket.
int register_callback(const rte_intr_handle* handle, rte_intr_callback_fn callback, void* argument) {
  const int result = rte_intr_callback_register(handle, callback, argument);
  if (result == 0 && current_record != nullptr)
    current_record->note_listener(rte_intr_fd_get(handle), callback, argument);
  return result;
}

// Programs start others: an inherited control socket would keep a link alive after its process has died.
int socket_cloexec(int domain, int type, int protocol) {
  return socket(domain, type | SOCK_CLOEXEC, protocol);
}
int accept_cloexec(int fd, sockaddr* address, socklen_t* length) {
  return accept4(fd, address, length, SOCK_CLOEXEC);
}
int eventfd_cloexec(unsigned value, int flags) {
  return eventfd(value, flags | EFD_CLOEXEC);
}
int memfd_cloexec(const char* name, unsigned flags) {
  return memfd_create(name, flags | MFD_CLOEXEC);
}
ssize_t recvmsg_cloexec(int fd, msghdr* message, int flags) {
  return recvmsg(fd, message, flags | MSG_CMSG_CLOEXEC);
}

// A peer may go between connecting and being accepted. Then the driver cannot greet it, closes the socket but
// leaves it registered, and EAL panics over it, in somebody else's process. A greeting that counts as sent is
// harmless: the next read finds the end of the connection and cleans up.
ssize_t sendmsg_to_anybody(int fd, const msghdr* message, int flags) {
  const ssize_t sent = sendmsg(fd, message, flags | MSG_NOSIGNAL);
  if (sent >= 0 || (errno != EPIPE && errno != ECONNRESET)) return sent;
  ssize_t bytes = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) bytes += static_cast<ssize_t>(message->msg_iov[i].iov_len);
  return bytes;
}

struct Redirection {
  const char* symbol;
  void* replacement;
};

std::string redirect_all() {
  const void* driver = find_loaded_library("librte_net_memif.so");
  if (driver == nullptr)
    return "mrc: DPDK's memif driver is not there; install the package with librte_net_memif (Debian: "
           "librte-net-memif23 or libdpdk-dev)";
  const Redirection redirections[] = {
      {"munmap", reinterpret_cast<void*>(unmap_after_bursts)},
      {"rte_intr_instance_alloc", reinterpret_cast<void*>(allocate_handle)},
      {"rte_intr_instance_free", reinterpret_cast<void*>(free_handle)},
      {"rte_intr_callback_register", reinterpret_cast<void*>(register_callback)},
      {"socket", reinterpret_cast<void*>(socket_cloexec)},
      {"accept", reinterpret_cast<void*>(accept_cloexec)},
      {"eventfd", reinterpret_cast<void*>(eventfd_cloexec)},
      {"memfd_create", reinterpret_cast<void*>(memfd_cloexec)},
      {"recvmsg", reinterpret_cast<void*>(recvmsg_cloexec)},
      {"sendmsg", reinterpret_cast<void*>(sendmsg_to_anybody)},
  };
  for (const Redirection& redirection : redirections) {
    const int result = redirect_import(driver, redirection.symbol, redirection.replacement);
    if (result > 0) continue;
    const char* why = result < 0 ? std::strerror(-result) : "not imported";
    return std::string("mrc: cannot repair DPDK's memif driver: ") + redirection.symbol + ": " + why +
           "; this DPDK is not the release 22.11 that this build is for";
  }
  return {};
}

}  // namespace

bool repair_memif_driver(std::string* error) {
  static const std::string failure = redirect_all();
  *error = failure;
  return failure.empty();
}

void DriverRecord::release() {
  stop_listening();
  for (rte_intr_handle* handle : handles_) rte_intr_instance_free(handle);
  handles_.clear();
  std::erase(records, this);
}

void DriverRecord::begin() {
  if (std::find(records.begin(), records.end(), this) == records.end()) records.push_back(this);
  current_record = this;
}

void DriverRecord::end() {
  current_record = nullptr;
}

void DriverRecord::note_listener(int fd, rte_intr_callback_fn callback, void* argument) {
  listener_fd_ = fd;
  listener_callback_ = callback;
  listener_argument_ = argument;
}

bool DriverRecord::forget_handle(rte_intr_handle* handle) {
  return std::erase(handles_, handle) > 0;
}

void DriverRecord::stop_listening() {
  if (listener_fd_ < 0) return;
  // EAL knows a source by its descriptor; the driver's own handle may be gone.
  rte_intr_handle* handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (handle == nullptr) return;
  rte_intr_fd_set(handle, listener_fd_);
  rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT);
  rte_intr_callback_unregister(handle, listener_callback_, listener_argument_);
  rte_intr_instance_free(handle);
  close(listener_fd_);
  listener_fd_ = -1;
}

}  // namespace mrc
