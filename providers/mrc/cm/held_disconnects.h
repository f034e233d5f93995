// SPDX-License-Identifier: BSD-2-Clause
// A peer that leaves has often acknowledged the last request just before. A program that hears of the end
// destroys its queue pair, and with it the completions that it has not polled. So the event waits until those
// that came before it are polled, for a moment at most.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "libmrc/cm/connection.h"
#include "providers/mrc/verbs/device.h"

namespace mrc::provider {

class HeldDisconnects {
 public:
  using Deliver = std::function<void(const cm::Event&)>;

  explicit HeldDisconnects(Deliver deliver) : deliver_(std::move(deliver)) {}

  // Delivers the event, at once or in a later release(). `qpn`: this end of its connection.
  void take(const cm::Event& event, Qpn qpn, Device& device, Nanoseconds now);
  void release(Device& device, Nanoseconds now);
  bool empty() const { return held_.empty(); }
  void clear() { held_.clear(); }

 private:
  struct Held {
    cm::Event event;
    Qpn qpn;
    std::array<uint64_t, 2> pushed;  // to the queue pair's completion queues when the event came
    Nanoseconds until;
  };

  bool behind_another(const cm::Event& event) const;

  const Deliver deliver_;
  std::vector<Held> held_;
};

}  // namespace mrc::provider
