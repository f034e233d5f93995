// SPDX-License-Identifier: BSD-2-Clause
// Packets of WRITEs that have arrived but are placed later, in disorder. What needs order waits for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "libmrc/wire/frame.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/psn.h"
#include "libmrc/wire/time.h"

namespace mrc {

class HeldWrites {
 public:
  struct Entry {
    bool used = false;
    bool failed = false;  // the memory has gone meanwhile
    Opcode opcode{};
    Psn psn;
    Reth reth;
    uint32_t bytes = 0;  // of the packet
    uint32_t rest = 0;   // of these, so many from the beginning are not placed
    Nanoseconds until = 0;
    std::array<uint8_t, kMtuMax> payload;
  };

  // Null: there is no room for one more.
  Entry* add() {
    const auto free = std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.used; });
    return free == entries_.end() ? nullptr : &*free;
  }
  Entry* find(Psn psn) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [psn](const Entry& each) { return each.used && each.psn == psn; });
    return found == entries_.end() ? nullptr : &*found;
  }
  // The one that was to be placed first of those that are due; null: none is.
  Entry* next_due(Nanoseconds now) {
    Entry* first = nullptr;
    for (Entry& each : entries_)
      if (each.used && !each.failed && each.until <= now && (first == nullptr || each.until < first->until))
        first = &each;
    return first;
  }

 private:
  std::array<Entry, 64> entries_;
};

}  // namespace mrc
