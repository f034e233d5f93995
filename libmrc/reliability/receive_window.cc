// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/reliability/receive_window.h"

#include <algorithm>
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
  cumulative_ = highest_ = lowest_unreported_ = next_again_ = first - 1;
  held_ = 0;
}

ReceiveWindow::Report ReceiveWindow::report() {
  if (held_ == 0) return {1, 0};
  // MRC 3.2: from the lowest packet not yet told of, but not so far up that the bitmap would stand empty.
  if (lowest_unreported_ <= cumulative_) return report_again();
  return report_from(std::min(lowest_unreported_, last_base()));
}

// A SACK that was lost told of packets that no other one told of. So all are told again, part by part.
ReceiveWindow::Report ReceiveWindow::report_again() {
  if (next_again_ <= cumulative_ || next_again_ > highest_) next_again_ = expected();
  const Psn base = std::min(next_again_, last_base());
  next_again_ = base + kBitmapBits;
  return report_from(base);
}

Psn ReceiveWindow::last_base() const {
  const Psn base = highest_ - (kBitmapBits - 1);
  return base > cumulative_ ? base : expected();
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
