// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.R1: the requester's memory of what is outstanding: for every PSN from the oldest unacknowledged to
// the newest sent, by which path it went, when, and whether it is in flight, delivered or lost.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

#include "libmrc/containers/growing_ring.h"
#include "libmrc/path/path_set.h"
#include "libmrc/wire/cache_line.h"
#include "libmrc/wire/psn.h"
#include "libmrc/wire/time.h"

namespace mrc {

enum class PacketState : uint8_t { kInFlight, kDelivered, kLost };

struct SentPacket {
  Nanoseconds sent_at = 0;
  uint64_t order = 0;    // number of this transmission, see PathSet::next_order()
  uint64_t request = 0;  // index in the send queue
  PathId path{};
  uint16_t bytes = 0;  // payload
  PacketState state = PacketState::kDelivered;
  uint8_t transmissions = 0;
  Plane plane = 0;            // of the path
  bool suspect : 1 = false;   // the peer has reported it missing; not heard of since
  bool vanished : 1 = false;  // taken for lost, and nobody had said what became of it
  // This transmission went twice, see requester_copies.cc: so many copy_delay() later, rounded up; 0 = it did
  // not.
  uint8_t copied_after : 5 = 0;
};

// MRC 1.8, SPEC 8.3.1: the size congestion control counts: UDP length + 40, of a packet with this much
// payload. The few bytes that an immediate or pad adds are left out; what matters is that the same goes in
// and out.
constexpr uint64_t nominal_size(uint32_t payload_bytes) {
  return payload_bytes + 88;
}

class SentPackets {
 public:
  void reset(uint32_t capacity, Psn first);  // capacity: of outstanding packets, a power of two

  Psn oldest() const { return oldest_; }  // oldest that is not cumulatively acknowledged
  Psn next() const { return next_; }      // the PSN of the next new packet
  uint32_t outstanding() const { return static_cast<uint32_t>(next_ - oldest_); }
  bool full() const { return outstanding() >= limit_; }
  uint32_t room() const { return full() ? 0 : limit_ - outstanding(); }
  bool contains(Psn psn) const { return psn >= oldest_ && psn < next_; }
  // Acknowledged, but at() still tells about it.
  bool remembers(Psn psn) const {
    return psn < oldest_ && psn + static_cast<int32_t>(entries_.size()) >= next_;
  }

  uint32_t in_flight() const { return in_flight_; }
  uint64_t in_flight_bytes() const { return in_flight_bytes_; }
  uint64_t in_flight_nominal() const { return in_flight_bytes_ + in_flight_ * nominal_size(0); }
  // Also in nominal sizes.
  uint64_t in_flight_by(Plane plane) const { return in_flight_by_[plane]; }
  uint32_t lost() const { return lost_; }

  SentPacket& at(Psn psn) { return entries_.at(psn.value()); }
  const SentPacket& at(Psn psn) const { return entries_.at(psn.value()); }

  // Into the cache: where the next few are noted down.
  [[gnu::always_inline]] void fetch_next() const {
    if (entries_.empty()) return;  // it sends nothing yet
    for (int32_t i = 0; i < 16; i += 2) fetch_to_write(&at(next_ + i));
  }
  // A new packet goes out as next().
  [[gnu::always_inline]] void add(const SentPacket& packet) {
    // Not by a packet: nothing new is sent into a full window.
    assert(!full());
    make_room();
    add_with_room(packet);
  }
  // The same in two steps, for several: so many will go out. False: there is no memory for all of them.
  bool make_room_for(uint32_t packets) {
    make_room(packets);
    return packets <= room();
  }
  [[gnu::always_inline]] void add_with_room(const SentPacket& packet) {
    at(next_) = packet;
    ++next_;
    leaves(packet);
  }
  // A lost one goes out again.
  void resend(Psn psn, PathId path, Plane plane, uint64_t order, Nanoseconds now);

  // Each returns whether the packet changed its state.
  bool deliver(Psn psn) {
    SentPacket& packet = at(psn);
    if (packet.state == PacketState::kDelivered) return false;
    if (packet.state == PacketState::kInFlight)
      is_gone(packet);
    else
      --lost_;
    packet.state = PacketState::kDelivered;
    return true;
  }
  bool lose(Psn psn) {
    SentPacket& packet = at(psn);
    if (packet.state != PacketState::kInFlight) return false;
    packet.state = PacketState::kLost;
    is_gone(packet);
    ++lost_;
    if (lost_ == 1 || psn < lowest_lost_) lowest_lost_ = psn;
    return true;
  }
  // Everything up to and including `psn` has been delivered (the caller called deliver() on each).
  void advance(Psn psn) { oldest_ = psn + 1; }

  // Oldest lost packet; only when lost() > 0.
  Psn first_lost() const;

 private:
  // Twice what is outstanding, so that as much that is acknowledged is remembered.
  void make_room(uint32_t packets = 1) {
    const uint64_t wanted = std::min<uint64_t>(2 * (uint64_t{outstanding()} + packets), limit_);
    if (wanted <= entries_.size()) [[likely]]
      return;
    const Psn oldest_known = next_ - static_cast<int32_t>(entries_.size());
    // Without memory there is no more outstanding than now has a place: half of that is in use.
    if (!entries_.make_room(oldest_known.value(), wanted)) limit_ = static_cast<uint32_t>(entries_.size());
  }
  void leaves(const SentPacket& packet) {
    ++in_flight_;
    in_flight_bytes_ += packet.bytes;
    in_flight_by_[packet.plane] += nominal_size(packet.bytes);
  }
  void is_gone(const SentPacket& packet) {
    --in_flight_;
    in_flight_bytes_ -= packet.bytes;
    in_flight_by_[packet.plane] -= nominal_size(packet.bytes);
  }

  GrowingRing<SentPacket> entries_;
  uint32_t limit_ = 0;
  Psn oldest_;
  Psn next_;
  mutable Psn lowest_lost_;  // no lost packet is below it; moves up when it is looked for
  uint32_t in_flight_ = 0;
  uint32_t lost_ = 0;
  uint64_t in_flight_bytes_ = 0;
  std::array<uint64_t, kPlanesMax> in_flight_by_{};
};

}  // namespace mrc
