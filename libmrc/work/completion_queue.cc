// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/completion_queue.h"

#include <bit>
#include <utility>

namespace mrc {

CompletionQueue::CompletionQueue(uint32_t entries_min)
    : ring_(new Completion[std::bit_ceil(entries_min < 1 ? 1u : entries_min)]),
      mask_(std::bit_ceil(entries_min < 1 ? 1u : entries_min) - 1) {}

void CompletionQueue::remove(Qpn qpn) {
  const PushLock lock(*this);
  uint64_t kept = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  for (uint64_t at = kept; at != tail; ++at) {
    if (ring_[at & mask_].qpn == qpn) continue;
    ring_[kept & mask_] = ring_[at & mask_];
    if (times_ != nullptr) times_[kept & mask_] = times_[at & mask_];
    ++kept;
  }
  tail_.store(kept, std::memory_order_release);
}

bool CompletionQueue::resize(uint32_t entries_min) {
  const uint32_t entries = std::bit_ceil(entries_min < 1 ? 1u : entries_min);
  std::unique_ptr<Completion[]> ring(new Completion[entries]);
  std::unique_ptr<CompletionTime[]> times(times_ != nullptr ? new CompletionTime[entries] : nullptr);
  const PushLock lock(*this);
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - head > entries) return false;
  for (uint64_t at = head; at != tail; ++at) {
    ring[at & (entries - 1)] = ring_[at & mask_];
    if (times != nullptr) times[at & (entries - 1)] = times_[at & mask_];
  }
  ring_ = std::move(ring);
  times_ = std::move(times);
  mask_ = entries - 1;
  return true;
}

void CompletionQueue::keep_times(Clock clock) {
  times_.reset(new CompletionTime[capacity()]);
  clock_ = clock;
}

}  // namespace mrc
