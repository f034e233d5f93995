// SPDX-License-Identifier: BSD-2-Clause
// One plane on a real interface that this process drives itself: the data path to other hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dpdk_io/wire/wire_carrier.h"
#include "dpdk_io/wire/wire_port.h"
#include "libmrc/port/carrier.h"

namespace mrc {

class OwnPort final : public WirePort, public Carrier {
 public:
  // What is given outlives the port, but for the configuration.
  OwnPort(LinkPort& local, std::unique_ptr<WireCarrier> carrier, const Config& config)
      : WirePort(local, config), carrier_(std::move(carrier)) {}

  MacAddress address() const override { return carrier_->address(); }
  Carrier* wire() override { return this; }

  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override { carrier_->release(frames); }
  size_t transmit_room(const MacAddress& next_hop) override { return carrier_->transmit_room(next_hop); }
  size_t acquire(std::span<TxFrame> frames) override { return carrier_->acquire(frames); }
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override { carrier_->discard(frames); }

  // --- the control loop ---
  WireCarrier& carrier() { return *carrier_; }

 private:
  const std::unique_ptr<WireCarrier> carrier_;
};

}  // namespace mrc
