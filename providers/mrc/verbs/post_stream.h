// SPDX-License-Identifier: BSD-2-Clause
// Whether a program's posts to one queue pair come in a stream. Then they go out in groups: each turn of the
// engine costs as much for one packet as for several, and a packet that nothing follows asks for an
// acknowledgement of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace mrc::provider {

// Hints: what threads that post at once lose of each other's does not matter.
class PostStream {
 public:
  // Of the post that made the queue's tail what it is: whether the next poll, or the last post of the group,
  // is soon enough. Nobody waits for this one: so much is under way already, or, where answers come too
  // quickly for that, as many posts are about to follow as followed one another before the last poll. And
  // whoever posts polls, too: a program that then stops to do either waits for the background thread, a
  // fraction of a millisecond, once. `polls`: of the completion queue, until now.
  bool goes_on(uint64_t tail, uint64_t head, uint64_t polls) {
    const uint64_t requests = tail - exchange(&tail_seen_, tail);
    uint32_t run = get(run_);
    uint64_t waiting = get(waiting_);
    if (polls != exchange(&polls_seen_, polls)) {  // which took along what waited
      set(&last_run_, run);
      run = 0;
      waiting = 0;
    }
    set(&run_, ++run);
    waiting += requests;
    const uint64_t unfinished = tail - head;
    const bool waits = polls != 0 && run < kRunMax && waiting < kGroup &&
                       (unfinished > kPlenty || (unfinished > requests && more_are_likely(run)));
    set(&waiting_, waits ? waiting : 0);
    return waits;
  }

 private:
  static constexpr uint64_t kGroup = 32;   // requests
  static constexpr uint64_t kPlenty = 16;  // requests under way, or posts in a row: fewer are no stream
  // Who has not polled for so many posts may not do so soon.
  static constexpr uint32_t kRunMax = 256;

  bool more_are_likely(uint32_t run) const {
    const uint32_t last = get(last_run_);
    return last >= kPlenty && run < last;
  }

  template <typename T>
  static T get(const std::atomic<T>& from) {
    return from.load(std::memory_order_relaxed);
  }
  template <typename T>
  static void set(std::atomic<T>* to, T value) {
    to->store(value, std::memory_order_relaxed);
  }
  template <typename T>
  static T exchange(std::atomic<T>* of, T value) {
    const T before = get(*of);
    set(of, value);
    return before;
  }

  std::atomic<uint64_t> tail_seen_{0};
  std::atomic<uint64_t> polls_seen_{0};
  std::atomic<uint64_t> waiting_{0};   // requests of the group that is being posted
  std::atomic<uint32_t> run_{0};       // posts since the last poll
  std::atomic<uint32_t> last_run_{0};  // and between the two polls before
};

}  // namespace mrc::provider
