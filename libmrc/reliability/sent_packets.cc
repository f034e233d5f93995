// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/reliability/sent_packets.h"

#include <bit>

namespace mrc {

void SentPackets::reset(uint32_t capacity, Psn first) {
  // Not by a packet: sizes come from the settings.
  assert(std::has_single_bit(capacity));
  entries_.clear();
  limit_ = capacity;
  oldest_ = next_ = lowest_lost_ = first;
  in_flight_ = lost_ = 0;
  in_flight_bytes_ = 0;
  in_flight_by_ = {};
  entries_.make_first();
}

void SentPackets::resend(Psn psn, PathId path, Plane plane, uint64_t order, Nanoseconds now) {
  SentPacket& packet = at(psn);
  // Not by a packet: only first_lost() is sent again.
  assert(packet.state == PacketState::kLost);
  packet.state = PacketState::kInFlight;
  packet.path = path;
  packet.plane = plane;
  packet.order = order;
  packet.sent_at = now;
  packet.copied_after = 0;
  if (packet.transmissions < UINT8_MAX) ++packet.transmissions;
  --lost_;
  leaves(packet);
}

Psn SentPackets::first_lost() const {
  // Not by a packet: callers look at lost() first, and states change by deliver() and lose() alone.
  assert(lost_ > 0);
  if (lowest_lost_ < oldest_) lowest_lost_ = oldest_;
  while (at(lowest_lost_).state != PacketState::kLost) ++lowest_lost_;
  return lowest_lost_;
}

}  // namespace mrc
