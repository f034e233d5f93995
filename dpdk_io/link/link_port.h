// SPDX-License-Identifier: BSD-2-Clause
// One plane of the same-host links as a port of the engine. The station address says slot and plane, and with
// them the process.
#pragma once

#include <vector>

#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/link/host_link.h"
#include "libmrc/port/port.h"
#include "libmrc/port/station.h"

namespace mrc {

class LinkPort final : public Port {
 public:
  LinkPort(LinkState& state, HostLink& link, Plane plane) : state_(state), link_(link), plane_(plane) {}

  MacAddress address() const override { return station_of(state_.own_slot, plane_); }
  bool link_up() const override {
    return state_.faults->planes[plane_].load(std::memory_order_relaxed) != PlaneFault::kLinkDown;
  }
  bool resolve(const IpAddress&, Qpn destination_qpn, MacAddress* next_hop) override {
    const uint32_t slot = slot_of(destination_qpn);
    if (slot == 0 || destination_qpn == kMulticastQpn || in_forked_child()) return false;
    *next_hop = station_of(slot, plane_);
    if (slot != state_.own_slot) link_.want_link(slot);
    return true;
  }
  // A link leads to one process, and its frames come from nobody else.
  bool resolve_back(const IpAddress&, const MacAddress& heard_from, MacAddress* next_hop) override {
    *next_hop = heard_from;
    return true;
  }
  void find_members_here(const IpAddress& group, std::vector<Qpn>* members) override {
    state_.groups->for_each_member(group, [&](uint32_t slot) { members->push_back(first_qpn_of(slot)); });
  }
  Carrier* wire() override { return nullptr; }
  Carrier* same_host() override { return &link_; }

 private:
  LinkState& state_;
  HostLink& link_;
  const Plane plane_;
};

}  // namespace mrc
