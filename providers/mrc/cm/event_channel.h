// SPDX-License-Identifier: BSD-2-Clause
// An event channel of librdmacm: what it takes for the kernel's rdma_cm file. The file descriptor is readable
// while events wait.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace mrc::provider {

// Used under the lock of whoever owns the channels.
class EventChannel {
 public:
  EventChannel() = default;
  ~EventChannel() = default;
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  // 0 or an errno. The descriptor is librdmacm's to close.
  int open();
  int fd() const { return fd_; }

  struct Entry {
    uint32_t owner;  // the id that counts it: of a connection request, the listener
    rdma_ucm_event_resp event;
  };
  void push(const Entry& entry);
  bool empty() const { return entries_.empty(); }
  Entry pop();

  // Takes out the entries that `wanted` picks, in order.
  template <typename Wanted>
  std::deque<Entry> take(Wanted&& wanted) {
    std::deque<Entry> taken, kept;
    for (Entry& entry : entries_) (wanted(entry) ? taken : kept).push_back(entry);
    entries_ = std::move(kept);
    for (size_t i = 0; i < taken.size(); ++i) count_down();
    return taken;
  }

 private:
  void count_down();

  int fd_ = -1;
  std::deque<Entry> entries_;
};

}  // namespace mrc::provider
