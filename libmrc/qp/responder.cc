// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/responder.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mrc {

namespace {
constexpr uint32_t kSackCountMin = 1024;  // MRC 3.1: a packet counts as at least 1 KiB
constexpr Nanoseconds kWindowNackInterval = 100 * kMicrosecond;
}  // namespace

void Responder::reset(const TransportConfig& config, Psn first) {
  *this = Responder{};
  config_ = &config;
  window_.reset(config.window_packets, first);
  stash_.assign(std::bit_ceil<uint32_t>(config.immediates_max), Stash{});
}

Responder::Trigger Responder::trigger_of(const Packet& packet, Plane plane) const {
  Trigger trigger;
  trigger.psn = packet.bth.psn;
  trigger.entropy = packet.entropy;
  trigger.plane = plane;
  trigger.retransmission = packet.bth.retransmission;
  trigger.mark = packet.ecn == Ecn::kCongestion ? PathMark::kSkipOnce : PathMark::kNone;
  trigger.timestamp = packet.bth.has_timestamp ? packet.time.timestamp : 0;
  return trigger;
}

// ------------------------------------------------------------------------------------------- requests

void Responder::on_request(Context& cx, const Packet& packet, Plane plane) {
  const Psn psn = packet.bth.psn;
  Counters& counters = cx.services.counters;
  const Trigger trigger = trigger_of(packet, plane);
  switch (window_.classify(psn)) {
    case ReceiveWindow::Arrival::kOutOfWindow:
      ++counters.out_of_window;
      // MRC 2 [P]: said at most once in a while.
      if (cx.now - last_window_nack_ >= kWindowNackInterval) {
        last_window_nack_ = cx.now;
        send_nack(cx, packet, plane, NackReason::kPsnOutOfWindow);
      }
      return;
    case ReceiveWindow::Arrival::kDuplicateBelow:
      ack_due_ = true;  // the requester may have missed it
      [[fallthrough]];
    case ReceiveWindow::Arrival::kDuplicateAbove:
      ++counters.duplicates;
      trigger_ = trigger;
      sack_due_ = sack_urgent_ = true;
      return;
    case ReceiveWindow::Arrival::kNew:
      break;
  }
  if (fault_ && psn > fault_->psn) return;  // the connection ends before it

  uint8_t passing = place(cx, packet);
  if (packet.bth.ack_request) passing |= ReceiveWindow::kAckRequested;
  window_.record(psn, passing);
  received_bytes_ += packet.payload.size();

  // MRC 3.1, SPEC 7.5.2: what makes a SACK go out.
  unsacked_bytes_ += std::max<uint32_t>(kSackCountMin, static_cast<uint32_t>(packet.payload.size()));
  const bool urgent = unsacked_bytes_ > config_->sack_threshold_bytes || packet.bth.retransmission;
  if (urgent || packet.bth.ack_request || !anything_received_) {
    trigger_ = trigger;
    sack_due_ = true;
    sack_urgent_ = sack_urgent_ || urgent;
  }
  anything_received_ = true;
  advance(cx);
  // MRC 7.5.2: a CE-marked packet is acknowledged at once, by itself, so that the requester learns which path
  // it was.
  if (trigger.mark != PathMark::kNone) send_sack(cx, cx.paths.control_path(plane), trigger, std::nullopt);
}

// Checks the request and writes its payload where it belongs. Returns what it does when its turn comes.
uint8_t Responder::place(Context& cx, const Packet& packet) {
  const Opcode opcode = packet.bth.opcode;
  uint8_t* to = nullptr;
  if (!memory_allows(cx, packet, &to)) {
    fault(packet.bth.psn, Aeth::kNakRemoteAccess);
    return ReceiveWindow::kFaulty;
  }
  uint8_t passing = is_message_end(opcode) ? ReceiveWindow::kEndsMessage : ReceiveWindow::kNothing;
  if (has_immediate(opcode)) {
    // MRC 2: more immediates in flight than agreed, or one that repeats another's number.
    if (!stash(packet)) {
      fault(packet.bth.psn, Aeth::kNakInvalidRequest);
      return ReceiveWindow::kFaulty;
    }
    passing |= ReceiveWindow::kImmediate;
  }
  if (!packet.payload.empty()) {
    std::memcpy(to, packet.payload.data(), packet.payload.size());
    cx.services.counters.payload_bytes_placed += packet.payload.size();
  }
  return passing;
}

