// SPDX-License-Identifier: BSD-2-Clause
// What happened on one queue pair, for people who look for the reason of something: a ring of the newest
// events. Off by default, and then one comparison per event.
#pragma once

#include <cstdint>
#include <vector>

#include "libmrc/path/path_set.h"
#include "libmrc/wire/psn.h"
#include "libmrc/wire/time.h"

namespace mrc {

enum class TraceEvent : uint8_t {
  kSent,       // value: payload bytes
  kSentAgain,  // value: transmissions so far
  kReceived,   // new data of the peer's; value: payload bytes
  kDuplicate,  // came once more
  kTrimmed,    // only its headers came
  kOutOfWindow,
  kSack,            // heard; psn: cumulative, value: packets above it at the peer
  kNack,            // heard; value: the reason
  kAcknowledge,     // heard; value: the syndrome
  kLostSamePath,    // a later packet of the same path arrived
  kLostReordering,  // overtaken for too long
  kLostOutOfOrder,  // more than a window has arrived behind it
  kLostTimeout,
  kLostNack,
  kLostPort,       // its port lost its link
  kLostNotReady,   // the peer had no receive request
  kProbeSent,      // value: probe id
  kProbeAnswered,  // value: round trip in ns
  kPathBad,        // out of use
  kPathGood,       // in use again
  kMpr,            // the peer's new MPR; value: packets
  kFailed,         // the connection ended; value: completion status
};
const char* name_of(TraceEvent event);

struct TraceRecord {
  Nanoseconds time = 0;
  Psn psn;
  uint32_t value = 0;
  PathId path = kNoPath;
  TraceEvent event{};
};

class EventTrace {
 public:
  // Keeps the newest `capacity` events; 0 = off. Forgets what was kept. Allocates.
  void enable(uint32_t capacity) {
    records_.assign(capacity, TraceRecord{});
    count_ = 0;
  }
  bool on() const { return !records_.empty(); }
  void note(Nanoseconds now, TraceEvent event, Psn psn, PathId path = kNoPath, uint32_t value = 0) {
    if (records_.empty()) return;
    records_[count_++ % records_.size()] = {now, psn, value, path, event};
  }
  size_t size() const { return count_ < records_.size() ? count_ : records_.size(); }
  uint64_t forgotten() const { return count_ - size(); }
  // 0 = the oldest that is kept.
  const TraceRecord& at(size_t index) const { return records_[(forgotten() + index) % records_.size()]; }

 private:
  std::vector<TraceRecord> records_;
  uint64_t count_ = 0;
};

}  // namespace mrc
