// SPDX-License-Identifier: BSD-2-Clause
// What the programs behind the address of a peer have said lately of the extension. A program has the QPNs of
// a group, and what one of its queue pairs was told holds for the others too, so they need not ask. No word
// is believed for good: another program may have its numbers by then.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "libmrc/peer/peer_extension.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class KnownSpeakers {
 public:
  // What is believed of it now; kUnknown: it is to be asked.
  PeerExtension word_of(Qpn qpn, Nanoseconds now) const {
    const Heard* heard = find(qpn);
    return heard != nullptr && now < heard->until ? heard->word : PeerExtension::kUnknown;
  }
  // Until when its last word is, or was.
  Nanoseconds believed_until(Qpn qpn) const {
    const Heard* heard = find(qpn);
    return heard != nullptr ? heard->until : 0;
  }
  // It has answered that. kUnanswered: it was waited for in vain. Who refuses again when it is asked again is
  // believed for twice as long as before.
  void hear(Qpn qpn, PeerExtension word, Nanoseconds now) {
    Heard& heard = place_for(qpn);
    const bool speaks = word == PeerExtension::kSupported;
    const bool again = heard.word != PeerExtension::kUnknown && heard.word != PeerExtension::kSupported;
    if (!speaks && again && word == heard.word && now < heard.until) return;  // several have asked
    heard.refusal = again && !speaks ? std::min(2 * heard.refusal, kRefusalMax) : kRefusalMin;
    heard.word = word;
    heard.until = now + (speaks ? kFresh : heard.refusal);
  }
  // It was believed and does not answer: perhaps there is another program now.
  void forget(Qpn qpn) {
    for (Heard& heard : heard_)
      if (heard.group == group_of(qpn)) heard = {};
  }

 private:
  static constexpr Nanoseconds kFresh = 10 * kSecond;
  static constexpr Nanoseconds kRefusalMin = kSecond;
  static constexpr Nanoseconds kRefusalMax = 8 * kSecond;
  struct Heard {
    uint32_t group = 0;
    PeerExtension word = PeerExtension::kUnknown;  // nothing
    Nanoseconds until = 0;
    Nanoseconds refusal = kRefusalMin;  // for how long the last one is believed
  };
  static constexpr uint32_t group_of(Qpn qpn) { return qpn.value() >> kQpnGroupBits; }

  const Heard* find(Qpn qpn) const {
    for (const Heard& heard : heard_)
      if (heard.word != PeerExtension::kUnknown && heard.group == group_of(qpn)) return &heard;
    return nullptr;
  }
  // Its own, else an empty one, else that of the word which is over first.
  Heard& place_for(Qpn qpn) {
    Heard* to = &heard_[0];
    for (Heard& heard : heard_) {
      if (heard.word != PeerExtension::kUnknown && heard.group == group_of(qpn)) return heard;
      if (heard.until < to->until) to = &heard;
    }
    *to = {};
    to->group = group_of(qpn);
    return *to;
  }

  std::array<Heard, 8> heard_;
};

}  // namespace mrc
