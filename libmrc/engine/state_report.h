// SPDX-License-Identifier: BSD-2-Clause
// The state of an engine in words (and in JSON), for people who ask why nothing moves: queue pairs with their
// PSNs, windows and timers, their newest events if they are kept, and all counters that are not zero.
//
// It is told in portions, so that nobody who sends or receives waits for longer than a burst, however many
// queue pairs there are. What changes in between is told as it is when its turn comes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"

namespace mrc {

class StateReport {
 public:
  // In words, or for programs: a JSON object with every queue pair, its paths, and all counters.
  enum class Form : uint8_t { kWords, kJson };

  explicit StateReport(Form form) : form_(form) {}
  // One portion more. False: that was the last one. Under the engine's lock; may throw bad_alloc.
  bool add_some(Engine& engine, Nanoseconds now);
  // Of the last portion: so many lines, or paths, or as long to look at.
  uint32_t effort() const { return effort_; }
  // All that was added, in pieces.
  const std::deque<std::string>& pieces() const { return pieces_; }

 private:
  void add_words(QueuePair& qp, Nanoseconds now, std::string* to);
  void add_json(QueuePair* qp, std::string* to);
  bool begin_paths(const QueuePair& qp, std::string* to);
  void begin(Engine& engine, Nanoseconds now, std::string* to) const;
  void end(const Engine& engine, std::string* to) const;

  const Form form_;
  bool begun_ = false;
  uint32_t slot_ = 0;                   // the place of the queue pair that comes next...
  bool in_paths_ = false;               // ...of which only paths are left,...
  size_t path_ = 0;                     // ...from this one on
  uint64_t paths_number_ = 0;           // whose they are, see PeerPaths...
  std::map<uint64_t, Qpn> paths_told_;  // ...and with which queue pair others were told of
  size_t told_ = 0;                     // queue pairs
  uint32_t effort_ = 0;
  std::deque<std::string> pieces_;
};

// All at once, for who has the engine alone.
std::string describe_state(Engine& engine, Nanoseconds now);
std::string state_as_json(Engine& engine);

// As both call them.
const char* name_of(QueuePairState state);
const char* kind_of(const QueuePair& qp);

}  // namespace mrc
