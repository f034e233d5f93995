// SPDX-License-Identifier: BSD-2-Clause
// The shared memory behind same-host links. Every process has an arena that it alone writes and its peers map
// to read: frames, a ring of descriptors towards each other slot, and how much it has taken of theirs. Beside
// it is one page of bells, which the peers write: hints at who has sent something.
//
// Nothing in another process's memory is trusted: indices and lengths are read once and checked, and a peer
// that writes nonsense loses its own frames.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dpdk_io/host/slot_number.h"
#include "libmrc/port/carrier.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/frame.h"

namespace mrc {

// One frame in a ring: a single word, so that it is there as a whole or not at all. The turn tells a new
// descriptor from that of the round before, so the reader looks at nothing else.
struct Descriptor {
  uint32_t frame;
  uint16_t length;
  Plane plane;
  bool has_icrc;
  uint8_t turn;

  uint64_t pack() const {
    return uint64_t{frame} << 32 | uint64_t{length} << 16 | uint64_t{has_icrc} << 15 |
           uint64_t{plane & kPlaneBits} << 8 | turn;
  }
  static Descriptor unpack(uint64_t word) {
    return {static_cast<uint32_t>(word >> 32), static_cast<uint16_t>(word >> 16),
            static_cast<Plane>(word >> 8 & kPlaneBits), (word >> 15 & 1) != 0, static_cast<uint8_t>(word)};
  }
  // Whether it leads to a frame within the arena. The reader asks, of what it has read once.
  bool is_whole() const;
  static constexpr unsigned kPlaneBits = 0x7F;
};

struct Arena {
  static constexpr uint32_t kMagic = 0x4D524341;  // "MRCA"
  static constexpr uint32_t kVersion = 1;
  static constexpr uint32_t kRingFrames = 256;  // under way to one peer at most
  static constexpr uint32_t kFramesMax = 8192;  // touched as they are needed
  static constexpr uint32_t kStride = 4352;
  static constexpr uint32_t kHeadroom = 50;  // the payload of a WRITE over IPv4 then begins a cache line
  static_assert(kStride - kHeadroom >= kFrameBytesMax && kStride % 64 == 0);
  static_assert((kHeadroom + 14 + 20 + 8 + 12 + 4 + 4 + 16) % 64 == 0);

  struct alignas(64) Header {
    uint32_t magic;
    uint32_t version;
    uint32_t slot;
    uint32_t planes;
    uint64_t incarnation;
  };
  // Written by the owner once per burst, read by the peer of that slot.
  struct alignas(64) Taken {
    std::atomic<uint64_t> count;  // upper half: whose frames they are (the low half of the link's number)
  };
  // Written by the owner, read by the peer of that slot.
  struct alignas(64) Ring {
    std::atomic<uint64_t> reader;  // the peer's number of the link
    alignas(64) std::array<std::atomic<uint64_t>, kRingFrames> entries;
  };

  alignas(4096) Header header;
  alignas(4096) std::array<Taken, kSlotMax + 1> taken;
  alignas(4096) std::array<Ring, kSlotMax + 1> rings;
  alignas(4096) uint8_t frames[kFramesMax][kStride];

  const uint8_t* frame(uint32_t number) const { return frames[number] + kHeadroom; }
  uint8_t* frame(uint32_t number) { return frames[number] + kHeadroom; }
  uint32_t number_of(const uint8_t* data) const {
    return static_cast<uint32_t>(static_cast<size_t>(data - frames[0]) / kStride);
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

inline bool Descriptor::is_whole() const {
  return frame < Arena::kFramesMax && length >= kEthernetBytes && length <= Arena::kStride - Arena::kHeadroom;
}

// A bit that is set: whoever reads looks at the ring of that slot. A wrong bit costs a look, a lost one a
// moment, since rings without one are looked at in turn.
struct Bells {
  alignas(64) std::atomic<uint64_t> any;
  alignas(64) std::array<std::atomic<uint64_t>, (kSlotMax + 64) / 64> rung;
};

// The own two, and their descriptors to hand to peers, who can map the arena only to read. Null members:
// none.
class OwnMemory {
 public:
  OwnMemory() = default;
  ~OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  // False: `error` says why.
  bool create(std::string* error);

  Arena* arena = nullptr;
  Bells* bells = nullptr;
  int arena_fd = -1;
  int bells_fd = -1;
};

// A peer's, mapped.
class PeerMemory {
 public:
  PeerMemory() = default;
  ~PeerMemory() { unmap(); }
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  // The descriptors stay the caller's. False: they are not what a peer of this slot would send.
  bool map(int arena_fd, int bells_fd, uint32_t slot, uint64_t incarnation);
  void unmap();

  const Arena* arena = nullptr;
  Bells* bells = nullptr;
};

}  // namespace mrc
