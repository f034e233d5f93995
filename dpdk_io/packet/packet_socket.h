// SPDX-License-Identifier: BSD-2-Clause
// A packet socket on one interface of the kernel, with a ring for each direction: frames are written and read
// in the memory that the kernel has mapped. It hears this process's frames only, and nothing that leaves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dpdk_io/packet/packet_ring.h"
#include "dpdk_io/wire/frame_filter.h"
#include "libmrc/port/carrier.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// Threads: the data path is one thread at a time. hear_all() may run beside it.
class PacketSocket {
 public:
  // Whose frames it hears: of a process by its slot; without one, those of all slots of the part.
  struct Ear {
    std::optional<uint32_t> slot;
    SlotPart part;
  };
  // Null: `why` says why and what to do.
  static std::unique_ptr<PacketSocket> open(const std::string& interface, const Ear& ear, std::string* why);
  ~PacketSocket();
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  // What comes waits until somebody polls: room for more than a window. What leaves is gone at once, or waits
  // in the kernel, whose default buffer is full with some 40 frames; a small ring stays in the cache.
  static constexpr uint32_t kInBlocks = 34;
  static constexpr uint32_t kOutBlocks = 8;
  static constexpr uint32_t kSlotsIn = kInBlocks * PacketRing::kSlotsPerBlock;
  static constexpr uint32_t kSlotsOut = kOutBlocks * PacketRing::kSlotsPerBlock;

  const MacAddress& mac() const { return mac_; }
  void hear_all(bool wanted) const;

  // Frames that the data path has. As long as there are any, the memory must stay.
  uint32_t lent() const { return lent_.load(std::memory_order_acquire); }

  // --- the data path; handles of frames are slots ---
  size_t receive(std::span<RxFrame> frames);
  static void release(const RxFrame& frame);
  size_t transmit_room();
  size_t acquire(std::span<TxFrame> frames);
  // Each frame that was acquired is one day ready or given back; then send() sees to those that are ready, in
  // the order of acquire(), up to the first that is neither.
  static void make_ready(const TxFrame& frame);
  static void give_back(const TxFrame& frame);
  size_t send();
  // Tries again what the kernel did not take.
  void send_rest() {
    if (rest_) kick();
  }

 private:
  explicit PacketSocket(const Ear& ear) : ear_(ear) {}
  bool make(const std::string& interface, std::string* why);
  bool set_up_rings(std::string* why);
  bool bind_to(const std::string& interface, std::string* why);
  bool set_filter(bool all) const;
  void retract();
  void kick();
  // One writer at a time: the data path.
  void lend(uint32_t count) {
    lent_.store(lent_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  void take(uint32_t count) {
    lent_.store(lent_.load(std::memory_order_relaxed) - count, std::memory_order_release);
  }

  const Ear ear_;
  int fd_ = -1;
  MacAddress mac_;
  uint8_t* memory_ = nullptr;  // both rings
  PacketRing in_{kInBlocks};
  PacketRing out_{kOutBlocks};
  uint32_t next_in_ = 0;    // what comes next is there
  uint32_t next_out_ = 0;   // what is acquired next
  uint32_t next_sent_ = 0;  // what the kernel is given next
  uint32_t unsent_ = 0;     // slots from there on that were acquired
  bool rest_ = false;       // the kernel has not taken all that it was given
  std::atomic<uint32_t> lent_{0};
};

}  // namespace mrc
