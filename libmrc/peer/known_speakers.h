// SPDX-License-Identifier: BSD-2-Clause
// Which programs behind the address of a peer have said lately that they speak the extension. A program has
// the QPNs of a group, and what one of its queue pairs was told holds for the next ones too, so they need not
// ask.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class KnownSpeakers {
 public:
  bool speaks(Qpn qpn, Nanoseconds now) const {
    for (const Heard& heard : heard_)
      if (heard.group == group_of(qpn) && heard.at != kNever && now - heard.at < kFresh) return true;
    return false;
  }
  void hear(Qpn qpn, Nanoseconds now) {
    Heard* to = &heard_[0];
    for (Heard& heard : heard_) {
      if (heard.at == kNever || heard.group == group_of(qpn)) {
        to = &heard;
        break;
      }
      if (heard.at < to->at) to = &heard;
    }
    *to = {group_of(qpn), now};
  }
  // It was believed and does not answer: perhaps there is another program now.
  void forget(Qpn qpn) {
    for (Heard& heard : heard_)
      if (heard.group == group_of(qpn)) heard.at = kNever;
  }

 private:
  static constexpr Nanoseconds kFresh = 10 * kSecond;
  struct Heard {
    uint32_t group = 0;
    Nanoseconds at = kNever;
  };
  static constexpr uint32_t group_of(Qpn qpn) { return qpn.value() >> kQpnGroupBits; }

  std::array<Heard, 8> heard_;
};

}  // namespace mrc
