// SPDX-License-Identifier: BSD-2-Clause
// What the responder sends back: SACK, transport ACK and NAK, NACK.
#include <algorithm>

#include "libmrc/mrc/responder.h"
#include "libmrc/work/receiver_not_ready.h"

namespace mrc {

// MRC 2, SPEC 7.5.1, dynamic MPR: what this connection is welcome with while so many receive, in a SACK's
// units. Never zero, which means that dynamic MPR is off.
uint8_t Responder::welcome(const Context& cx) const {
  const uint32_t receiving = cx.services.receiving;
  uint64_t packets = std::min(cx.connection.mpr, config_->window_packets);
  if (receiving > config_->full_windows) packets = packets * config_->full_windows / receiving;
  return static_cast<uint8_t>(std::clamp<uint64_t>(packets / kMprUnit, 1, 255));
}

// Answered when the burst has been read from all planes: what stands behind the probe in the other ports'
// queues has arrived as well, and must not be reported missing.
void Responder::on_probe(Context& cx, const Packet& packet, Plane plane) {
  if (!names_connection(cx.connection, packet.peth.source_qpn_low, packet.peth.destination_qpn_low)) {
    ++cx.services.counters.drops_bad_control;
    return;
  }
  ++cx.services.counters.probes_received;
  if (probe_count_ == probes_.size()) return;  // the requester asks again
  Trigger trigger = trigger_of(packet, plane);
  trigger.timestamp = packet.peth.time.timestamp;
  probes_[probe_count_++] = {trigger, packet.peth.probe_id};
}

void Responder::answer_probes(Context& cx) {
  for (uint32_t i = 0; i < probe_count_; ++i) {
    const Trigger& trigger = probes_[i].trigger;
    send_sack(cx, path_back(cx, trigger.plane, trigger.entropy, true), trigger, probes_[i].id);
  }
  // A requester that only misses the ACK asks like this, too.
  if (probe_count_ > 0 && anything_received_) {
    ack_due_ = true;
    trigger_.plane = probes_[probe_count_ - 1].trigger.plane;
  }
  probe_count_ = 0;
}

[[gnu::hot]] void Responder::send_control_packets(Context& cx, PathId behind) {
  answer_probes(cx);
  const PathId path = behind != kNoPath ? behind : path_back(cx, trigger_.plane, trigger_.entropy);
  // MRC 3.1 wants a SACK for every AckReq. Between two of our kind the transport ACK alone says the same when
  // nothing is missing and the SACK was due for no other reason: one frame less per message.
  const bool ack_says_all = ack_due_ && !sack_wanted_ && window_.held() == 0 &&
                            cx.connection.extension == PeerExtension::kSupported;
  if (ack_says_all) {
    sack_due_ = false;
    unsacked_bytes_ = 0;
  }
  if (sack_due_) send_sack(cx, path, trigger_, std::nullopt);
  if (ack_due_) send_acknowledge(cx, path);
}

// What rcv_cwnd_pen says: to NSCC a penalty, to the receiver-aware controller how many senders there are.
uint8_t Responder::word_to_senders(Context& cx) const {
  ReceiverShare& share = cx.services.receiver_share;
  return config_->congestion == CongestionAlgorithm::kReceiverAware ? share.degree(cx.now)
                                                                    : share.penalty(cx.peer_index, cx.now);
}

// MRC 12.S6, 1.4.
void Responder::send_sack(Context& cx, PathId path, const Trigger& trigger, std::optional<uint16_t> probe) {
  Bth bth;
  bth.opcode = Opcode::kSack;
  bth.destination = cx.connection.remote_qpn;
  bth.retransmission = trigger.retransmission;
  bth.psn = window_.cumulative();
  Sack sack;
  sack.mark = trigger.mark;
  sack.answers_probe = probe.has_value();
  sack.trigger = probe ? *probe : static_cast<uint16_t>(trigger.psn - window_.cumulative());
  sack.entropy = config_->interop.echo(trigger.entropy);
  sack.source_qpn_low = static_cast<uint16_t>(cx.connection.local_qpn.value());
  sack.destination_qpn_low = static_cast<uint16_t>(cx.connection.remote_qpn.value());
  sack.cumulative_psn = window_.cumulative();
  // A probe asks what is missing, not what is new.
  const ReceiveWindow::Report report = probe ? window_.report_again() : window_.report();
  sack.bitmap_offset = report.offset;
  sack.bitmap = report.bitmap;
  sack.timestamp = trigger.timestamp;  // MRC 12.S10: and the next three
  sack.out_of_order = static_cast<uint16_t>(std::min<uint32_t>(window_.held(), 0x7FFF));
  if (cx.connection.dynamic_mpr) sack.mpr = welcome(cx);
  sack.received_units = static_cast<uint32_t>((received_bytes_ + 255) / 256) & 0xFFFFFF;
  if (config_->counts_senders()) sack.window_penalty = word_to_senders(cx);
  if (!send_control(cx, path, &PlaneFrames::control, bth, sack)) return;
  ++cx.services.counters.sacks_sent;
  sack_due_ = sack_wanted_ = sack_urgent_ = false;
  unsacked_bytes_ = 0;
}

[[gnu::hot]] bool Responder::send_aeth(Context& cx, PathId path, Psn psn, uint8_t syndrome) const {
  Bth bth;
  bth.opcode = Opcode::kAcknowledge;
  bth.destination = cx.connection.remote_qpn;
  bth.psn = psn;
  return send_control(cx, path, &PlaneFrames::control, bth, Aeth{syndrome, msn_ & 0xFFFFFF});
}

[[gnu::hot]] void Responder::send_acknowledge(Context& cx, PathId path) {
  if (!send_aeth(cx, path, nak_ ? nak_->psn : window_.cumulative(), nak_ ? nak_->syndrome : Aeth::kAck))
    return;
  ++(nak_ ? cx.services.counters.naks_sent : cx.services.counters.acks_sent);
  ack_due_ = false;
}

void Responder::repeat_nak(Context& cx, Plane plane) {
  if (nak_) send_acknowledge(cx, path_back(cx, plane, {}));
}

// No receive request for this message: the requester shall come again after the delay of our RNR timer. It is
// told for the packet whose turn it is; those behind it are dropped without a word and found missing later.
void Responder::send_not_ready(Context& cx, const Packet& packet, Plane plane) {
  const Psn psn = packet.bth.psn;
  if (psn != window_.expected()) return;
  if (send_aeth(cx, path_back(cx, plane, packet.entropy), psn, rnr_syndrome(cx.connection)))
    ++cx.services.counters.not_ready_sent;
}

void Responder::send_nack(Context& cx, const Packet& packet, Plane plane, NackReason reason) {
  Bth bth;
  bth.opcode = Opcode::kNack;
  bth.destination = cx.connection.remote_qpn;
  bth.psn = packet.bth.psn;
  Neth neth;
  neth.reason = reason;
  neth.entropy = config_->interop.echo(packet.entropy);
  neth.source_qpn_low = static_cast<uint16_t>(cx.connection.local_qpn.value());
  neth.destination_qpn_low = static_cast<uint16_t>(cx.connection.remote_qpn.value());
  neth.psn = packet.bth.psn;
  neth.timestamp = packet.bth.has_timestamp ? packet.time.timestamp : 0;
  // In a large incast most senders hear a NACK long before they hear a SACK.
  if (config_->congestion == CongestionAlgorithm::kReceiverAware)
    neth.vendor_info = cx.services.receiver_share.degree(cx.now);
  const PathId path = path_back(cx, plane, packet.entropy);
  if (!send_control(cx, path, &PlaneFrames::control, bth, neth)) return;
  ++cx.services.counters.nacks_sent;
  ++cx.services.counters.nacks_sent_by[nack_index(reason)];
}

}  // namespace mrc
