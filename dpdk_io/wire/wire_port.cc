// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/wire_port.h"

#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/wire/frame_filter.h"
#include "libmrc/wire/ethernet.h"

namespace mrc {

bool WirePort::resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) {
  if (in_forked_child()) return false;
  if (destination.is_multicast() && destination_qpn == kMulticastQpn) {
    *next_hop = group_mac(destination);
    return true;
  }
  if (destination.is_multicast() || config_.is_local(destination))
    return local_.resolve(destination, destination_qpn, next_hop);
  // Whoever asks QP 1 makes us look for him.
  constexpr Qpn kGeneralService{1};
  return resolve_wire(destination, destination_qpn == kGeneralService ? NextHops::kAskersMax : NextHops::kMax,
                      next_hop);
}

bool WirePort::resolve_back(const IpAddress& source, const MacAddress& heard_from, MacAddress* next_hop) {
  if (in_forked_child()) return false;
  if (source.is_multicast()) return false;  // nobody is: not to be made to answer many
  if (is_same_host(heard_from)) return local_.resolve_back(source, heard_from, next_hop);
  return resolve_wire(source, NextHops::kStrangersMax, next_hop);
}

bool WirePort::resolve_wire(const IpAddress& destination, uint32_t most, MacAddress* next_hop) {
  bool added = false;
  const auto number = next_hops_.number_of(destination, most, &added);
  if (added) config_.wanted();
  if (!number || !next_hops_.known(*number)) return false;
  *next_hop = NextHops::handle(*number);
  return true;
}

// Station addresses mean processes of this host: nobody on the wire has one.
bool WirePort::takes(const uint8_t* frame, uint32_t length) const {
  if (frame_is_for(config_.own_slot, {frame, length})) return !is_same_host(frame + 6);
  return hears_all_.load(std::memory_order_relaxed) && length >= kEthernetBytes && !is_same_host(frame + 6) &&
         !destination_slot({frame, length});
}

}  // namespace mrc
