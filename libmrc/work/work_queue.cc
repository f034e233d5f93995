// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/work_queue.h"

#include <bit>
#include <utility>

namespace mrc {

template <typename Request>
WorkQueue<Request>::WorkQueue(uint32_t entries, uint32_t extra_bytes)
    : entries_(entries),
      mask_(std::bit_ceil(entries < 1 ? 1u : entries) - 1),
      stride_((static_cast<uint32_t>(sizeof(Request)) + extra_bytes + 15u) & ~15u),
      memory_(new uint8_t[static_cast<size_t>(mask_ + 1) * stride_]()) {}

template <typename Request>
bool WorkQueue<Request>::resize(uint32_t entries) {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - head > entries) return false;
  const uint32_t mask = std::bit_ceil(entries < 1 ? 1u : entries) - 1;
  std::unique_ptr<uint8_t[]> memory(new uint8_t[static_cast<size_t>(mask + 1) * stride_]());
  for (uint64_t at = head; at != tail; ++at)
    std::memcpy(memory.get() + (at & mask) * stride_, slot(at), stride_);
  memory_ = std::move(memory);
  mask_ = mask;
  entries_ = entries;
  return true;
}

template class WorkQueue<SendRequest>;
template class WorkQueue<ReceiveRequest>;

}  // namespace mrc
