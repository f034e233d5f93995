// SPDX-License-Identifier: BSD-2-Clause
// One direction of a cable, and everything that can go wrong on it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "libmrc/wire/time.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/random.h"

namespace mrc::sim {

using Frame = std::vector<uint8_t>;

struct LinkFaults {
  double loss = 0;
  double duplication = 0;
  double corruption = 0;
  double reordering = 0;          // share of frames that are held back...
  Nanoseconds reorder_delay = 0;  // ...by up to this much
  Nanoseconds black_hole_from = kNever;
  Nanoseconds black_hole_until = 0;
};

struct LinkCounters {
  uint64_t sent = 0;
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t corrupted = 0;
};

class Link {
 public:
  Link(EventQueue& events, uint64_t seed, double bits_per_ns, Nanoseconds delay)
      : events_(events), random_(seed), bits_per_ns_(bits_per_ns), delay_(delay) {}

  void connect(std::function<void(Frame)> receiver) { receiver_ = std::move(receiver); }
  LinkFaults& faults() { return faults_; }
  const LinkCounters& counters() const { return counters_; }
  // A hash over all that left this link, and when: equal for equal runs.
  uint64_t trace() const { return trace_; }

  void send(std::span<const uint8_t> bytes);

 private:
  void deliver(Frame frame, Nanoseconds time);

  EventQueue& events_;
  Random random_;
  double bits_per_ns_;
  Nanoseconds delay_;
  Nanoseconds busy_until_ = 0;
  LinkFaults faults_;
  LinkCounters counters_;
  uint64_t trace_ = 0;
  std::function<void(Frame)> receiver_;
};

}  // namespace mrc::sim
