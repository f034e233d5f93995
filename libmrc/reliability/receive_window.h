// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.S1: the responder's memory of what has arrived: a bitmap of MPR packets above the cumulative PSN,
// with what has to happen when the in-order point passes each of them, and the choice of what a SACK reports.
#pragma once

#include <cstdint>
#include <vector>

#include "libmrc/wire/psn.h"

namespace mrc {

class ReceiveWindow {
 public:
  enum class Arrival : uint8_t { kNew, kDuplicateAbove, kDuplicateBelow, kOutOfWindow };
  // What a packet does when the in-order point passes it; a set of bits.
  enum Passing : uint8_t {
    kNothing = 0,
    kReceived = 1 << 0,
    kEndsMessage = 1 << 1,
    kAckRequested = 1 << 2,
    kConsumesReceive = 1 << 3,  // ends a SEND or WriteImm
    kOrdered = 1 << 5,          // a READ or atomic that is carried out now
    kEndsAnswer = 1 << 6,       // ends the answer to a READ or atomic of ours
    kFaulty = 1 << 4,  // passed its checks on the wire but not those of the memory: the connection ends here
  };

  void reset(uint32_t capacity, Psn first);  // capacity: a power of two, at least 64

  Psn cumulative() const { return cumulative_; }
  Psn expected() const { return cumulative_ + 1; }
  Psn highest() const { return highest_; }
  uint32_t held() const { return held_; }  // packets above the cumulative PSN
  uint32_t capacity() const { return mask_ + 1; }

  // MRC 12.S2, 2, SPEC 6.3.1.
  Arrival classify(Psn psn) const {
    const int32_t distance = psn - expected();
    if (distance < 0) return Arrival::kDuplicateBelow;
    if (distance > static_cast<int32_t>(mask_)) return Arrival::kOutOfWindow;
    return passing_[psn.value() & mask_] != kNothing ? Arrival::kDuplicateAbove : Arrival::kNew;
  }
  // Whether a packet above the cumulative PSN and within the window is here.
  bool holds(Psn psn) const { return passing_[psn.value() & mask_] != kNothing; }
  // Only for packets that are new.
  void record(Psn psn, uint8_t passing) {
    passing_[psn.value() & mask_] = static_cast<uint8_t>(passing | kReceived);
    ++held_;
    if (psn > highest_) highest_ = psn;
    if (psn < lowest_unreported_ || lowest_unreported_ <= cumulative_) lowest_unreported_ = psn;
  }
  // Whether it would be passed as soon as it is recorded, and the only one.
  bool would_pass(Psn psn) const { return held_ == 0 && psn == expected(); }
  // Both for such a packet.
  void pass_at_once() { highest_ = lowest_unreported_ = ++cumulative_; }
  // Moves the cumulative PSN over the next packet if it is there; returns what it does in passing, else
  // kNothing.
  uint8_t pass() {
    uint8_t& next = passing_[expected().value() & mask_];
    const uint8_t passing = next;
    if (passing == kNothing) return kNothing;
    next = kNothing;
    ++cumulative_;
    --held_;
    // Kept close, so that it never ages past half of the PSN space.
    if (lowest_unreported_ < cumulative_) lowest_unreported_ = cumulative_;
    return passing;
  }

  struct Report {
    int16_t offset;  // bitmap base - cumulative PSN
    uint64_t bitmap;
  };
  // MRC 3.2: what the next SACK tells.
  Report report();
  // The next part of what was told before.
  Report report_again();

 private:
  Report report_from(Psn base);
  Psn last_base() const;  // a bitmap further up would end behind the highest packet

  std::vector<uint8_t> passing_;  // by PSN; 0 = not received
  uint32_t mask_ = 0;
  Psn cumulative_;
  Psn highest_;
  Psn lowest_unreported_;  // lowest packet above the cumulative PSN that no SACK has told of
  Psn next_again_;         // where the next part begins that is told again
  uint32_t held_ = 0;
};

}  // namespace mrc
