// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/mrc/write_order.h"

#include <algorithm>
#include <array>
#include <new>

#include "libmrc/memory/place_bytes.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

// A bit for every byte of a packet.
using Taken = std::array<uint64_t, kMtuMax / 64>;

// Sets the bits from `begin` to `end`, a word at a time.
void take(Taken& taken, size_t begin, size_t end) {
  for (size_t word = begin / 64; word * 64 < end; ++word) {
    const size_t low = std::max(begin, word * 64) - word * 64;
    const size_t high = std::min(end - word * 64, size_t{64});
    const uint64_t below_high = high == 64 ? ~uint64_t{0} : (uint64_t{1} << high) - 1;
    taken[word] |= below_high & ~((uint64_t{1} << low) - 1);
  }
}

}  // namespace

void WriteOrder::reset() {
  written_.clear();
  newest_.assign(newest_.size(), Psn{});
}

bool WriteOrder::grow(const ReceiveWindow& window, Psn psn) noexcept {
  if (newest_.empty()) {
    try {
      newest_.resize(kPageSets);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  return written_.make_room(window.expected().value(), static_cast<uint64_t>(psn - window.expected()) + 1);
}

void WriteOrder::place_part(const ReceiveWindow& window, Psn psn, uint8_t* to,
                            std::span<const uint8_t> payload) {
  if (psn < window.highest() && may_be_overwritten(window.highest(), psn, to, payload.size()))
    copy_rest(window, psn, to, payload);
  else
    place_bytes(to, payload.data(), payload.size());
}

// What is left in newest_ from long ago, or from the start, is above everything that has come: PSNs wrap.
bool WriteOrder::is_later(Psn newest, Psn psn, Psn highest) {
  return newest > psn && newest <= highest;
}

// What is left from 2^24 PSNs ago may look new for a moment; then copy_rest finds nothing.
bool WriteOrder::may_be_overwritten(Psn highest, Psn psn, const uint8_t* to, size_t bytes) const {
  if (newest_.empty()) return false;
  for (uint64_t page = page_of(to); page <= page_of(to + bytes - 1); ++page)
    if (is_later(newest_[set_of(page)], psn, highest)) return true;
  return false;
}

void WriteOrder::remember(Psn highest, Psn psn, uint8_t* to, size_t bytes) {
  written_.at(psn.value()) = {to, static_cast<uint32_t>(bytes)};
  for (uint64_t page = page_of(to); page <= page_of(to + bytes - 1); ++page) {
    Psn& newest = newest_[set_of(page)];
    if (!is_later(newest, psn, highest)) newest = psn;
  }
}

void WriteOrder::copy_rest(const ReceiveWindow& window, Psn psn, uint8_t* to,
                           std::span<const uint8_t> payload) {
  ++careful_;
  Taken taken{};
  // Those above have written nothing, or they had a place.
  const Psn last_place = window.expected() + static_cast<int32_t>(written_.size() - 1);
  const Psn last = window.highest() < last_place ? window.highest() : last_place;
  for (Psn later = psn + 1; later <= last; ++later) {
    if (!window.holds(later)) continue;
    const Written& written = written_.at(later.value());
    const uint8_t* const begin = std::max<const uint8_t*>(written.to, to);
    const uint8_t* const end = std::min<const uint8_t*>(written.to + written.bytes, to + payload.size());
    if (begin >= end) continue;
    // Whoever writes one buffer again and again writes all of it.
    if (end - begin == static_cast<ptrdiff_t>(payload.size())) return;
    take(taken, static_cast<size_t>(begin - to), static_cast<size_t>(end - to));
  }
  for (size_t at = 0; at < payload.size(); at += 64) {
    const uint64_t bits = taken[at / 64];
    const size_t bytes = std::min<size_t>(64, payload.size() - at);
    if (bits == 0)
      place_bytes(to + at, payload.data() + at, bytes);
    else
      for (size_t i = 0; i < bytes; ++i)
        if ((bits >> i & 1) == 0) to[at + i] = payload[at + i];
  }
}

}  // namespace mrc
