// SPDX-License-Identifier: BSD-2-Clause
// What happens next: a four-ary heap of small typed events, ordered by time and then by the order in which
// they were made. Nothing is allocated per event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/sim/core/time.h"

namespace mrc::sim {

struct Frame;

enum class EventKind : uint32_t {
  kChannelFree,   // target: channel; its transmitter can take the next frame
  kArrival,       // target: channel; the oldest frame on its wire reaches the far end
  kStrayArrival,  // target: channel; a frame that was delayed or duplicated on the wire
  kHostWake,      // target: host; it was asked to run
  kHostTimer,     // target: host; its engine has a deadline
  kFault,         // target: fault; it begins, ends or flips
  kAlarm,         // target: the number given to whoever set it
  kPause,         // target: channel; the switch at its far end wants no more data...
  kResume,        // ...or wants them again
  kPace,          // target: channel of a host; the turn of a flow that was held back has come
};

struct Event {
  Picoseconds time;
  uint64_t order;
  Frame* frame;
  uint32_t target;
  EventKind kind;
};
static_assert(sizeof(Event) == 32);

class EventQueue {
 public:
  Picoseconds now() const { return now_; }
  size_t size() const { return heap_.size(); }
  uint64_t made() const { return made_; }

  void at(Picoseconds time, EventKind kind, uint32_t target, Frame* frame = nullptr) {
    const Event event{time < now_ ? now_ : time, made_++, frame, target, kind};
    heap_.push_back(event);
    size_t hole = heap_.size() - 1;
    while (hole > 0) {
      const size_t parent = (hole - 1) / kArity;
      if (!before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  // Takes the next event unless there is none or it lies behind `end`; then now() is its time.
  bool take(Picoseconds end, Event* out) {
    if (heap_.empty() || heap_.front().time > end) return false;
    *out = heap_.front();
    now_ = out->time;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return true;
  }
  // Time may also pass without events.
  void skip_to(Picoseconds time) {
    if (time > now_ && (heap_.empty() || time <= heap_.front().time)) now_ = time;
  }

 private:
  static constexpr size_t kArity = 4;

  static bool before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  }
  void sink(const Event& event) {
    const size_t count = heap_.size();
    size_t hole = 0;
    for (;;) {
      const size_t first = hole * kArity + 1;
      if (first >= count) break;
      const size_t end = first + kArity < count ? first + kArity : count;
      size_t least = first;
      for (size_t child = first + 1; child < end; ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], event)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
  Picoseconds now_ = 0;
  uint64_t made_ = 0;
};

}  // namespace mrc::sim
