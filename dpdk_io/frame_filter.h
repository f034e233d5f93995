// SPDX-License-Identifier: BSD-2-Clause
// Several processes share an interface, and each sees every frame that arrives there. Which of them are a
// process's own: those to a QP number of its slot, and those to QPN 1 and 2, which are everybody's.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <vector>

namespace mrc {

bool frame_is_for(uint32_t slot, std::span<const uint8_t> frame);

// The same for the kernel (classic BPF), so that it copies only those. Lets through what only frame_is_for()
// can decide: frames with a segment routing header.
std::vector<sock_filter> kernel_filter(uint32_t slot);

}  // namespace mrc
