// SPDX-License-Identifier: BSD-2-Clause
// The state of an engine in words, for people who ask why nothing moves: queue pairs with their PSNs, windows
// and timers, their newest events if they are kept, and all counters that are not zero.
#pragma once

#include <string>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"

namespace mrc {

// Under the engine's lock. Allocates.
std::string describe_state(Engine& engine, Nanoseconds now);

}  // namespace mrc
