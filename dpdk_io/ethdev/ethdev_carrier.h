// SPDX-License-Identifier: BSD-2-Clause
// Carries frames by a DPDK device, which may be replaced by another while it runs. What the device does not
// take at once waits here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "dpdk_io/ethdev/ethdev_device.h"
#include "dpdk_io/host/burst_guard.h"
#include "dpdk_io/host/port_counters.h"
#include "libmrc/port/carrier.h"

namespace mrc {

// Frames that the ring did not take, oldest first. A burst, and as many frames that were sent without asking
// for room.
struct PendingFrames {
  static constexpr size_t kMax = 2 * kBurst;
  uint32_t count = 0;
  std::array<rte_mbuf*, kMax> frames;
};

class EthdevCarrier final : public Carrier {
 public:
  // What is given outlives the carrier, but for a device that is replaced.
  EthdevCarrier(EthdevDevice& device, rte_mempool* pool) : pool_(pool), device_(&device) {}
  ~EthdevCarrier() override;

  // All that arrives: single buffers, whoever they are for.
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& = {}) override;
  size_t acquire(std::span<TxFrame> frames) override;
  // Writes the device's own address into them.
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  MacAddress address() const;
  PortCounters& counters() { return counters_; }

  // --- the control loop ---
  // Null: none for now. The one before is not used any more when it returns.
  void replace_device(EthdevDevice* device);

 private:
  size_t push(rte_mbuf** frames, size_t count);
  void push_pending();
  void free_frames(rte_mbuf** frames, size_t count);

  rte_mempool* const pool_;
  // The data path uses the device only inside a burst; who replaces it waits for the guard.
  mutable BurstGuard guard_;
  std::atomic<EthdevDevice*> device_;
  PendingFrames pending_;  // what the ring did not take
  PortCounters counters_;
};

}  // namespace mrc
