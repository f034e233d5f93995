// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/completion_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mrc {

namespace {
// While others wait: about a burst's worth of them.
constexpr uint64_t kMovedAtOnce = 256;
}  // namespace

CompletionQueue::CompletionQueue(uint32_t entries_min)
    : ring_(new Completion[std::bit_ceil(entries_min < 1 ? 1u : entries_min)]),
      mask_(std::bit_ceil(entries_min < 1 ? 1u : entries_min) - 1) {}

void CompletionQueue::begin_removal(Qpn qpn) {
  const uint64_t head = polled();
  removal_ = {true, qpn, pushed(), head, head};
}

bool CompletionQueue::remove_some(std::span<uint64_t* const> marks) {
  const PushLock lock(*this);
  Removal& removal = removal_;
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (head > removal.kept)
    removal.kept = removal.at = std::max(removal.at, head);  // all before it was polled
  const auto move_marks = [&] {
    for (uint64_t* mark : marks)
      if (*mark == removal.at) *mark = removal.kept;
  };
  for (const uint64_t stop = std::min(tail, removal.at + kMovedAtOnce); removal.at != stop; ++removal.at) {
    move_marks();
    if (removal.at < removal.end && ring_[removal.at & mask_].qpn == removal.qpn) continue;
    if (removal.kept != removal.at) {
      ring_[removal.kept & mask_] = ring_[removal.at & mask_];
      if (times_ != nullptr) times_[removal.kept & mask_] = times_[removal.at & mask_];
    }
    ++removal.kept;
  }
  const bool nothing_moves = removal.at >= removal.end && removal.kept == removal.at;
  if (removal.at != tail && !nothing_moves) return true;
  if (!nothing_moves) {
    move_marks();
    tail_.store(removal.kept, std::memory_order_release);
  }
  removal.under_way = false;
  return false;
}

// What is in the gap is not there any more.
size_t CompletionQueue::poll_across_gap(std::span<Completion> out, CompletionTime* time_of_first) {
  uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  size_t count = 0;
  while (count < out.size()) {
    if (head == removal_.kept) head = removal_.at;
    if (head == tail) break;
    if (count == 0 && time_of_first != nullptr && times_ != nullptr) *time_of_first = times_[head & mask_];
    out[count++] = ring_[head++ & mask_];
  }
  head_.store(head, std::memory_order_release);
  return count;
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
  copied_ = std::max(copied_, queue.polled());
  const uint64_t pushed = queue.pushed();
  if (pushed - copied_ <= kMovedAtOnce) return false;
  copy(queue, copied_ + kMovedAtOnce);
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
