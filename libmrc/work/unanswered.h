// SPDX-License-Identifier: BSD-2-Clause
// What datagrams and raw packets are to a queue pair: a transport that nobody answers. There is no
// connection, nothing to repeat and nothing to be told.
#pragma once

#include "libmrc/work/transport.h"

namespace mrc {

class Unanswered {
 public:
  static constexpr bool kConnects = false;
  void follow_terms(const TransportConfig&) {}
  void disconnect(Services&) {}
  bool sending() const { return sending_; }
  void answer_before_leaving(Context&) {}
  void on_pause(Nanoseconds, Nanoseconds) {}
  void repeat_nak(Context&, Plane) {}
  bool takes_next(Psn) const { return false; }
  void fault_now(Psn, uint8_t) {}
  bool drained(const Context&) const { return true; }
  Psn oldest_unacknowledged() const { return Psn{}; }

 protected:
  struct Burst {
    size_t packets = 0;
    bool blocked = false;  // more could go, but a port has no room now
  };
  // One turn of a transport that has send() and has_work().
  template <typename Sender>
  static More take_turn(Sender& sender, Context& cx, size_t budget) {
    if (!sender.sending()) return More::kNothing;
    const Burst burst = sender.send(cx, budget);
    if (sender.failure() || sender.fault() != nullptr) return More::kNothing;
    if (burst.blocked) return More::kBlocked;
    return sender.has_work(cx) ? More::kReady : More::kNothing;
  }

  bool sending_ = false;
};

}  // namespace mrc
