// SPDX-License-Identifier: BSD-2-Clause
// What became of every packet: counted by fate, folded into a hash that is equal for equal runs, and printed
// on demand.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/core/frame_pool.h"
#include "tests/sim/core/time.h"

namespace mrc::sim {

enum class Fate : uint8_t {
  kSent,       // a host put it on its first channel
  kDelivered,  // a host's port took it in
  kMarked,     // congestion experienced
  kTrimmed,
  kCorrupted,
  kDuplicated,  // one more frame in the network
  kDelayed,
  // From here on the frame is gone.
  kLostRandom,
  kLostBurst,
  kLostEntropy,    // loss for chosen entropy values
  kLostBlackHole,  // vanished without a sign
  kLostDown,       // link, port or switch was down
  kDropQueue,      // data queue full
  kDropControl,    // control queue full
  kDropNoRoute,
  kDropHopLimit,
  kDropReceiver,  // the host's receive ring was full
  kCount,
};
const char* to_string(Fate fate);

class Trace {
 public:
  void note(Picoseconds now, uint32_t channel, const Frame& frame, Fate fate) {
    ++counts_[static_cast<size_t>(fate)];
    if (frame.data) ++data_counts_[static_cast<size_t>(fate)];
    fold(now);
    fold(static_cast<uint64_t>(channel) << 40 | static_cast<uint64_t>(fate) << 32 | frame.length);
    if (fate == Fate::kDelivered) fold_bytes(frame);
    if (out_ != nullptr) print(now, channel, frame, fate);
  }

  uint64_t hash() const { return hash_; }
  uint64_t count(Fate fate) const { return counts_[static_cast<size_t>(fate)]; }
  // Of frames that carry payload.
  uint64_t data_count(Fate fate) const { return data_counts_[static_cast<size_t>(fate)]; }
  uint64_t gone() const;  // frames that were lost or dropped, whatever the reason

  // Every packet as a line of text. `names`: of the channels, by number.
  void print_to(std::FILE* out, std::vector<std::string> names) {
    out_ = out;
    names_ = std::move(names);
  }

 private:
  void fold(uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001B3u ^ hash_ >> 29; }
  // The headers, and the end of the frame: the ICRC stands for the payload.
  void fold_bytes(const Frame& frame);
  void print(Picoseconds now, uint32_t channel, const Frame& frame, Fate fate) const;

  uint64_t hash_ = 0xCBF29CE484222325u;
  std::array<uint64_t, static_cast<size_t>(Fate::kCount)> counts_{};
  std::array<uint64_t, static_cast<size_t>(Fate::kCount)> data_counts_{};
  std::FILE* out_ = nullptr;
  std::vector<std::string> names_;
};

}  // namespace mrc::sim
