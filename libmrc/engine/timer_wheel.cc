// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/engine/timer_wheel.h"

#include <algorithm>

namespace mrc {

TimerWheel::TimerWheel(uint32_t timers) : timers_(timers) {
  first_.fill(kNone);
}

uint32_t TimerWheel::slot_for(Nanoseconds deadline) const {
  const uint64_t tick = std::clamp(deadline >> kTickShift, tick_, tick_ + kSlots - 1);
  return static_cast<uint32_t>(tick % kSlots);
}

void TimerWheel::link(uint32_t timer, uint32_t slot) {
  Timer& entry = timers_[timer];
  entry.slot = slot;
  entry.previous = kNone;
  entry.next = first_[slot];
  if (entry.next != kNone) timers_[entry.next].previous = timer;
  first_[slot] = timer;
  occupied_[slot / 64] |= uint64_t{1} << slot % 64;
  ++armed_;
}

void TimerWheel::unlink(uint32_t timer) {
  Timer& entry = timers_[timer];
  if (entry.previous != kNone) timers_[entry.previous].next = entry.next;
  if (entry.next != kNone) timers_[entry.next].previous = entry.previous;
  if (first_[entry.slot] == timer) first_[entry.slot] = entry.next;
  if (first_[entry.slot] == kNone) occupied_[entry.slot / 64] &= ~(uint64_t{1} << entry.slot % 64);
  entry.slot = kNone;
  --armed_;
}

[[gnu::hot]] void TimerWheel::set(uint32_t timer, Nanoseconds deadline) {
  Timer& entry = timers_[timer];
  if (entry.slot != kNone) {
    if (deadline >= entry.deadline) return;  // fires early, and is looked at then
    unlink(timer);
  }
  entry.deadline = deadline;
  if (deadline != kNever) link(timer, slot_for(deadline));
}

void TimerWheel::cancel(uint32_t timer) {
  if (timers_[timer].slot != kNone) unlink(timer);
  timers_[timer].deadline = kNever;
}

uint32_t TimerWheel::take_due(Nanoseconds now) {
  const uint64_t now_tick = now >> kTickShift;
  if (armed_ == 0) {
    tick_ = std::max(tick_, now_tick);
    return kNone;
  }
  // A jump of more than a turn looks at every slot once.
  if (now_tick >= tick_ + kSlots) tick_ = now_tick - kSlots + 1;
  while (tick_ <= now_tick) {
    const auto slot = static_cast<uint32_t>(tick_ % kSlots);
    if (occupied_[slot / 64] == 0) {
      tick_ = std::min((tick_ | 63) + 1, now_tick + 1);
      if (tick_ > now_tick) break;
      continue;
    }
    for (uint32_t timer = first_[slot]; timer != kNone;) {
      const uint32_t following = timers_[timer].next;
      if (timers_[timer].deadline <= now) {
        cancel(timer);
        return timer;
      }
      // Parked here because it was beyond the horizon, or due later within this tick.
      if (timers_[timer].deadline >> kTickShift > tick_) {
        unlink(timer);
        const uint64_t keep = tick_;
        tick_ = now_tick;  // the slot must lie ahead of the hand
        link(timer, slot_for(timers_[timer].deadline));
        tick_ = keep;
      }
      timer = following;
    }
    if (tick_ == now_tick) break;  // stays: more may become due within this tick
    ++tick_;
  }
  tick_ = std::max(tick_, now_tick);
  return kNone;
}

[[gnu::hot]] Nanoseconds TimerWheel::next_deadline() const {
  if (armed_ == 0) return kNever;
  for (uint64_t tick = tick_; tick < tick_ + kSlots;) {
    const auto slot = static_cast<uint32_t>(tick % kSlots);
    const uint64_t word = occupied_[slot / 64] >> slot % 64;
    if (word == 0) {
      tick = (tick | 63) + 1;
      continue;
    }
    tick += static_cast<unsigned>(__builtin_ctzll(word));
    Nanoseconds earliest = kNever;
    for (uint32_t timer = first_[tick % kSlots]; timer != kNone; timer = timers_[timer].next)
      earliest = std::min(earliest, timers_[timer].deadline);
    return std::min<Nanoseconds>(earliest, (tick + 1) << kTickShift);
  }
  return (tick_ + kSlots) << kTickShift;
}

}  // namespace mrc
