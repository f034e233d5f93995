// SPDX-License-Identifier: BSD-2-Clause
// The state of an engine in words (and in JSON), for people who ask why nothing moves: queue pairs with their
// PSNs, windows and timers, their newest events if they are kept, and all counters that are not zero.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"

namespace mrc {

// Under the engine's lock. Allocates.
std::string describe_state(Engine& engine, Nanoseconds now);

// The same for programs: a JSON object with every queue pair, its paths, and all counters.
std::string state_as_json(Engine& engine);

// As both call them.
const char* name_of(QueuePairState state);
const char* kind_of(const QueuePair& qp);

// All counters with their names; those that are arrays are left out.
std::vector<std::pair<std::string, uint64_t>> named_counters(const Counters& counters);

}  // namespace mrc
