// SPDX-License-Identifier: BSD-2-Clause
// Events on their way to the application: a pair of message sockets. libibverbs reads the application's end
// with read() and wants whole messages, so an eventfd or a pipe would not do.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mrc::provider {

class EventQueue {
 public:
  EventQueue() = default;
  ~EventQueue() { close_provider_end(); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // 0 or an errno. The application's end belongs to libibverbs, which closes it.
  int open();
  int application_fd() const { return application_fd_; }
  void close_provider_end();

  enum class Delivery { kSent, kFull, kNobodyReads };  // full: for now; nobody: the other end is closed
  Delivery send(const void* event, size_t bytes);
  // Takes back the unread events of `bytes` bytes that `unwanted` picks, and says how many; the others stay
  // in order.
  uint32_t remove(size_t bytes, const std::function<bool(const void*)>& unwanted);
  // The application has closed its end.
  bool abandoned() const;

 private:
  int application_fd_ = -1;
  int provider_fd_ = -1;
};

}  // namespace mrc::provider
