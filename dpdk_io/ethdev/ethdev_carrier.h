// SPDX-License-Identifier: BSD-2-Clause
// Carries frames by a pair of queues of a DPDK device. What the device does not take at once waits here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "dpdk_io/ethdev/ethdev_device.h"
#include "dpdk_io/wire/wire_carrier.h"

namespace mrc {

// Frames that the ring did not take, oldest first. A burst, and as many frames that were sent without asking
// for room.
struct PendingFrames {
  static constexpr size_t kMax = 2 * kBurst;
  uint32_t count = 0;
  std::array<rte_mbuf*, kMax> frames;
};

class EthdevCarrier final : public WireCarrier {
 public:
  // The carriers of its queues keep a device open together. The pool, which outlives them, is that of the
  // queue.
  EthdevCarrier(std::shared_ptr<EthdevDevice> device, uint16_t queue, rte_mempool* pool)
      : device_(std::move(device)), queue_(queue), pool_(pool) {}
  ~EthdevCarrier() override;

  // All that arrives: single buffers, whoever they are for.
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& = {}) override;
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  MacAddress address() const override { return device_->mac(); }
  PortCounters& counters() override { return counters_; }
  bool link_up() const override { return device_->link_up(); }
  bool reopen(std::string* error) override;

 private:
  size_t push(rte_mbuf** frames, size_t count);
  void push_pending();
  void free_frames(rte_mbuf** frames, size_t count);

  const std::shared_ptr<EthdevDevice> device_;
  const uint16_t queue_;
  rte_mempool* const pool_;
  PendingFrames pending_;  // what the ring did not take
  PortCounters counters_;
};

}  // namespace mrc
