// SPDX-License-Identifier: BSD-2-Clause
// Copies a payload to where a program may be looking at the same time. A NIC stores every byte once, and
// programs rely on it: who sees the data and writes there at once must not be undone by a second store, as
// memcpy may make one where its blocks overlap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc {

// Every byte is stored once, in increasing order, by stores that are aligned by nature: what is a word there
// never shows half of it. The last one is seen after all others.
void place_bytes(uint8_t* to, const uint8_t* from, size_t bytes);

}  // namespace mrc
