// SPDX-License-Identifier: BSD-2-Clause
// One plane that leads to other hosts, as a port of the engine: next hops, the state of its link, who answers
// strangers. Frames to this host itself go by the same-host links. What carries its frames is the affair of
// EthdevPort and SharedPort.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/link/link_port.h"
#include "dpdk_io/wire/next_hops.h"
#include "libmrc/port/port.h"
#include "libmrc/port/station.h"

namespace mrc {

class WirePort : public Port {
 public:
  struct Config {
    Plane plane;
    uint32_t own_slot;
    const FaultPage& faults;
    std::function<bool(const IpAddress&)> is_local;
    std::function<void()> wanted;  // a destination has been added to next_hops()
  };
  // What is given outlives the port, but for the configuration.
  WirePort(LinkPort& local, const Config& config) : local_(local), config_(config) {}

  bool link_up() const override { return local_.link_up() && wire_up(); }
  bool resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) override;
  bool resolve_back(const IpAddress& source, const MacAddress& heard_from, MacAddress* next_hop) override;
  void find_members_here(const IpAddress& group, std::vector<Qpn>* members) override {
    local_.find_members_here(group, members);
  }
  bool speaks_for_host(const MacAddress& heard_from) const override {
    return is_same_host(heard_from) || has_voice_.load(std::memory_order_relaxed);
  }
  Carrier* same_host() override { return local_.same_host(); }

  // --- the data path ---
  PlaneFault fault() const { return config_.faults.planes[config_.plane].load(std::memory_order_relaxed); }
  bool wire_up() const { return wire_up_.load(std::memory_order_relaxed); }
  // Whether what has come from the wire is for this process.
  bool takes(const uint8_t* frame, uint32_t length) const;
  // Puts the neighbour's address, which may have changed, in the place of its number. False: not known now.
  bool write_next_hop(uint8_t* frame) const {
    return !NextHops::is_handle(frame) || next_hops_.write_mac(NextHops::number_in(frame), frame);
  }

  // --- the control loop ---
  NextHops& next_hops() { return next_hops_; }
  void set_wire_up(bool up) { wire_up_.store(up, std::memory_order_relaxed); }
  // Whether frames that are none of RoCE are taken, too.
  void set_hears_all(bool wanted) { hears_all_.store(wanted, std::memory_order_relaxed); }
  void set_voice(bool ours) { has_voice_.store(ours, std::memory_order_relaxed); }

 private:
  bool resolve_wire(const IpAddress& destination, uint32_t most, MacAddress* next_hop);

  LinkPort& local_;
  const Config config_;
  NextHops next_hops_;
  std::atomic<bool> wire_up_{true};
  std::atomic<bool> has_voice_{false};
  std::atomic<bool> hears_all_{false};
};

}  // namespace mrc
