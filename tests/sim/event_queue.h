// SPDX-License-Identifier: BSD-2-Clause
// Virtual time: events in order of their time, and of their making when the times are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "libmrc/wire/time.h"

namespace mrc::sim {

class EventQueue {
 public:
  Nanoseconds now() const { return now_; }

  void at(Nanoseconds time, std::function<void()> action) {
    events_.push({time < now_ ? now_ : time, made_++, std::move(action)});
  }
  void after(Nanoseconds delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }

  // Runs the next event; false if there is none or it lies behind `end`.
  bool step(Nanoseconds end) {
    if (events_.empty() || events_.top().time > end) return false;
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = event.time;
    event.action();
    return true;
  }

 private:
  struct Event {
    Nanoseconds time;
    uint64_t number;
    std::function<void()> action;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  std::priority_queue<Event> events_;
  Nanoseconds now_ = 0;
  uint64_t made_ = 0;
};

}  // namespace mrc::sim
