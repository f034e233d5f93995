// SPDX-License-Identifier: BSD-2-Clause
// The transport of a reliable queue pair that has none yet: it is chosen when the queue pair is connected.
#pragma once

#include "libmrc/work/request_completion.h"
#include "libmrc/work/unanswered.h"

namespace mrc {

class Unconnected : public Unanswered {
 public:
  void connect(Psn, Services&, Nanoseconds) {}
  void start_sending(Psn, uint64_t, Services&) {}
  Arrival classify(const Packet&) const { return Arrival::kRequest; }  // which is refused for the state
  void receive(Context&, const Packet&, Plane) {}
  More transmit(Context&, size_t, bool) { return More::kNothing; }
  void on_timer(Context&) {}
  Nanoseconds next_deadline() const { return kNever; }
  std::optional<CompletionStatus> failure() const { return std::nullopt; }
  const ResponderFault* fault() const { return nullptr; }
  void flush(Context& cx, CompletionStatus first) { flush_requests(cx, first); }
  template <typename Each>
  void drain_receives(Each&&) {}
};
static_assert(IsTransport<Unconnected>);

}  // namespace mrc