// MRC 2: bounds are checked per packet. A packet also shows as much of its message as it can: the start of a
// First gives all of it, and around a Middle there is at least one path MTU before and one byte behind.
bool Responder::memory_allows(Context& cx, const Packet& packet, uint8_t** to) const {
  const Reth& reth = packet.reth;
  if (reth.message_bytes == 0) return true;  // as in IBTA: no key is looked at
  if ((cx.connection.remote_access & kRemoteWrite) == 0) return false;
  const MemoryRegion* region = cx.services.memory.find(reth.key);
  if (region == nullptr || region->domain != cx.connection.domain || (region->access & kRemoteWrite) == 0)
    return false;
  const uint64_t bytes = packet.payload.size();
  if (!region->contains(reth.address, bytes) || reth.message_bytes > region->bytes) return false;
  const Opcode opcode = packet.bth.opcode;
  if (is_message_start(opcode)) {
    if (!region->contains(reth.address, reth.message_bytes)) return false;
  } else if (!is_message_end(opcode)) {
    if (reth.address - region->address < cx.connection.mtu || !region->contains(reth.address, bytes + 1))
      return false;
  }
  *to = region->base + (reth.address - region->address);
  return true;
}

bool Responder::stash(const Packet& packet) {
  const auto ahead = static_cast<uint16_t>(packet.meth.receive_msn - next_receive_msn_);
  if (ahead >= config_->immediates_max) return false;
  Stash& entry = stash_[packet.meth.receive_msn & (stash_.size() - 1)];
  if (entry.used) return false;
  entry = {true, false, packet.bth.psn, packet.immediate, packet.reth.message_bytes};
  return true;
}

void Responder::fault(Psn psn, uint8_t syndrome) {
  if (!fault_ || psn < fault_->psn) fault_ = Fault{psn, syndrome};
}

// ------------------------------------------------------------------------------------------- in order

void Responder::advance(Context& cx) {
  while (!nak_) {
    const uint8_t passing = window_.pass();
    if (passing == ReceiveWindow::kNothing) return;
    if ((passing & ReceiveWindow::kFaulty) != 0) {
      nak_ = fault_;
      return;
    }
    if ((passing & ReceiveWindow::kImmediate) != 0) {
      deliver_immediate(cx, window_.cumulative());
      if (nak_) return;
    }
    if ((passing & ReceiveWindow::kEndsMessage) != 0) ++msn_;
    if ((passing & ReceiveWindow::kAckRequested) != 0) ack_due_ = true;
  }
}

void Responder::deliver_immediate(Context& cx, Psn psn) {
  Stash& entry = stash_[next_receive_msn_ & (stash_.size() - 1)];
  ReceiveQueue& queue = cx.receive_queue;
  if (!entry.used || entry.psn != psn) {
    nak_ = Fault{psn, Aeth::kNakInvalidRequest};
    return;
  }
  if (queue.empty()) {
    // MRC 2: there is no "receiver not ready"; an immediate without a receive request ends the connection.
    nak_ = Fault{psn, Aeth::kNakRemoteOperation};
    return;
  }
  Completion completion;
  completion.work_id = queue.at(queue.head()).work_id;
  completion.byte_count = entry.bytes;
  completion.immediate = entry.immediate;
  completion.has_immediate = true;
  completion.solicited = entry.solicited;
  completion.qpn = cx.connection.local_qpn;
  completion.kind = CompletionKind::kReceiveRdmaImmediate;
  queue.release(queue.head() + 1);
  entry.used = false;
  ++next_receive_msn_;
  if (!cx.services.completions.push(cx.receive_completions, completion))
    nak_ = Fault{psn, Aeth::kNakRemoteOperation};
}

