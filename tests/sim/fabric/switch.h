// SPDX-License-Identifier: BSD-2-Clause
// A switch of a Clos network: decides by which channel a frame leaves. Frames with an SRv6 outer header
// follow their uSIDs by a static table; all others go down to the host they name or up by a hash of their
// flow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libmrc/wire/identifiers.h"
#include "tests/sim/core/frame_pool.h"
#include "tests/sim/core/trace.h"

namespace mrc::sim {

enum class Tier : uint8_t { kLeaf, kSpine, kCore };  // a spine is the aggregation switch of three tiers

inline constexpr uint32_t kNoChannel = UINT32_MAX;

class Switch {
 public:
  Switch(Tier tier, Plane plane, uint32_t index, uint16_t usid, uint64_t salt);

  Tier tier() const { return tier_; }
  Plane plane() const { return plane_; }
  uint32_t index() const { return index_; }
  uint16_t usid() const { return usid_; }
  std::string name() const;

  // Set-up. Hosts [first, first + count) are below; `per_port` of them behind each down channel, in order.
  void set_hosts(uint32_t first, uint32_t count, uint32_t per_port);
  void add_down(uint32_t channel) { down_.push_back(channel); }
  void add_up(uint32_t channel) {
    up_.push_back(channel);
    live_up_.push_back(channel);
  }
  void add_usid(uint16_t usid, uint32_t channel);
  const std::vector<uint32_t>& up() const { return up_; }
  const std::vector<uint32_t>& down() const { return down_; }

  // The hash leaves this channel out from now on, or takes it in again.
  void withdraw(uint32_t channel, bool gone);

  // Where the frame goes next. kNoChannel: nowhere; *fate says why.
  uint32_t route(Frame* frame, Fate* fate) const;

 private:
  struct UsidRoute {
    uint16_t usid;
    uint32_t channel;
  };
  uint32_t route_usid(Frame* frame) const;
  uint32_t route_host(const Frame& frame) const;

  Tier tier_;
  Plane plane_;
  uint32_t index_;
  uint16_t usid_;
  uint64_t salt_;
  uint32_t first_host_ = 0;
  uint32_t host_count_ = 0;
  uint32_t hosts_per_port_ = 1;
  std::vector<uint32_t> down_;
  std::vector<uint32_t> up_;
  std::vector<uint32_t> live_up_;
  std::vector<UsidRoute> usids_;  // sorted
};

}  // namespace mrc::sim
