// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/frame_gate.h"

#include "dpdk_io/host/slot_number.h"
#include "dpdk_io/wire/frame_filter.h"

namespace mrc {
namespace {

constexpr Nanoseconds kBelieve = 10 * kMillisecond;  // addresses come and go
constexpr uint8_t kGroupBit = 1;

}  // namespace

bool FrameGate::lets_out(uint32_t slot, Plane plane, std::span<const uint8_t> frame, Nanoseconds now) {
  const auto sources = sources_of(frame);
  // To a group only what is for all of it.
  if (!sources || ((frame[0] & kGroupBit) != 0 && !destination_slot(frame))) return false;
  if (sources->outer && rules_.outer_source(plane) != sources->outer) return false;
  if (sources->qpn && slot_of(*sources->qpn) != slot && slot_of(*sources->qpn) != 0) return false;
  return is_local(sources->address, now);
}

bool FrameGate::is_local(const IpAddress& address, Nanoseconds now) {
  if (now < known_until_ && address == known_) return true;
  if (!rules_.is_local(address)) return false;
  known_ = address;
  known_until_ = now + kBelieve;
  return true;
}

}  // namespace mrc
