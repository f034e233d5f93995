// SPDX-License-Identifier: BSD-2-Clause
// Carries frames by an interface of the kernel, without a copy: the engine writes and reads them in the rings
// of a packet socket. The socket is replaced by another when the interface was made anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dpdk_io/host/burst_guard.h"
#include "dpdk_io/packet/packet_socket.h"
#include "dpdk_io/settings/network_config.h"
#include "dpdk_io/wire/wire_carrier.h"

namespace mrc {

class PacketCarrier final : public WireCarrier {
 public:
  // Null: `error` says why and what to do.
  static std::unique_ptr<PacketCarrier> open(const PortConfig& port, const PacketSocket::Ear& ear,
                                             std::string* error);
  ~PacketCarrier() override;

  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& = {}) override;
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  MacAddress address() const override;
  PortCounters& counters() override { return counters_; }
  void hear_all(bool wanted) override;
  bool reopen(std::string* error) override;
  void tidy() override;

 private:
  PacketCarrier(const PortConfig& port, const PacketSocket::Ear& ear) : port_(port), ear_(ear) {}

  const PortConfig port_;
  const PacketSocket::Ear ear_;
  bool hears_all_ = false;
  std::unique_ptr<PacketSocket> owned_;
  std::vector<std::unique_ptr<PacketSocket>> retired_;  // the data path still has frames of theirs
  // The data path uses the socket only inside a burst; who replaces it waits for the guard.
  mutable BurstGuard guard_;
  std::atomic<PacketSocket*> socket_{nullptr};
  PortCounters counters_;
};

}  // namespace mrc
