// SPDX-License-Identifier: BSD-2-Clause
// One plane on a real interface that this process drives itself: the data path to other hosts.
#pragma once

#include <cstdint>
#include <span>

#include "dpdk_io/ethdev/ethdev_carrier.h"
#include "dpdk_io/wire/wire_port.h"
#include "libmrc/port/carrier.h"

namespace mrc {

class EthdevPort final : public WirePort, public Carrier {
 public:
  // What is given outlives the port, but for the configuration and a device that is replaced.
  EthdevPort(LinkPort& local, EthdevDevice& device, rte_mempool* pool, const Config& config)
      : WirePort(local, config), device_(device, pool) {}

  MacAddress address() const override { return device_.address(); }
  Carrier* wire() override { return this; }

  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override { device_.release(frames); }
  size_t transmit_room(const MacAddress&) override { return device_.transmit_room(); }
  size_t acquire(std::span<TxFrame> frames) override { return device_.acquire(frames); }
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override { device_.discard(frames); }

  // --- the control loop ---
  void replace_device(EthdevDevice* device) { device_.replace_device(device); }

 private:
  EthdevCarrier device_;
};

}  // namespace mrc
