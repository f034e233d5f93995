// SPDX-License-Identifier: BSD-2-Clause
// A ring of completions. The engine pushes (one thread at a time, under the engine's lock); the application
// polls (one thread at a time, under the queue's lock of the caller's). The two sides need no common lock.
// Several engines may push into one ring after share().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "libmrc/containers/linked_list.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

enum class CompletionStatus : uint8_t {
  kSuccess,
  kLocalLengthError,
  kLocalProtectionError,
  kLocalQpOperationError,
  kFlushed,
  kRemoteInvalidRequest,
  kRemoteAccessError,
  kRemoteOperationError,
  kRetryExceeded,
  kRnrRetryExceeded,
  kWindowBindError,
  kGeneralError,
};

enum class CompletionKind : uint8_t {
  kSend,
  kRdmaWrite,
  kRdmaRead,
  kCompareSwap,
  kFetchAdd,
  kAtomicWrite,
  kFlush,
  kBindWindow,
  kLocalInvalidate,
  kReceive,
  kReceiveRdmaImmediate,
};

struct Completion {
  uint64_t work_id = 0;
  uint32_t byte_count = 0;
  uint32_t immediate = 0;  // as in the packet
  Qpn qpn;
  Qpn source_qpn;  // UD only
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionKind kind = CompletionKind::kSend;
  bool has_immediate = false;
  bool has_grh = false;
  bool grh_is_v4 = false;    // there is an IPv4 header in its last 20 bytes
  bool invalidated = false;  // immediate is the key that a SEND with invalidate took away
  bool solicited = false;
};

// When a completion came to be, in nanoseconds: by a clock that only goes on, and by the time of day.
struct CompletionTime {
  uint64_t clock = 0;
  uint64_t wall = 0;
};

class CompletionQueue {
 public:
  // Who asks for times says what the time is: there is no clock in here.
  using Clock = CompletionTime (*)();

  explicit CompletionQueue(uint32_t entries_min);

  uint32_t capacity() const { return mask_ + 1; }

  // --- engine side ---
  // False: the queue is full; the completion is lost and the queue is in error for good. Nothing comes into
  // it any more, for there would be a gap before it that nobody sees.
  bool push(const Completion& completion) {
    const PushLock lock(*this);
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (overrun_.load(std::memory_order_relaxed)) [[unlikely]]
      return false;
    if (tail - head_.load(std::memory_order_acquire) > mask_) {
      overrun_.store(true, std::memory_order_relaxed);
      return false;
    }
    ring_[tail & mask_] = completion;
    if (times_ != nullptr) [[unlikely]]
      times_[tail & mask_] = clock_();
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // --- application side ---
  // `time_of_first`: of the first one that was polled, if times are kept.
  size_t poll(std::span<Completion> out, CompletionTime* time_of_first = nullptr) {
    if (removal_.under_way) [[unlikely]]
      return poll_across_gap(out, time_of_first);
    uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    size_t count = 0;
    if (time_of_first != nullptr && times_ != nullptr && head != tail) *time_of_first = times_[head & mask_];
    while (count < out.size() && head != tail) out[count++] = ring_[head++ & mask_];
    if (count > 0) head_.store(head, std::memory_order_release);
    return count;
  }
  bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
  }
  void set_overrun() { overrun_.store(true, std::memory_order_relaxed); }
  bool overrun() const { return overrun_.load(std::memory_order_relaxed); }
  // How many completions were ever pushed and polled: their order is the queue's.
  uint64_t pushed() const { return tail_.load(std::memory_order_acquire); }
  uint64_t polled() const { return head_.load(std::memory_order_relaxed); }

  // So many engines may push from now on. While none does. May throw bad_alloc, and has done nothing then.
  void share(uint32_t engines);
  bool shared() const { return shared_.load(std::memory_order_relaxed); }

  // --- both sides locked out by the caller, but for other engines ---
  // Takes out what a queue pair that is gone has left, in steps of a burst's worth: what is behind it moves
  // up, so that its places are free. Between two steps others push and poll. What is pushed from now on
  // stays.
  void begin_removal(Qpn qpn);
  // False: that was the last one. `marks`: numbers as of pushed(), which move along.
  bool remove_some(std::span<uint64_t* const> marks = {});
  // Another size, in steps: the engine waits for the last one only. One Resizing or removal at a time.
  class Resizing {
   public:
    // Allocates the new ring. Under no lock.
    Resizing(const CompletionQueue& queue, uint32_t entries_min);
    // Takes a few of those that wait along; nobody polls meanwhile, but engines may push. False:
    // the rest is so little that finish() does it.
    bool take_some(const CompletionQueue& queue);

   private:
    friend class CompletionQueue;
    void copy(const CompletionQueue& queue, uint64_t end);

    std::unique_ptr<Completion[]> ring_;
    std::unique_ptr<CompletionTime[]> times_;
    uint32_t mask_;
    uint64_t copied_ = 0;  // up to this one
  };
  // The last step. What the queue had is in `resizing` afterwards, to be freed when no lock is held. False:
  // more are waiting than would fit, and nothing has changed.
  bool finish(Resizing& resizing);
  // From now on every completion has a time. Before the first one.
  void keep_times(Clock clock);
  // Completion number n in [polled(), pushed()), for event arming; null: there is none any more.
  const Completion* peek(uint64_t n) const {
    const bool in_gap = removal_.under_way && n >= removal_.kept && n < removal_.at;
    return in_gap ? nullptr : &ring_[n & mask_];
  }

  void* owner = nullptr;  // the caller's object for this queue; handed back in events

  // The engine's, between a completion and the word of it.
  LinkedList<CompletionQueue>::Node pushed_to{this};
  LinkedList<CompletionQueue>::Node overran{this};
  // The same where there are several engines: each has a place of its own.
  struct Place {
    CompletionQueue* queue = nullptr;
    bool pushed = false;
    bool overrun = false;
    LinkedList<Place>::Node node{this};
  };
  Place& place_of(uint32_t engine) { return places_[engine]; }

 private:
  // Who pushes, once there are several. For some ten nanoseconds.
  class PushLock {
   public:
    explicit PushLock(CompletionQueue& queue) : queue_(queue.shared() ? &queue : nullptr) {
      if (queue_ != nullptr) [[unlikely]]
        while (queue_->pushing_.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~PushLock() {
      if (queue_ != nullptr) [[unlikely]]
        queue_->pushing_.clear(std::memory_order_release);
    }
    PushLock(const PushLock&) = delete;
    PushLock& operator=(const PushLock&) = delete;

   private:
    CompletionQueue* queue_;
  };

  // Between `kept` and `at` there is a gap, which moves on towards the end.
  struct Removal {
    bool under_way = false;
    Qpn qpn;
    uint64_t end = 0;   // only those before it are to go
    uint64_t kept = 0;  // those before it stay where they are
    uint64_t at = 0;    // those from it on have not been looked at
  };
  size_t poll_across_gap(std::span<Completion> out, CompletionTime* time_of_first);

  std::unique_ptr<Completion[]> ring_;
  std::unique_ptr<CompletionTime[]> times_;  // beside the ring, for those few who ask
  Clock clock_ = nullptr;
  std::unique_ptr<Place[]> places_;  // once it is shared
  uint32_t mask_;
  Removal removal_;
  std::atomic<bool> shared_{false};
  std::atomic<bool> overrun_{false};
  std::atomic_flag pushing_;
  alignas(64) std::atomic<uint64_t> tail_{0};  // written by the engine
  alignas(64) std::atomic<uint64_t> head_{0};  // written by the application
};

}  // namespace mrc
