// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/work_queue.h"

#include <bit>

namespace mrc {

template <typename Request>
WorkQueue<Request>::WorkQueue(uint32_t entries, uint32_t extra_bytes)
    : entries_(entries),
      mask_(std::bit_ceil(entries < 1 ? 1u : entries) - 1),
      stride_((static_cast<uint32_t>(sizeof(Request)) + extra_bytes + 15u) & ~15u),
      memory_(new uint8_t[static_cast<size_t>(mask_ + 1) * stride_]()) {}

template class WorkQueue<SendRequest>;
template class WorkQueue<ReceiveRequest>;

}  // namespace mrc
