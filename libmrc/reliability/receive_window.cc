// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/reliability/receive_window.h"

#include <bit>
#include <cassert>

namespace mrc {

namespace {
constexpr int32_t kBitmapBits = 64;
}

void ReceiveWindow::reset(uint32_t capacity, Psn first) {
  // Not by a packet: sizes come from the settings.
  assert(std::has_single_bit(capacity) && capacity >= kBitmapBits);
  passing_.assign(capacity, kNothing);
  mask_ = capacity - 1;
  cumulative_ = highest_ = lowest_unreported_ = first - 1;
  held_ = 0;
}

ReceiveWindow::Report ReceiveWindow::report() {
  if (held_ == 0) return {1, 0};
  // MRC 3.2: from the lowest packet not yet told of, but not so far up that the bitmap would stand empty.
  Psn base = lowest_unreported_ > cumulative_ ? lowest_unreported_ : expected();
  const Psn last_useful = highest_ - (kBitmapBits - 1);
  if (base > last_useful) base = last_useful > cumulative_ ? last_useful : expected();
  return report_from(base);
}

ReceiveWindow::Report ReceiveWindow::report_from(Psn base) {
  if (base <= cumulative_) base = expected();
  uint64_t bitmap = 0;
  for (int32_t i = 0; i < kBitmapBits && base + i <= highest_; ++i)
    if (passing_[(base + i).value() & mask_] != kNothing) bitmap |= uint64_t{1} << i;
  const Psn end = base + kBitmapBits;
  if (base <= lowest_unreported_ && end > lowest_unreported_) {
    // Told up to here; the next report starts at the first packet behind it.
    Psn next = end;
    while (next <= highest_ && passing_[next.value() & mask_] == kNothing) ++next;
    lowest_unreported_ = next <= highest_ ? next : cumulative_;
  }
  return {static_cast<int16_t>(base - cumulative_), bitmap};
}

}  // namespace mrc
