// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/write_order.h"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "libmrc/wire/frame.h"

namespace mrc {

void WriteOrder::reset(uint32_t window_packets) {
  mask_ = window_packets - 1;
  written_.assign(window_packets, Written{});
  newest_ = {};
}

void WriteOrder::place(const ReceiveWindow& window, Psn psn, uint8_t* to, std::span<const uint8_t> payload) {
  if (psn < window.highest() && may_be_overwritten(psn, to, payload.size()))
    copy_rest(window, psn, to, payload);
  else
    std::memcpy(to, payload.data(), payload.size());
  // Without a gap below it nothing can come that is older.
  if (psn != window.expected()) remember(psn, to, payload.size());
}

// What is left in newest_ from long ago may look new once PSNs have wrapped; then copy_rest finds nothing.
bool WriteOrder::may_be_overwritten(Psn psn, const uint8_t* to, size_t bytes) const {
  for (uint64_t page = page_of(to); page <= page_of(to + bytes - 1); ++page)
    if (newest_[set_of(page)] > psn) return true;
  return false;
}

void WriteOrder::remember(Psn psn, uint8_t* to, size_t bytes) {
  written_[psn.value() & mask_] = {to, static_cast<uint32_t>(bytes)};
  for (uint64_t page = page_of(to); page <= page_of(to + bytes - 1); ++page) {
    Psn& newest = newest_[set_of(page)];
    newest = std::max(newest, psn);
  }
}

void WriteOrder::copy_rest(const ReceiveWindow& window, Psn psn, uint8_t* to,
                           std::span<const uint8_t> payload) const {
  std::bitset<kMtuMax> taken;
  for (Psn later = psn + 1; later <= window.highest(); ++later) {
    if (!window.holds(later)) continue;
    const Written& written = written_[later.value() & mask_];
    const uint8_t* const begin = std::max<const uint8_t*>(written.to, to);
    const uint8_t* const end = std::min<const uint8_t*>(written.to + written.bytes, to + payload.size());
    for (const uint8_t* at = begin; at < end; ++at) taken.set(static_cast<size_t>(at - to));
  }
  for (size_t i = 0; i < payload.size(); ++i)
    if (!taken[i]) to[i] = payload[i];
}

}  // namespace mrc
