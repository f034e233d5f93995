// SPDX-License-Identifier: BSD-2-Clause
// How a StateReport says things: in words (state_words.cc) and in JSON (state_json.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libmrc/port/counters.h"
#include "libmrc/qp/queue_pair.h"
#include "libmrc/wire/time.h"

namespace mrc {

// So many lines a queue pair takes, and its events are one each.
inline constexpr uint32_t kLinesOfQueuePair = 8;
void add_queue_pair_words(std::string* text, QueuePair& qp, Nanoseconds now);
void add_counters_words(std::string* text, const Counters& counters);
// "in 1.5 ms", "3.0 ms ago" or "never".
std::string when(Nanoseconds time, Nanoseconds now);

// A queue pair without its end: its paths may follow.
void add_queue_pair_json(std::string* text, const QueuePair& qp);
void add_path_json(std::string* text, const QueuePair& qp, size_t number);
// The end of the queue pairs, and the counters.
void add_counters_json(std::string* text, const Counters& counters);

// All counters with their names; those that are arrays are left out.
std::vector<std::pair<std::string, uint64_t>> named_counters(const Counters& counters);

}  // namespace mrc
