// SPDX-License-Identifier: BSD-2-Clause
// One plane on a real interface as a port of the engine: the data path to other hosts. Frames to this host
// itself go by the same-host links.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "dpdk_io/ethdev_device.h"
#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/port_counters.h"
#include "dpdk_io/link/link_port.h"
#include "dpdk_io/next_hops.h"
#include "libmrc/port/port.h"

namespace mrc {

// Frames that the ring did not take, oldest first. A burst, and as many frames that were sent without asking
// for room.
struct PendingFrames {
  static constexpr size_t kMax = 2 * kBurst;
  uint32_t count = 0;
  std::array<rte_mbuf*, kMax> frames;
};

class EthdevPort final : public Port, public Carrier {
 public:
  struct Config {
    Plane plane;
    uint32_t own_slot;
    rte_mempool* pool;
    const FaultPage& faults;
    std::function<bool(const IpAddress&)> is_local;
    std::function<void()> wanted;  // a destination has been added to next_hops()
  };
  // What is given outlives the port, but for the configuration and a device that is replaced.
  EthdevPort(LinkPort& local, EthdevDevice& device, const Config& config);
  ~EthdevPort() override;

  MacAddress address() const override;
  bool link_up() const override { return local_.link_up() && wire_up_.load(std::memory_order_relaxed); }
  bool resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) override;
  bool resolve_back(const IpAddress& source, const MacAddress& heard_from, MacAddress* next_hop) override;
  bool speaks_for_host(const MacAddress& heard_from) const override {
    return is_same_host(heard_from) || has_voice_.load(std::memory_order_relaxed);
  }
  Carrier* wire() override { return this; }
  Carrier* same_host() override { return local_.same_host(); }

  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& next_hop) override;
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  const PortCounters& counters() const { return counters_; }

  // --- the control loop ---
  NextHops& next_hops() { return next_hops_; }
  void set_wire_up(bool up) { wire_up_.store(up, std::memory_order_relaxed); }
  void set_voice(bool ours) { has_voice_.store(ours, std::memory_order_relaxed); }
  // Null: none for now. The one before is not used any more when it returns.
  void replace_device(EthdevDevice* device);

 private:
  PlaneFault fault() const { return config_.faults.planes[config_.plane].load(std::memory_order_relaxed); }
  bool resolve_wire(const IpAddress& destination, uint32_t most, MacAddress* next_hop);
  size_t prepare(std::span<const TxFrame> frames, const MacAddress& source, rte_mbuf** mbufs);
  size_t push(rte_mbuf** frames, size_t count);
  void push_pending();
  void free_frames(rte_mbuf** frames, size_t count);

  LinkPort& local_;
  const Config config_;
  // The data path uses the device only inside a burst; who replaces it waits for the guard.
  mutable BurstGuard guard_;
  std::atomic<EthdevDevice*> device_;
  NextHops next_hops_;
  std::atomic<bool> wire_up_{true};
  std::atomic<bool> has_voice_{false};
  PendingFrames pending_;  // what the ring did not take
  PortCounters counters_;
};

}  // namespace mrc
