// SPDX-License-Identifier: BSD-2-Clause
// Planes whose ports mrcd has. One link leads there, so one carrier carries the frames of all of them; a wire
// is behind it, so they have an ICRC as on any other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "dpdk_io/link/link_end.h"
#include "dpdk_io/wire/wire_port.h"
#include "libmrc/port/carrier.h"

namespace mrc {

class SharedCarrier final : public Carrier {
 public:
  explicit SharedCarrier(LinkEnd& link) : link_(link) {}

  // Before the data path begins.
  void add(Plane plane, WirePort& port) { ports_[plane] = &port; }

  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override { link_.release(frames); }
  size_t transmit_room(const MacAddress&) override { return link_.transmit_room(); }
  size_t acquire(std::span<TxFrame> frames) override { return link_.acquire(frames); }
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override { link_.discard(frames); }

 private:
  bool leaves(const TxFrame& frame);

  LinkEnd& link_;
  std::array<WirePort*, kPlanesMax> ports_{};
};

class SharedPort final : public WirePort {
 public:
  SharedPort(LinkPort& local, SharedCarrier& carrier, const Config& config)
      : WirePort(local, config), carrier_(carrier) {}

  // mrcd writes it into what leaves, whatever the engine has been told first.
  MacAddress address() const override { return address_.load(std::memory_order_relaxed); }
  Carrier* wire() override { return &carrier_; }

  // --- the control loop ---
  void set_address(const MacAddress& address) { address_.store(address, std::memory_order_relaxed); }

 private:
  // A word, so that it is read as a whole.
  class AtomicMac {
   public:
    MacAddress load(std::memory_order order) const {
      const uint64_t word = word_.load(order);
      MacAddress mac;
      for (size_t i = 0; i < mac.bytes.size(); ++i) mac.bytes[i] = static_cast<uint8_t>(word >> 8 * i);
      return mac;
    }
    void store(const MacAddress& mac, std::memory_order order) {
      uint64_t word = 0;
      for (size_t i = 0; i < mac.bytes.size(); ++i) word |= uint64_t{mac.bytes[i]} << 8 * i;
      word_.store(word, order);
    }

   private:
    std::atomic<uint64_t> word_{0};
  };

  SharedCarrier& carrier_;
  AtomicMac address_;
};

}  // namespace mrc
