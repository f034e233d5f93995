// SPDX-License-Identifier: BSD-2-Clause
// One plane on a real interface as a port of the engine: the data path. Frames to this host itself go over
// the mesh of same-host links, all others to the wire.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "dpdk_io/ethdev_device.h"
#include "dpdk_io/memif_port.h"
#include "dpdk_io/next_hops.h"
#include "libmrc/port/port.h"

namespace mrc {

class EthdevPort final : public Port {
 public:
  struct Config {
    Plane plane;
    std::function<bool(const IpAddress&)> is_local;
    std::function<void()> wanted;  // a destination has been added to next_hops()
  };
  // What is given outlives the port, but for the configuration and a device that is replaced.
  EthdevPort(MemifPort& local, const MeshState& mesh, EthdevDevice& device, const Config& config);
  ~EthdevPort() override;

  MacAddress address() const override;
  bool link_up() const override { return local_.link_up() && wire_up_.load(std::memory_order_relaxed); }
  bool resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) override;
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override { local_.release(frames); }
  size_t transmit_room(const MacAddress& next_hop) override;
  size_t acquire(std::span<TxFrame> frames) override { return local_.acquire(frames); }
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override { local_.discard(frames); }

  const PortCounters& counters() const { return counters_; }

  // --- the control loop ---
  NextHops& next_hops() { return next_hops_; }
  void set_wire_up(bool up) { wire_up_.store(up, std::memory_order_relaxed); }
  // Null: none for now. The one before is not used any more when it returns.
  void replace_device(EthdevDevice* device);

 private:
  PlaneFault fault() const { return mesh_.faults->planes[config_.plane].load(std::memory_order_relaxed); }
  size_t receive_wire(std::span<RxFrame> frames);
  void transmit_local(std::span<const TxFrame> frames);
  void transmit_wire(std::span<const TxFrame> frames);
  size_t prepare(std::span<const TxFrame> frames, const MacAddress& source, rte_mbuf** mbufs);
  size_t push(rte_mbuf** frames, size_t count);
  void push_pending();
  void free_frames(rte_mbuf** frames, size_t count);

  MemifPort& local_;
  const MeshState& mesh_;
  const Config config_;
  // The data path uses the device only inside a burst; who replaces it waits for the guard.
  mutable BurstGuard guard_;
  std::atomic<EthdevDevice*> device_;
  NextHops next_hops_;
  std::atomic<bool> wire_up_{true};
  bool wire_first_ = false;
  PendingFrames pending_;  // what the ring did not take
  PortCounters counters_;
};

}  // namespace mrc
