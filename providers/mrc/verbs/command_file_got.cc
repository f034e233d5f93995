// SPDX-License-Identifier: BSD-2-Clause
// The command file by import redirection: no privilege, no thread, no kernel object.
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <mutex>

#include "dpdk_io/host/cancellation.h"
#include "dpdk_io/host/import_redirect.h"
#include "providers/mrc/verbs/command_file.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/provider_abi.h"

namespace mrc::provider {
namespace {

// Read without a lock, because a fork may happen while any lock is held. A slot is claimed by its fd and
// becomes visible by its handler.
struct Slot {
  std::atomic<int> fd{-1};
  std::atomic<CommandHandler*> handler{nullptr};
};
constexpr size_t kSlots = 1024;  // open contexts of one process
std::array<Slot, kSlots> g_slots;

CommandHandler* find_handler(int fd) {
  for (Slot& slot : g_slots)
    if (slot.fd.load(std::memory_order_acquire) == fd) return slot.handler.load(std::memory_order_acquire);
  return nullptr;
}

int result_of(long result) {
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

ssize_t redirected_write(int fd, const void* data, size_t bytes) {
  CommandHandler* handler = find_handler(fd);
  if (handler == nullptr) return ::write(fd, data, bytes);
  if (forked_away()) return result_of(-EPERM);
  const WithoutCancellation whole;
  return result_of(handler->on_write(data, bytes));
}

int redirected_ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  CommandHandler* handler = find_handler(fd);
  if (handler == nullptr) return ::ioctl(fd, request, argument);
  if (forked_away()) return result_of(-EPERM);
  const WithoutCancellation whole;
  return result_of(handler->on_ioctl(request, argument));
}

// Once per process; empty: done.
const std::string& redirect_libibverbs() {
  static const std::string error = [] {
    const void* libibverbs = reinterpret_cast<const void*>(&verbs_set_ops);
    const int writes = redirect_import(libibverbs, "write", reinterpret_cast<void*>(&redirected_write));
    const int ioctls = redirect_import(libibverbs, "ioctl", reinterpret_cast<void*>(&redirected_ioctl));
    if (writes > 0 && ioctls > 0) return std::string();
    const int result = writes <= 0 ? writes : ioctls;
    return std::string("libibverbs' calls cannot be redirected; ") +
           (result < 0 ? std::strerror(-result) : "it does not import write() and ioctl()") +
           "; use the libibverbs of the distribution, dynamically linked";
  }();
  return error;
}

class RedirectedFile final : public CommandFile {
 public:
  RedirectedFile(int fd, Slot* slot) : CommandFile(fd), slot_(slot) {}
  ~RedirectedFile() override {
    slot_->handler.store(nullptr, std::memory_order_release);
    slot_->fd.store(-1, std::memory_order_release);
  }

 private:
  Slot* slot_;
};

}  // namespace

std::unique_ptr<CommandFile> open_redirected_file(int placeholder, CommandHandler* handler,
                                                  std::string* error) {
  *error = redirect_libibverbs();
  if (!error->empty()) return nullptr;
  for (Slot& slot : g_slots) {
    int expected = -1;
    if (!slot.fd.compare_exchange_strong(expected, placeholder)) continue;
    slot.handler.store(handler, std::memory_order_release);
    return std::make_unique<RedirectedFile>(placeholder, &slot);
  }
  *error = "too many open contexts; a process may have " + std::to_string(kSlots) + "; close some";
  return nullptr;
}

}  // namespace mrc::provider
