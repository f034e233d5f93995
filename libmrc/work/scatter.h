// SPDX-License-Identifier: BSD-2-Clause
// Copies between a list of segments and packets: payload into a receive or READ buffer, at an offset of the
// message.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/memory/memory_table.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

// False: a segment is not registered for writing, or the list is too short. Nothing outside the list is
// touched.
bool scatter(const MemoryTable& memory, const Accessor& domain, std::span<const Segment> segments,
             uint64_t offset, std::span<const uint8_t> payload);

uint64_t total_bytes(std::span<const Segment> segments);

}  // namespace mrc
