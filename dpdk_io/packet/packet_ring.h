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
  static_assert(kSlotBytes >= kFrameBytesMax + 80 && kSlotBytes % 64 == 0);

  explicit PacketRing(uint32_t blocks) : slots_(size_t{blocks} * kSlotsPerBlock) {}

  uint32_t slots() const { return static_cast<uint32_t>(slots_.size()); }
  size_t bytes() const { return slots_.size() / kSlotsPerBlock * kBlockBytes; }
  // As setsockopt() wants it.
  tpacket_req request() const { return {kBlockBytes, slots() / kSlotsPerBlock, kSlotBytes, slots()}; }

  // `memory`: bytes().
  void open(PacketSocket* socket, uint8_t* memory) {
    for (uint32_t i = 0; i < slots(); ++i) {
      uint8_t* at =
          memory + size_t{i / kSlotsPerBlock} * kBlockBytes + size_t{i % kSlotsPerBlock} * kSlotBytes;
      slots_[i] = {socket, reinterpret_cast<tpacket2_hdr*>(at)};
    }
  }

  PacketSlot& operator[](uint32_t index) { return slots_[index]; }
  uint32_t after(uint32_t index, uint32_t steps = 1) const {
    return index + steps < slots() ? index + steps : index + steps - slots();
  }
  uint32_t before(uint32_t index) const { return index > 0 ? index - 1 : slots() - 1; }

 private:
  std::vector<PacketSlot> slots_;
};

}  // namespace mrc
