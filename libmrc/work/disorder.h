// SPDX-License-Identifier: BSD-2-Clause
// Every order that the rules allow, and not only the usual one (docs/disorder.md): who decides what of a
// WRITE is placed at once and what later.
#pragma once

#include <cstdint>
#include <optional>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class Disorder {
 public:
  struct Held {
    uint32_t tail;      // so many bytes of the packet's end are placed now
    Nanoseconds until;  // the rest, and everything that needs order, not before
  };
  // A packet of a WRITE has come for a queue pair. Nothing: it is placed as usual.
  virtual std::optional<Held> on_write(Qpn qpn, uint32_t bytes, bool ends_message) = 0;

 protected:
  ~Disorder() = default;
};

}  // namespace mrc
