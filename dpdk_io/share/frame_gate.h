// SPDX-License-Identifier: BSD-2-Clause
// What a program may send by a port that it shares with others: packets of ours from addresses of this host,
// to one neighbour, and datagrams from its own queue pairs. What else a packet says is between it and the
// peer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class FrameGate {
 public:
  struct Rules {
    std::function<bool(const IpAddress&)> is_local;
    // The source of what is routed by SRv6; nothing: such packets do not leave.
    std::function<std::optional<IpAddress>(Plane)> outer_source;
  };
  explicit FrameGate(Rules rules) : rules_(std::move(rules)) {}

  // The frame must not be changed by anybody meanwhile, nor afterwards.
  bool lets_out(uint32_t slot, Plane plane, std::span<const uint8_t> frame, Nanoseconds now);

 private:
  bool is_local(const IpAddress& address, Nanoseconds now);

  const Rules rules_;
  // The address asked about last: usually it comes again.
  IpAddress known_;
  Nanoseconds known_until_ = 0;
};

}  // namespace mrc
