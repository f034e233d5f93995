// SPDX-License-Identifier: BSD-2-Clause
// The slots of a ring that a packet socket and this process share (packet(7), TPACKET_V2): each holds one
// frame behind a header whose status says whose it is.
#pragma once

#include <linux/if_packet.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libmrc/wire/frame.h"

namespace mrc {

class PacketSocket;

struct PacketSlot {
  // Of a slot to send from.
  enum class State : uint8_t { kIdle, kLent, kReady, kSkipped };

  PacketSocket* socket = nullptr;
  tpacket2_hdr* header = nullptr;
  State state = State::kIdle;

  // The kernel writes it too, on other CPUs.
  uint32_t status() const { return std::atomic_ref(header->tp_status).load(std::memory_order_acquire); }
  void set_status(uint32_t status) const {
    std::atomic_ref(header->tp_status).store(status, std::memory_order_release);
  }
  uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(header); }
};

class PacketRing {
 public:
  // Blocks are whole pages on machines with pages of up to 64 KiB. What is left of a block is not used. The
  // kernel puts at most 80 bytes before a frame: its own header, an address, and an alignment.
  static constexpr uint32_t kBlockBytes = 64 << 10;
  static constexpr uint32_t kSlotBytes = 4352;
  static constexpr uint32_t kSlotsPerBlock = kBlockBytes / kSlotBytes;
  static constexpr uint32_t kBlocks = 34;
  static constexpr uint32_t kSlots = kBlocks * kSlotsPerBlock;
  static constexpr size_t kBytes = size_t{kBlocks} * kBlockBytes;
  static_assert(kSlotBytes >= kFrameBytesMax + 80 && kSlotBytes % 64 == 0);

  // As setsockopt() wants it.
  static constexpr tpacket_req request() { return {kBlockBytes, kBlocks, kSlotBytes, kSlots}; }

  // `memory`: kBytes.
  void open(PacketSocket* socket, uint8_t* memory) {
    slots_.resize(kSlots);
    for (uint32_t i = 0; i < kSlots; ++i) {
      uint8_t* at = memory + size_t{i / kSlotsPerBlock} * kBlockBytes + (i % kSlotsPerBlock) * kSlotBytes;
      slots_[i] = {socket, reinterpret_cast<tpacket2_hdr*>(at)};
    }
  }

  PacketSlot& operator[](uint32_t index) { return slots_[index]; }
  static uint32_t after(uint32_t index, uint32_t steps = 1) {
    return index + steps < kSlots ? index + steps : index + steps - kSlots;
  }
  static uint32_t before(uint32_t index) { return index > 0 ? index - 1 : kSlots - 1; }

 private:
  std::vector<PacketSlot> slots_;
};

}  // namespace mrc
