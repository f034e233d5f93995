// SPDX-License-Identifier: BSD-2-Clause
// A ring of completions. The engine pushes (one thread at a time, under the device's lock); the application
// polls (one thread at a time, under the queue's lock of the caller's). The two sides need no common lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

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

class CompletionQueue {
 public:
  explicit CompletionQueue(uint32_t entries_min);

  uint32_t capacity() const { return mask_ + 1; }

  // --- engine side ---
  // False: the queue is full; the completion is lost and the queue is in error for good.
  bool push(const Completion& completion) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) {
      overrun_.store(true, std::memory_order_relaxed);
      return false;
    }
    ring_[tail & mask_] = completion;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // --- application side ---
  size_t poll(std::span<Completion> out) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    size_t count = 0;
    while (count < out.size() && head != tail) out[count++] = ring_[head++ & mask_];
    if (count > 0) head_.store(head, std::memory_order_release);
    return count;
  }
  bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
  }
  bool overrun() const { return overrun_.load(std::memory_order_relaxed); }
  // How many completions were ever pushed and polled: their order is the queue's.
  uint64_t pushed() const { return tail_.load(std::memory_order_acquire); }
  uint64_t polled() const { return head_.load(std::memory_order_relaxed); }

  // --- both sides locked out by the caller ---
  // Drops the completions of a queue pair that is being destroyed.
  void remove(Qpn qpn);
  // False if more are waiting than would fit.
  bool resize(uint32_t entries_min);
  // Completion number n in [polled(), pushed()), for event arming.
  const Completion& peek(uint64_t n) const { return ring_[n & mask_]; }

  void* owner = nullptr;  // the caller's object for this queue; handed back in events

 private:
  std::unique_ptr<Completion[]> ring_;
  uint32_t mask_;
  std::atomic<bool> overrun_{false};
  alignas(64) std::atomic<uint64_t> tail_{0};  // written by the engine
  alignas(64) std::atomic<uint64_t> head_{0};  // written by the application
};

}  // namespace mrc
