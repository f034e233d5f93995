// SPDX-License-Identifier: BSD-2-Clause
// MRC as the transport of a queue pair: requester and responder, the paths of the connection, the peer it
// shares a window with, and what both ends learn of each other. mrc_transport.cc is the data path,
// mrc_connection.cc how it begins and ends, and what changes meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "libmrc/congestion/controller.h"
#include "libmrc/containers/linked_list.h"
#include "libmrc/mrc/answers.h"
#include "libmrc/mrc/negotiation.h"
#include "libmrc/mrc/requester.h"
#include "libmrc/mrc/responder.h"
#include "libmrc/path/path_set.h"
#include "libmrc/path/path_turns.h"
#include "libmrc/peer/connection.h"
#include "libmrc/peer/peer_table.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/terms.h"
#include "libmrc/work/transport.h"

namespace mrc {

class MrcTransport {
 public:
  // All of these are `owner`'s and outlive it.
  MrcTransport(QueuePair& owner, Connection& connection, PathSet*& paths, PathTurns& turns,
               const Terms& terms)
      : connection_(connection),
        paths_(paths),
        turns_(turns),
        terms_(terms),
        member_(&owner),
        waiting_(&owner),
        asks_(&owner) {}
  MrcTransport(const MrcTransport&) = delete;
  MrcTransport& operator=(const MrcTransport&) = delete;

  // --- what any transport has: see IsTransport ---
  static constexpr bool kConnects = true;
  void connect(Psn first, Services& services, Nanoseconds now);
  void start_sending(Psn first, uint64_t send_index, Services& services);
  void follow_terms(const TransportConfig& config);
  void disconnect(Services& services);
  bool sending() const { return sending_; }
  Arrival classify(const Packet& packet) const {
    const Opcode opcode = packet.bth.opcode;
    if (!is_mrc(opcode)) return Arrival::kUnsupported;
    return is_request(opcode) || opcode == Opcode::kProbe ? Arrival::kRequest : Arrival::kAnswer;
  }
  // See Responder::take_write. The other half of receive() must not be due either: to ask by which paths to
  // answer.
  bool take_write(Services& services, EventTrace& trace, const Packet& packet, Plane plane, Nanoseconds now) {
    return !(sending_ && paths_->reverse_probe_due(now)) &&
           responder_.take_write(connection_, services, trace, packet, plane, now);
  }
  bool take_middle(Context& cx, const Packet& packet, Plane plane) {
    return !connection_.strict && connection_.extension == PeerExtension::kSupported &&
           !(sending_ && paths_->reverse_probe_due(cx.now)) && responder_.take_middle(cx, packet, plane);
  }
  void receive(Context& cx, const Packet& packet, Plane plane);
  More transmit(Context& cx, size_t budget, bool fresh_answers);
  [[gnu::always_inline]] void fetch_next() const { requester_.fetch_next(); }
  More answer(Context& cx, bool fresh);  // only what the peer waits for, before those whose turn it is
  void answer_before_leaving(Context& cx) {
    if (responder_.control_due()) responder_.send_control_packets(cx, kNoPath);
  }
  void on_timer(Context& cx);
  void on_pause(Nanoseconds away, Nanoseconds now) {
    if (sending_) requester_.on_pause(away, now);
  }
  Nanoseconds next_deadline() const {
    const Nanoseconds asking = negotiation_.next_deadline();
    return sending_ ? std::min(asking, requester_.next_deadline()) : asking;
  }
  std::optional<CompletionStatus> failure() const { return requester_.failure(); }
  const ResponderFault* fault() {
    if (const auto psn = requester_.response_fault()) responder_.fault_now(*psn, Aeth::kNakRemoteAccess);
    return responder_.fault();
  }
  void repeat_nak(Context& cx, Plane plane) { responder_.repeat_nak(cx, plane); }
  bool takes_next(Psn psn) const { return responder_.takes_next(psn); }
  void fault_now(Psn psn, uint8_t syndrome) { responder_.fault_now(psn, syndrome); }
  void flush(Context& cx, CompletionStatus first) {
    if (peer_ != nullptr) leave_peer();
    requester_.flush(cx, first);
    if (answers_.awaited.outstanding() > 0) answers_.awaited.reset(kReadsMax);
  }
  template <typename Each>
  void drain_receives(Each&& each) {
    responder_.slots().drain(each);
  }
  bool drained(const Context& cx) const { return requester_.drained(cx); }
  Psn oldest_unacknowledged() const { return requester_.sent().oldest(); }