// ------------------------------------------------------------------------------------------- answers

void Responder::on_probe(Context& cx, const Packet& packet, Plane plane) {
  ++cx.services.counters.probes_received;
  Trigger trigger = trigger_of(packet, plane);
  trigger.timestamp = packet.peth.time.timestamp;
  send_sack(cx, cx.paths.control_path(usable_plane(cx.connection, plane)), trigger, packet.peth.probe_id);
}

void Responder::send_control_packets(Context& cx, PathId behind) {
  const PathId path =
      behind != kNoPath ? behind : cx.paths.control_path(usable_plane(cx.connection, trigger_.plane));
  if (sack_due_) send_sack(cx, path, trigger_, std::nullopt);
  if (ack_due_) send_acknowledge(cx, path);
}

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
  sack.entropy = trigger.entropy;
  sack.source_qpn_low = static_cast<uint16_t>(cx.connection.local_qpn.value());
  sack.destination_qpn_low = static_cast<uint16_t>(cx.connection.remote_qpn.value());
  sack.cumulative_psn = window_.cumulative();
  // A probe asks what is missing: report from the first gap on.
  const ReceiveWindow::Report report = probe ? window_.report_from(window_.expected()) : window_.report();
  sack.bitmap_offset = report.offset;
  sack.bitmap = report.bitmap;
  sack.timestamp = trigger.timestamp;
  sack.out_of_order = static_cast<uint16_t>(std::min<uint32_t>(window_.held(), 0x7FFF));
  sack.received_units = static_cast<uint32_t>((received_bytes_ + 255) / 256) & 0xFFFFFF;
  if (!send_control(cx, path, config_->dscp_control, bth, sack)) return;
  ++cx.services.counters.sacks_sent;
  sack_due_ = sack_urgent_ = false;
  unsacked_bytes_ = 0;
}

void Responder::send_acknowledge(Context& cx, PathId path) {
  Bth bth;
  bth.opcode = Opcode::kAcknowledge;
  bth.destination = cx.connection.remote_qpn;
  bth.psn = nak_ ? nak_->psn : window_.cumulative();
  Aeth aeth;
  aeth.syndrome = nak_ ? nak_->syndrome : Aeth::kAck;
  aeth.msn = msn_ & 0xFFFFFF;
  if (!send_control(cx, path, config_->dscp_control, bth, aeth)) return;
  ++(nak_ ? cx.services.counters.naks_sent : cx.services.counters.acks_sent);
  ack_due_ = false;
}

void Responder::repeat_nak(Context& cx, Plane plane) {
  if (nak_) send_acknowledge(cx, cx.paths.control_path(usable_plane(cx.connection, plane)));
}

void Responder::send_nack(Context& cx, const Packet& packet, Plane plane, NackReason reason) {
  Bth bth;
  bth.opcode = Opcode::kNack;
  bth.destination = cx.connection.remote_qpn;
  bth.psn = packet.bth.psn;
  Neth neth;
  neth.reason = reason;
  neth.entropy = packet.entropy;
  neth.source_qpn_low = static_cast<uint16_t>(cx.connection.local_qpn.value());
  neth.destination_qpn_low = static_cast<uint16_t>(cx.connection.remote_qpn.value());
  neth.psn = packet.bth.psn;
  neth.timestamp = packet.bth.has_timestamp ? packet.time.timestamp : 0;
  const PathId path = cx.paths.control_path(usable_plane(cx.connection, plane));
  if (send_control(cx, path, config_->dscp_control, bth, neth)) ++cx.services.counters.nacks_sent;
}

}  // namespace mrc
