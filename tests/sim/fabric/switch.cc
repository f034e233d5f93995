// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/fabric/switch.h"

#include <algorithm>

#include "libmrc/wire/srv6.h"
#include "tests/sim/core/frame_headers.h"
#include "tests/sim/core/random.h"

namespace mrc::sim {

namespace {
constexpr const char* kTierName[] = {"leaf", "spine", "core"};
}  // namespace

Switch::Switch(Tier tier, Plane plane, uint32_t index, uint16_t usid, uint64_t salt)
    : tier_(tier), plane_(plane), index_(index), usid_(usid), salt_(salt) {}

std::string Switch::name() const {
  return "p" + std::to_string(plane_) + "." + kTierName[static_cast<size_t>(tier_)] + std::to_string(index_);
}

void Switch::set_hosts(uint32_t first, uint32_t count, uint32_t per_port) {
  first_host_ = first;
  host_count_ = count;
  hosts_per_port_ = per_port;
}

void Switch::add_usid(uint16_t usid, uint32_t channel) {
  const auto at = std::lower_bound(usids_.begin(), usids_.end(), usid,
                                   [](const UsidRoute& route, uint16_t value) { return route.usid < value; });
  usids_.insert(at, {usid, channel});
}

void Switch::withdraw(uint32_t channel, bool gone) {
  if (std::find(up_.begin(), up_.end(), channel) == up_.end()) return;
  std::erase(live_up_, channel);
  if (!gone) live_up_.push_back(channel);
  std::sort(live_up_.begin(), live_up_.end());
}

uint32_t Switch::route(Frame* frame, Fate* fate) const {
  *fate = Fate::kDropNoRoute;
  if (!frame->readable) return kNoChannel;
  const uint32_t channel = frame->srv6 ? route_usid(frame) : route_host(*frame);
  if (channel == kNoChannel) return kNoChannel;
  if (!decrement_hop_limit(frame)) {
    *fate = Fate::kDropHopLimit;
    return kNoChannel;
  }
  return channel;
}

// MRC 6: match the own uSID, shift, look the next one up.
uint32_t Switch::route_usid(Frame* frame) const {
  if (first_usid(*frame) == usid_ && !shift_usids(frame)) return kNoChannel;
  const uint16_t next = first_usid(*frame);
  const auto at = std::lower_bound(usids_.begin(), usids_.end(), next,
                                   [](const UsidRoute& route, uint16_t value) { return route.usid < value; });
  return at != usids_.end() && at->usid == next ? at->channel : kNoChannel;
}

uint32_t Switch::route_host(const Frame& frame) const {
  const uint32_t place = frame.destination - first_host_;  // wraps: then it is not below
  if (place < host_count_) return down_[place / hosts_per_port_];
  if (frame.destination == kNoHost || live_up_.empty()) return kNoChannel;
  return live_up_[mix(frame.flow_hash ^ salt_) % live_up_.size()];
}

}  // namespace mrc::sim
