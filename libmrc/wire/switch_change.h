// SPDX-License-Identifier: BSD-2-Clause
// What switches change in a frame on its way: the mark of congestion, and cutting it short. They look at the
// outermost IP header only. For the simulator's switches and for faults that are injected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc {

inline constexpr size_t kTrimmedBytes = 128;  // MRC 7 [P]: what is left of a trimmed frame

// The byte with DSCP and ECN. False: the frame has no whole IP header.
[[nodiscard]] bool read_traffic_class(std::span<const uint8_t> frame, uint8_t* value);
[[nodiscard]] bool write_traffic_class(std::span<uint8_t> frame, uint8_t value);

// Sets CE. False: the packet is not ECN-capable, or no IP.
[[nodiscard]] bool mark_congestion(std::span<uint8_t> frame);

// Cuts a frame that is longer to kTrimmedBytes, sets the lengths of the outermost IP header (and of UDP right
// behind it) and the class. False: nothing was changed, for it is no IP or not longer.
[[nodiscard]] bool trim_frame(std::span<uint8_t> frame, uint8_t dscp);

}  // namespace mrc
