// SPDX-License-Identifier: BSD-2-Clause
// An event channel of librdmacm: what it takes for the kernel's rdma_cm file. The file descriptor is readable
// while events wait.
#pragma once

#include <netinet/in.h>  // first: the kernel's headers then leave socket addresses to it
#include <pthread.h>
#include <rdma/rdma_user_cm.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace mrc::provider {

// Used under the lock of whoever owns the channels.
class EventChannel {
 public:
  EventChannel() = default;
  ~EventChannel();
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  // 0 or an errno. The descriptor is librdmacm's to close.
  int open();
  int fd() const { return fd_; }
  // Another descriptor of the same file, which stays open for those who still wait when librdmacm has closed
  // its own: as with the kernel, they wait on.
  int own_fd() const { return own_fd_; }

  struct Entry {
    uint32_t owner;  // the id that counts it: of a connection request, the listener
    rdma_ucm_event_resp event;
  };
  void push(const Entry& entry);
  bool empty() const { return entries_.empty(); }
  Entry pop();

  // Before the channel is closed: whether another thread has read from it and is on its way back. Programs
  // close a channel below a thread that reads it, which the kernel is slow enough to survive: what has begun
  // to wait waits on, what comes too late fails.
  bool reader_is_away() const {
    return has_reader_ && waiting_ == 0 && !pthread_equal(reader_, pthread_self());
  }
  void begin_waiting() { ++waiting_; }
  void end_waiting() { --waiting_; }

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
  int own_fd_ = -1;
  std::deque<Entry> entries_;
  bool has_reader_ = false;
  pthread_t reader_{};  // who read last
  unsigned waiting_ = 0;
};

}  // namespace mrc::provider
