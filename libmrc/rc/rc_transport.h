// SPDX-License-Identifier: BSD-2-Clause
// Plain RoCEv2 RC as the transport of a queue pair: its requester and responder, and the one path they use.
#pragma once

#include <cstdint>
#include <optional>

#include "libmrc/path/path_set.h"
#include "libmrc/peer/connection.h"
#include "libmrc/rc/rc_requester.h"
#include "libmrc/rc/rc_responder.h"
#include "libmrc/work/terms.h"
#include "libmrc/work/transport.h"

namespace mrc {

class RcTransport {
 public:
  // All of these are the queue pair's and outlive it.
  RcTransport(Connection& connection, PathSet*& paths, const Terms& terms)
      : connection_(connection), paths_(paths), terms_(terms) {}
  RcTransport(const RcTransport&) = delete;
  RcTransport& operator=(const RcTransport&) = delete;

  static constexpr bool kConnects = true;
  void connect(Psn first, Services& services, Nanoseconds now);
  void start_sending(Psn first, uint64_t send_index, Services& services);
  void follow_terms(const TransportConfig&) {
    requester_.retry().configure(terms_.timeout, terms_.retry_linear, terms_.retry_exponential);
  }
  void disconnect(Services& services);
  bool sending() const { return sending_; }
  Arrival classify(const Packet& packet) const;
  void receive(Context& cx, const Packet& packet, Plane plane);
  More transmit(Context& cx, size_t budget, bool fresh_answers);
  void answer_before_leaving(Context& cx) {
    if (responder_.has_work()) responder_.transmit(cx, kBurst);
  }
  void on_timer(Context& cx);
  void on_pause(Nanoseconds away, Nanoseconds now) {
    if (sending_) requester_.on_pause(away, now);
  }
  Nanoseconds next_deadline() const { return sending_ ? requester_.next_deadline() : kNever; }
  std::optional<CompletionStatus> failure() const { return requester_.failure(); }
  const ResponderFault* fault() const { return responder_.fault(); }
  void repeat_nak(Context& cx, Plane plane) { responder_.repeat_nak(cx, plane); }
  bool takes_next(Psn psn) const { return responder_.takes_next(psn); }
  void fault_now(Psn psn, uint8_t syndrome) { responder_.fault_now(psn, syndrome); }
  void flush(Context& cx, CompletionStatus first) { requester_.flush(cx, first); }
  template <typename Each>
  void drain_receives(Each&& each) {
    responder_.slots().drain(each);
  }
  bool drained(const Context& cx) const { return requester_.drained(cx); }
  Psn oldest_unacknowledged() const { return requester_.oldest(); }
  const RetransmitCounts& retransmits() const { return requester_.retransmits(); }

 private:
  void choose_path(Services& services);

  Connection& connection_;
  PathSet*& paths_;
  PathSet own_path_;  // which is one, and nobody else's
  const Terms& terms_;
  RcRequester requester_;
  RcResponder responder_;
  bool sending_ = false;
};
static_assert(IsTransport<RcTransport>);

}  // namespace mrc
