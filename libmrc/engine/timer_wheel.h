// SPDX-License-Identifier: BSD-2-Clause
// A hashed timer wheel: one timer per small number, set and moved in constant time, good to one tick.
// A timer that moves to a later time may stay where it is: the owner looks at its deadline again when it
// fires.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "libmrc/wire/time.h"

namespace mrc {

class TimerWheel {
 public:
  explicit TimerWheel(uint32_t timers);
  // For so many. In small steps: there are thousands to begin with, and mostly few more.
  void make_room(uint32_t timers) {
    if (timers > timers_.capacity()) timers_.reserve(timers + timers / 8);
    if (timers > timers_.size()) timers_.resize(timers);
  }

  void set(uint32_t timer, Nanoseconds deadline);
  void cancel(uint32_t timer);
  Nanoseconds deadline(uint32_t timer) const { return timers_[timer].deadline; }

  // Takes one timer that is due, or kNone.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t take_due(Nanoseconds now);

  // No later than the earliest deadline (a far one may be reported as the end of the wheel); kNever if none
  // is set.
  Nanoseconds next_deadline() const;

 private:
  static constexpr unsigned kTickShift = 12;  // 4.1 us
  static constexpr uint32_t kSlots = 4096;    // 16.8 ms
  struct Timer {
    Nanoseconds deadline = kNever;
    uint32_t previous = kNone;
    uint32_t next = kNone;
    uint32_t slot = kNone;
  };
  uint32_t slot_for(Nanoseconds deadline) const;
  void link(uint32_t timer, uint32_t slot);
  void unlink(uint32_t timer);

  std::vector<Timer> timers_;
  std::array<uint32_t, kSlots> first_;
  std::array<uint64_t, kSlots / 64> occupied_{};
  uint64_t tick_ = 0;  // all slots before it are empty
  uint32_t armed_ = 0;
};

}  // namespace mrc
