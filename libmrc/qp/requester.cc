// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/requester.h"

#include <algorithm>

namespace mrc {

namespace {
constexpr Nanoseconds kSilenceUnknownRtt = kMillisecond;
constexpr Nanoseconds kSilenceMin = 100 * kMicrosecond;
constexpr uint32_t kReorderScaleMax = 64;
constexpr Nanoseconds kReorderScaleDecay = 10 * kMillisecond;
constexpr size_t kPathProbesPerCall = 16;

uint32_t packet_count(uint32_t bytes, uint32_t mtu) {
  return bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
}

Opcode write_opcode(bool first, bool last, bool immediate) {
  if (first && last) return immediate ? Opcode::kWriteOnlyImm : Opcode::kWriteOnly;
  if (first) return Opcode::kWriteFirst;
  if (last) return immediate ? Opcode::kWriteLastImm : Opcode::kWriteLast;
  return Opcode::kWriteMiddle;
}
}  // namespace

void Requester::reset(const TransportConfig& config, Psn first) {
  const RetryPolicy retry = retry_;
  *this = Requester{};
  retry_ = retry;
  retry_.progress();
  config_ = &config;
  sent_.reset(config.window_packets, first);
  window_.reset(config.window_bytes);
}

// ---------------------------------------------------------------------------------------------- sending

bool Requester::wants_to_send(const SendQueue& queue) const {
  if (failure_) return false;
  if (!window_.may_send(sent_.in_flight_bytes())) return false;
  if (sent_.lost() > 0) return true;
  return !local_error_ && cursor_ != queue.tail() && !sent_.full();
}

Requester::Burst Requester::transmit(Context& cx, size_t budget) {
  Burst burst;
  Transmitter& transmitter = cx.services.transmitter;
  const size_t planes = transmitter.plane_count();
  std::array<size_t, kPlanesMax> room{};
  PlaneMask usable = 0;
  for (size_t plane = 0; plane < planes; ++plane) {
    if ((cx.connection.resolved >> plane & 1) == 0) continue;
    const auto id = static_cast<Plane>(plane);
    room[plane] = transmitter.room(id, cx.connection.network[plane].destination_mac);
    if (room[plane] > 0) usable |= PlaneMask{1} << plane;
  }
  while (burst.packets < budget && !failure_) {
    if (!window_.may_send(sent_.in_flight_bytes())) break;
    const bool again = sent_.lost() > 0;
    if (!again && !prepare_next_request(cx)) break;
    const PathId path = cx.paths.select(usable);
    if (path == kNoPath) {
      burst.blocked = true;
      break;
    }
    const Plane plane = cx.paths.at(path).plane;
    uint8_t* buffer = transmitter.begin(plane);
    if (buffer == nullptr) {
      ++cx.services.counters.tx_no_buffer;
      usable &= ~(PlaneMask{1} << plane);
      continue;
    }
    const bool sent = again ? send_again(cx, sent_.first_lost(), path, buffer) : send_new(cx, path, buffer);
    if (!sent) break;
    ++burst.packets;
    burst.last_path = path;
    if (--room[plane] == 0) usable &= ~(PlaneMask{1} << plane);
  }
  return burst;
}

CompletionStatus Requester::check(Context& cx, const SendRequest& request) const {
  if (request.operation != Operation::kWrite && request.operation != Operation::kWriteImm)
    return CompletionStatus::kLocalQpOperationError;
  if ((request.flags & kInline) != 0) return CompletionStatus::kSuccess;
  for (uint32_t i = 0; i < request.segment_count; ++i) {
    const Segment& segment = request.segments()[i];
    if (segment.bytes == 0) continue;
    if (cx.services.memory.translate(segment.key, cx.connection.domain, segment.address, segment.bytes,
                                     kLocalRead) == nullptr)
      return CompletionStatus::kLocalProtectionError;
  }
  return CompletionStatus::kSuccess;
}

// Makes the request at the cursor ready to be cut into packets. False: there is none, or it has to wait.
bool Requester::prepare_next_request(Context& cx) {
  if (local_error_ || sent_.full()) return false;
  if (started_) return true;
  if (cursor_ == cx.send_queue.tail()) return false;
  SendRequest& request = cx.send_queue.at(cursor_);
  // MRC 2: never more than max_wimm immediates in flight.
  const bool immediate = request.operation == Operation::kWriteImm;
  if (immediate && immediates_ >= config_->immediates_max) return false;
  const CompletionStatus status = check(cx, request);
  if (status != CompletionStatus::kSuccess) {
    fail_locally(cx, status);
    return false;
  }
  request.first_psn = sent_.next();
  request.last_psn =
      request.first_psn + static_cast<int32_t>(packet_count(request.bytes, cx.connection.mtu) - 1);
  request.msn = msn_++;
  request.receive_msn = receive_msn_;
  if (immediate) {
    ++receive_msn_;
    ++immediates_;
  }
  started_ = true;
  offset_ = 0;
  return true;
}

// The request at the cursor cannot be sent. What is before it completes first.
void Requester::fail_locally(Context& cx, CompletionStatus status) {
  local_error_ = status;
  if (cx.send_queue.head() == cursor_) failure_ = status;
}

bool Requester::send_new(Context& cx, PathId path, uint8_t* buffer) {
  SendRequest& request = cx.send_queue.at(cursor_);
  const Psn psn = sent_.next();
  const uint32_t bytes = std::min(cx.connection.mtu, request.bytes - offset_);
  const bool last = psn == request.last_psn;
  // MRC 3.1: an answer is asked for when a completion waits for it, when nothing follows, and when the window
  // closes.
  const bool signaled = cx.signal_all || (request.flags & kSignaled) != 0;
  const bool nothing_follows = last && !can_follow(cx);
  const bool window_closes = sent_.outstanding() + 1 == config_->window_packets ||
                             (config_->window_bytes < 2 * config_->sack_threshold_bytes &&
                              !window_.may_send(sent_.in_flight_bytes() + bytes));
  const bool ack_request = (last && signaled) || nothing_follows || window_closes;
  if (!busy()) timer_base_ = quiet_since_ = cx.now;
  if (!write_packet(cx, request, psn, path, false, ack_request, buffer)) return false;
  sent_.add({cx.now, ++order_, cursor_, path, static_cast<uint16_t>(bytes), PacketState::kInFlight, 1});
  ++cx.services.counters.data_packets_sent;
  cx.services.counters.payload_bytes_sent += bytes;
  offset_ += bytes;
  if (psn == request.first_psn) ++unacknowledged_;
  if (last) {
    ++cursor_;
    started_ = false;
  }
  return true;
}

// Whether the request behind the one at the cursor could be sent right after it.
bool Requester::can_follow(Context& cx) const {
  if (cursor_ + 1 == cx.send_queue.tail()) return false;
  return cx.send_queue.at(cursor_ + 1).operation != Operation::kWriteImm ||
         immediates_ < config_->immediates_max;
}

// MRC 3.4: the same packet on a fresh path, marked as a retransmission.
bool Requester::send_again(Context& cx, Psn psn, PathId path, uint8_t* buffer) {
  const SentPacket& packet = sent_.at(psn);
  const SendRequest& request = cx.send_queue.at(packet.request);
  if (!write_packet(cx, request, psn, path, true, true, buffer)) return false;
  sent_.resend(psn, path, ++order_, cx.now);
  if (psn == sent_.oldest()) timer_base_ = cx.now;
  return true;
}

bool Requester::write_packet(Context& cx, const SendRequest& request, Psn psn, PathId path, bool again,
                             bool ack_request, uint8_t* buffer) {
  const bool first = psn == request.first_psn;
  const bool last = psn == request.last_psn;
  const bool immediate = last && request.operation == Operation::kWriteImm;
  const uint32_t offset = static_cast<uint32_t>(psn - request.first_psn) * cx.connection.mtu;
  const uint32_t bytes = std::min(cx.connection.mtu, request.bytes - offset);
  const uint32_t pad = -bytes & 3;

  Bth bth;
  bth.opcode = write_opcode(first, last, request.operation == Operation::kWriteImm);
  bth.pad_bytes = static_cast<uint8_t>(pad);
  bth.destination = cx.connection.remote_qpn;
  bth.ack_request = ack_request;
  bth.retransmission = again;
  bth.has_timestamp = true;
  bth.psn = psn;

  const Path& chosen = cx.paths.at(path);
  const size_t transport_bytes = Bth::kBytes + Meth::kBytes + Tseth::kBytes + Reth::kBytes +
                                 (immediate ? ImmDt::kBytes : 0) + bytes + pad;
  FrameWriter frame(buffer, cx.connection.network[chosen.plane], chosen.entropy, config_->dscp_data,
                    Ecn::kEct0, transport_bytes);
  frame.add(bth);
  frame.add(Meth{request.receive_msn, request.msn});
  frame.add(Tseth{to_wire_timestamp(cx.now, config_->coarse_timestamps), config_->coarse_timestamps});
  frame.add(Reth{request.remote_address + offset, request.remote_key, request.bytes});
  if (immediate) frame.add_immediate(request.immediate);
  frame.end_headers();
  if (!gather(cx, request, offset, bytes, &frame)) {
    // The memory was taken away under a request that had passed its check.
    failure_ = CompletionStatus::kLocalProtectionError;
    return false;
  }
  cx.services.transmitter.commit(chosen.plane, frame.finish(pad));
  return true;
}

bool Requester::gather(Context& cx, const SendRequest& request, uint32_t offset, uint32_t bytes,
                       FrameWriter* frame) {
  if ((request.flags & kInline) != 0) {
    frame->add_payload(request.inline_data() + offset, bytes);
    return true;
  }
  for (uint32_t i = 0; i < request.segment_count && bytes > 0; ++i) {
    const Segment& segment = request.segments()[i];
    if (offset >= segment.bytes) {
      offset -= segment.bytes;
      continue;
    }
    const uint32_t part = std::min(bytes, segment.bytes - offset);
    const uint8_t* from = cx.services.memory.translate(segment.key, cx.connection.domain,
                                                       segment.address + offset, part, kLocalRead);
    if (from == nullptr) return false;
    frame->add_payload(from, part);
    bytes -= part;
    offset = 0;
  }
  return bytes == 0;
}

// ------------------------------------------------------------------------------------------- what arrived

void Requester::heard(Nanoseconds now) {
  quiet_since_ = now;
  silences_ = 0;
}

// Notes that a packet arrived. Only a packet that was sent once tells by which path it came.
bool Requester::credit(Context& cx, Psn psn) {
  if (!sent_.deliver(psn)) return false;
  const SentPacket& packet = sent_.at(psn);
  if (packet.transmissions == 1) {
    cx.paths.delivered(packet.path, packet.order);
    newest_delivery_ = std::max(newest_delivery_, packet.sent_at);
  }
  return true;
}

void Requester::credit_up_to(Context& cx, Psn psn) {
  if (psn < sent_.oldest()) return;
  for (Psn at = sent_.oldest(); at <= psn; ++at) credit(cx, at);
  sent_.advance(psn);
  retry_.progress();
  timer_base_ = cx.now;
}

void Requester::on_sack(Context& cx, const Packet& packet) {
  const Sack& sack = packet.sack;
  const Psn base = sack.cumulative_psn + sack.bitmap_offset;
  if (sack.cumulative_psn >= sent_.next()) {
    ++cx.services.counters.drops_bad_control;
    return;
  }
  ++cx.services.counters.sacks_received;
  heard(cx.now);
  // SACKs are sprayed too and overtake each other: only the newest may speak of what is missing.
  const uint32_t age = (received_units_ - sack.received_units) & 0xFFFFFF;
  const bool fresh = !sack_seen_ || age == 0 || age > 0x800000;
  if (fresh) received_units_ = sack.received_units;
  sack_seen_ = true;

  learn_from_trigger(cx, packet);
  credit_up_to(cx, sack.cumulative_psn);
  for (uint64_t bits = sack.bitmap; bits != 0; bits &= bits - 1) {
    const Psn psn = base + __builtin_ctzll(bits);
    if (sent_.contains(psn)) credit(cx, psn);
  }
  // An acknowledgement that has overtaken this SACK knows more than it does.
  if (fresh && sack.cumulative_psn + 1 == sent_.oldest()) find_losses(cx, base, sack.bitmap);
  next_path_probe_ = cx.paths.next_probe();
}

// The packet that made the responder send this SACK: its path works, and its round trip can be measured.
void Requester::learn_from_trigger(Context& cx, const Packet& packet) {
  const Sack& sack = packet.sack;
  PathId path = kNoPath;
  if (sack.answers_probe) {
    Probe& probe = probes_[sack.trigger % kProbesMax];
    if (probe.path == kNoPath || probe.id != sack.trigger) return;
    ++cx.services.counters.probes_answered;
    path = probe.path;
    cx.paths.delivered(path, probe.order);
    newest_delivery_ = std::max(newest_delivery_, probe.sent_at);
    rtt_.sample(cx.now - probe.sent_at);
    probe.path = kNoPath;
    if (sack.mark == PathMark::kNone && cx.paths.probe_answered(path, cx.now))
      ++cx.services.counters.paths_restored;
  } else {
    const Psn psn = sack.cumulative_psn + static_cast<int16_t>(sack.trigger);
    if (!sent_.contains(psn)) return;
    const SentPacket& sent = sent_.at(psn);
    if (cx.paths.at(sent.path).entropy != sack.entropy) return;
    const bool again = packet.bth.retransmission;
    if (again && sent.state == PacketState::kDelivered) {
      // The first copy had arrived after all: wait longer before the next time.
      reorder_scale_ = std::min(2 * reorder_scale_, kReorderScaleMax);
      last_needless_ = cx.now;
    }
    if (sent.transmissions == (again ? 2 : 1)) {
      path = sent.path;
      cx.paths.delivered(path, sent.order);
      newest_delivery_ = std::max(newest_delivery_, sent.sent_at);
      rtt_.sample(cx.now - sent.sent_at);
    }
  }
  if (path == kNoPath) return;
  if (sack.mark == PathMark::kSkipOnce) cx.paths.skip_once(path);
  if (sack.mark == PathMark::kAlwaysSkip && cx.paths.demote(path, cx.now))
    ++cx.services.counters.paths_demoted;
}

// MRC 3.2: a zero inside the bitmap, and the PSN behind the cumulative one, are the only evidence of loss.
void Requester::find_losses(Context& cx, Psn base, uint64_t bitmap) {
  if (sent_.in_flight() == 0) return;
  if (base > sent_.oldest() && sent_.outstanding() > 0) judge(cx, sent_.oldest());
  for (uint64_t missing = ~bitmap; missing != 0; missing &= missing - 1) {
    const Psn psn = base + __builtin_ctzll(missing);
    if (psn >= sent_.next()) break;
    if (sent_.contains(psn)) judge(cx, psn);
  }
}

void Requester::judge(Context& cx, Psn psn) {
  const SentPacket& packet = sent_.at(psn);
  if (packet.state != PacketState::kInFlight) return;
  // MRC 3.3 (a): a path is a FIFO; what was sent later on it has arrived.
  if (packet.order < cx.paths.at(packet.path).delivered_order) {
    lose(cx, psn, &cx.services.counters.retransmits_same_path);
  } else if (newest_delivery_ > packet.sent_at + reorder_window()) {
    // MRC 3.3 (b): overtaken by too much.
    lose(cx, psn, &cx.services.counters.retransmits_reordering);
  }
}

void Requester::lose(Context& cx, Psn psn, uint64_t* cause) {
  if (!sent_.lose(psn)) return;
  ++*cause;
  if (cx.now - last_needless_ > kReorderScaleDecay && reorder_scale_ > 1) {
    reorder_scale_ /= 2;
    last_needless_ = cx.now;
  }
  if (cx.paths.demote(sent_.at(psn).path, cx.now)) ++cx.services.counters.paths_demoted;
}

Nanoseconds Requester::reorder_window() const {
  // MRC 3.3 (b) [P]
  return std::max(config_->reorder_window_min, rtt_.smoothed() / 4) * reorder_scale_;
}

void Requester::on_nack(Context& cx, const Packet& packet) {
  const Neth& neth = packet.neth;
  ++cx.services.counters.nacks_received;
  heard(cx.now);
  if (neth.reason == NackReason::kUnexpectedEvent) {
    failure_ = CompletionStatus::kRemoteOperationError;
    return;
  }
  if (!sent_.contains(neth.psn) || !sent_.lose(neth.psn)) return;
  // MRC 1.5: repeat at once; only a trim in the core says something about the path.
  ++cx.services.counters.retransmits_nack;
  const PathId path = sent_.at(neth.psn).path;
  if (neth.reason == NackReason::kTrimmed) cx.paths.skip_once(path);
  const bool trimmed = neth.reason == NackReason::kTrimmed || neth.reason == NackReason::kTrimmedLastHop;
  if (!trimmed && !retry_.charge()) {
    ++cx.services.counters.retry_exceeded;
    failure_ = CompletionStatus::kRetryExceeded;
  }
}

void Requester::on_acknowledge(Context& cx, const Packet& packet) {
  const Psn psn = packet.bth.psn;
  if (unacknowledged_ == 0 || psn >= sent_.next() || sent_.next() - psn > (1 << 22)) {
    // Nothing waits for it (a repetition), or it speaks of what was never sent.
    if (psn >= sent_.next()) ++cx.services.counters.drops_bad_control;
    return;
  }
  heard(cx.now);
  if (!packet.aeth.is_nak()) {
    ++cx.services.counters.acks_received;
    credit_up_to(cx, psn);
    complete_up_to(cx, psn);
    return;
  }
  ++cx.services.counters.naks_received;
  // A NAK acknowledges what was before it.
  credit_up_to(cx, psn - 1);
  complete_up_to(cx, psn - 1);
  if (unacknowledged_ == 0 || psn < cx.send_queue.at(cx.send_queue.head()).first_psn) return;
  switch (packet.aeth.syndrome) {
    case Aeth::kNakRemoteAccess:
      failure_ = CompletionStatus::kRemoteAccessError;
      break;
    case Aeth::kNakInvalidRequest:
      failure_ = CompletionStatus::kRemoteInvalidRequest;
      break;
    default:
      failure_ = CompletionStatus::kRemoteOperationError;
      break;
  }
}

// --------------------------------------------------------------------------------------------- completing

// MRC 2: completions fire on the transport acknowledgement, in order.
void Requester::complete_up_to(Context& cx, Psn psn) {
  uint64_t head = cx.send_queue.head();
  while (head != cursor_ && cx.send_queue.at(head).last_psn <= psn) {
    const SendRequest& request = cx.send_queue.at(head);
    if (request.operation == Operation::kWriteImm) --immediates_;
    --unacknowledged_;
    ++cx.services.counters.messages_completed;
    complete(cx, request, CompletionStatus::kSuccess);
    cx.send_queue.release(++head);
  }
  if (local_error_ && head == cursor_) failure_ = local_error_;
}

void Requester::complete(Context& cx, const SendRequest& request, CompletionStatus status) {
  const bool signaled = cx.signal_all || (request.flags & kSignaled) != 0;
  if (!signaled && status == CompletionStatus::kSuccess) return;
  Completion completion;
  completion.work_id = request.work_id;
  completion.byte_count = request.bytes;
  completion.qpn = cx.connection.local_qpn;
  completion.status = status;
  completion.kind = CompletionKind::kRdmaWrite;
  if (!cx.services.completions.push(cx.send_completions, completion))
    failure_ = CompletionStatus::kGeneralError;
}

void Requester::flush(Context& cx, CompletionStatus first) {
  uint64_t head = cx.send_queue.head();
  const uint64_t tail = cx.send_queue.tail();
  for (CompletionStatus status = first; head != tail; status = CompletionStatus::kFlushed) {
    complete(cx, cx.send_queue.at(head), status);
    cx.send_queue.release(++head);
  }
  cursor_ = head;
  started_ = false;
  unacknowledged_ = 0;
  immediates_ = 0;
  local_error_.reset();
  const Psn next = sent_.next();
  sent_.reset(config_->window_packets, next);
}

// ------------------------------------------------------------------------------------------------- timers

Nanoseconds Requester::silence_allowed() const {
  // MRC 3.3 (d): a round trip and the queueing it may meet; longer every time nothing comes back.
  const Nanoseconds once =
      rtt_.known() ? std::max(kSilenceMin, 2 * rtt_.smoothed() + 4 * rtt_.variation()) : kSilenceUnknownRtt;
  return std::min(once << std::min(silences_, 16u), config_->probe_interval_max);
}

Nanoseconds Requester::next_deadline() const {
  Nanoseconds deadline = next_path_probe_;
  if (failure_ || !busy()) return deadline;
  deadline = std::min(deadline, quiet_since_ + silence_allowed());
  if (const Nanoseconds timeout = retry_.timeout(); timeout != 0)
    deadline = std::min(deadline, timer_base_ + timeout);
  return deadline;
}

void Requester::on_timer(Context& cx) {
  if (failure_) return;
  const Nanoseconds timeout = retry_.timeout();
  if (busy() && timeout != 0 && cx.now >= timer_base_ + timeout) {
    // MRC 3.3 (e): the backstop.
    if (!retry_.charge()) {
      ++cx.services.counters.retry_exceeded;
      failure_ = CompletionStatus::kRetryExceeded;
      return;
    }
    for (Psn psn = sent_.oldest(); psn < sent_.next(); ++psn)
      if (sent_.at(psn).sent_at + timeout <= cx.now) lose(cx, psn, &cx.services.counters.retransmits_timeout);
    if (sent_.outstanding() == 0) nudge(cx);
    timer_base_ = cx.now;
  }
  if (busy() && cx.now >= quiet_since_ + silence_allowed()) {
    ++silences_;
    quiet_since_ = cx.now;
    if (sent_.outstanding() == 0) {
      nudge(cx);
    } else if (sent_.in_flight() > 0) {
      const PathId path = cx.paths.select(cx.connection.resolved);
      if (path != kNoPath) send_probe(cx, path);
    }
  }
  for (size_t i = 0; i < kPathProbesPerCall; ++i) {
    const PathId path = cx.paths.take_due_probe(cx.now);
    if (path == kNoPath) break;
    send_probe(cx, path);
  }
  next_path_probe_ = cx.paths.next_probe();
}

// MRC 1.6: asks the responder for a SACK by this path, without using a PSN.
void Requester::send_probe(Context& cx, PathId path) {
  if ((cx.connection.resolved >> cx.paths.at(path).plane & 1) == 0) return;
  Bth bth;
  bth.opcode = Opcode::kProbe;
  bth.destination = cx.connection.remote_qpn;
  Peth peth;
  peth.probe_id = next_probe_id_++;
  peth.source_qpn_low = static_cast<uint16_t>(cx.connection.local_qpn.value());
  peth.destination_qpn_low = static_cast<uint16_t>(cx.connection.remote_qpn.value());
  peth.time = {to_wire_timestamp(cx.now, config_->coarse_timestamps), config_->coarse_timestamps};
  if (!send_control(cx, path, config_->dscp_data, bth, peth)) return;
  probes_[peth.probe_id % kProbesMax] = {path, peth.probe_id, ++order_, cx.now};
  ++cx.services.counters.probes_sent;
}

// Everything arrived but the transport acknowledgement is missing: a duplicate of the last packet brings it
// again.
void Requester::nudge(Context& cx) {
  if (unacknowledged_ == 0) return;
  const PathId path = cx.paths.select(cx.connection.resolved);
  if (path == kNoPath) return;
  uint8_t* buffer = cx.services.transmitter.begin(cx.paths.at(path).plane);
  if (buffer == nullptr) return;
  // The newest request of which something was sent.
  const uint64_t index = started_ && offset_ > 0 ? cursor_ : cursor_ - 1;
  const SendRequest& request = cx.send_queue.at(index);
  if (write_packet(cx, request, sent_.next() - 1, path, true, true, buffer))
    ++cx.services.counters.retransmits_ack_lost;
}

}  // namespace mrc