  // --- of MRC alone ---
  const Requester& requester() const { return requester_; }
  const Responder& responder() const { return responder_; }
  Peer* peer() const { return peer_; }  // as long as it is connected
  PeerPaths* peer_paths() const { return peer_paths_; }
  // Whether who asks by this queue pair about paths is likely to hear an answer.
  bool hears() const { return sending_ && connection_.resolved != 0 && requester_.hears(); }
  // MRC 4.5: asks about those paths that are due, for all who share them.
  void ask_about_paths(Context& cx);
  // failure() or fault(), cheaper.
  bool is_over() const {
    return requester_.failure() || requester_.response_fault() || responder_.fault() != nullptr;
  }
  bool waits_for_window() const { return waiting_.listed(); }
  // It was the first of those that wait for the peer's window, which is open now.
  void give_turn() { its_turn_ = true; }
  void set_mpr(uint32_t packets) { requester_.set_mpr(packets); }
  // The answer to an endpoint request of ours.
  void on_endpoint_response(const Packet& packet, Nanoseconds now);
  // MRC 4.6: a local port lost or got its link; the peer said which of its ports are usable.
  void follow_ports(Context& cx);
  void follow_remote_ports(Nanoseconds now);
  // The local ports that had a link when it last heard of them.
  PlaneMask ports_known() const { return ports_known_; }
  bool has_heard_of_remote_ports() const { return peer_ == nullptr || peer_->ports_news == ports_followed_; }
  // Tells the peer which of our ports are usable; the engine hears the answer.
  void announce_ports(Context& cx, PlaneMask usable, uint32_t announcement);
  // The profile of its paths may have changed, or which of the device's own are denied.
  void follow_profile(Services& services, Nanoseconds now);

 private:
  EvEntries own_paths(Services& services) const;
  void make_paths(Services& services, Nanoseconds now);
  void follow_own_ports(PlaneMask up, Nanoseconds now);
  void leave_peer();
  void tell_denied(Services& services);
  bool shares_window() const {  // of congestion control, with others to the same peer
    return peer_ != nullptr && peer_->controller.algorithm() != CongestionAlgorithm::kNone;
  }
  bool others_wait() const;
  void send_requests(Context& cx, size_t budget, Requester::Burst* burst);
  void start_answering(Context& cx);
  // What the peer speaks.
  void hear_word(PeerExtension word, Nanoseconds now);
  bool take_word_of_others(Nanoseconds now);
  bool await_word(Nanoseconds now);
  void await_negotiation(Nanoseconds now);
  void doubt(Nanoseconds now);

  Connection& connection_;
  PathSet*& paths_;
  PathTurns& turns_;
  const Terms& terms_;
  Answers answers_;
  Requester requester_{answers_};
  Responder responder_{answers_};
  Negotiation negotiation_;
  CongestionController own_controller_;  // when there is no congestion control
  Peer* peer_ = nullptr;
  PeerPaths* peer_paths_ = nullptr;  // as long as there is a peer
  uint32_t ports_followed_ = 0;      // of the peer's news of its ports, the last that it was told
  PlaneMask ports_known_ = 0;
  LinkedList<QueuePair>::Node member_;   // of those that are connected to the peer
  LinkedList<QueuePair>::Node waiting_;  // for the peer's window
  LinkedList<QueuePair>::Node asks_;     // of those that can ask about its paths
  bool its_turn_ = false;                // it was the first of that list, and has not sent since
  bool has_path_profile_ = false;        // its paths were made of that
  bool sending_ = false;                 // there is a PSN to send by
  bool answers_waited_ = false;          // what the responder has to say was held back in the last burst
  bool asks_for_psn_ = false;
  bool on_trust_ = false;            // others were told what the peer speaks, and it has not answered since
  std::optional<Psn> peer_expects_;  // what the peer said when it was asked for that
};
static_assert(IsTransport<MrcTransport>);

}  // namespace mrc
