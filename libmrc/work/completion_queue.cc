// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/completion_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mrc {

namespace {
// While a ring is replaced, about a burst's worth of them.
constexpr uint64_t kCopiedAtOnce = 256;
}  // namespace

CompletionQueue::CompletionQueue(uint32_t entries_min)
    : ring_(new Completion[std::bit_ceil(entries_min < 1 ? 1u : entries_min)]),
      mask_(std::bit_ceil(entries_min < 1 ? 1u : entries_min) - 1) {}

void CompletionQueue::remove(Qpn qpn) {
  const PushLock lock(*this);
  ++removals_;
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

void CompletionQueue::share(uint32_t engines) {
  std::unique_ptr<Place[]> places(new Place[engines]);
  for (uint32_t i = 0; i < engines; ++i) places[i].queue = this;
  places_ = std::move(places);
  shared_.store(true, std::memory_order_relaxed);
}

CompletionQueue::Resizing::Resizing(const CompletionQueue& queue, uint32_t entries_min)
    : mask_(std::bit_ceil(entries_min < 1 ? 1u : entries_min) - 1) {
  ring_.reset(new Completion[size_t{mask_} + 1]);
  if (queue.times_ != nullptr) times_.reset(new CompletionTime[size_t{mask_} + 1]);
}

bool CompletionQueue::Resizing::take_some(const CompletionQueue& queue) {
  // Others have moved up since: they are somewhere else now.
  if (removals_ != queue.removals_) copied_ = 0;
  removals_ = queue.removals_;
  copied_ = std::max(copied_, queue.polled());
  const uint64_t pushed = queue.pushed();
  if (pushed - copied_ <= kCopiedAtOnce) return false;
  copy(queue, copied_ + kCopiedAtOnce);
  return true;
}

// What does not fit takes the place of older ones, and finish() refuses.
void CompletionQueue::Resizing::copy(const CompletionQueue& queue, uint64_t end) {
  for (; copied_ != end; ++copied_) {
    ring_[copied_ & mask_] = queue.ring_[copied_ & queue.mask_];
    if (times_ != nullptr) times_[copied_ & mask_] = queue.times_[copied_ & queue.mask_];
  }
}

bool CompletionQueue::finish(Resizing& resizing) {
  const PushLock lock(*this);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - polled() > resizing.mask_ + uint64_t{1}) return false;
  if (resizing.removals_ != removals_) resizing.copied_ = 0;
  resizing.copied_ = std::max(resizing.copied_, polled());
  resizing.copy(*this, tail);
  std::swap(ring_, resizing.ring_);
  std::swap(times_, resizing.times_);
  std::swap(mask_, resizing.mask_);
  return true;
}

void CompletionQueue::keep_times(Clock clock) {
  times_.reset(new CompletionTime[capacity()]);
  clock_ = clock;
}

}  // namespace mrc
