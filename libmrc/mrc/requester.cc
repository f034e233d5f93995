// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/mrc/requester.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "libmrc/mrc/lane_room.h"
#include "libmrc/work/gather.h"
#include "libmrc/work/message_form.h"
#include "libmrc/work/request_completion.h"

namespace mrc {

namespace {
constexpr uint64_t kPlanePacketsAlways = 8;
}

void Requester::reset(const TransportConfig& config, CongestionController* control, Psn first) {
  // Memory is kept: who connects again needs no more of it.
  Requester fresh(*answers_);
  fresh.retry_ = retry_;
  fresh.sent_ = std::move(sent_);
  fresh.messages_ = std::move(messages_);
  fresh.suspects_ = std::move(suspects_);
  *this = std::move(fresh);
  retry_.progress();
  config_ = &config;
  sent_.reset(config.window_packets, first);
  next_copy_ = first;
  control_ = control;
  messages_.clear();
  messages_.make_first();
  suspects_.clear();
}

[[gnu::hot]] bool Requester::has_work(const Context& cx) const {
  if (failure_ || response_fault_ || cx.now < not_ready_until_ || tries_whether_ready()) return false;
  if (lost_within_mpr() || copies_due_) return true;
  if (window_full()) return false;
  if (started_ || next_response_ != answers_->owed.tail()) return true;
  return cx.start_requests && !local_error_ && cursor_ != cx.send_queue.tail() &&
         may_start(cx, cx.send_queue.at(cursor_));
}

bool Requester::next_writes_immediate(const Context& cx) const {
  return !started_ && cursor_ != cx.send_queue.tail() &&
         cx.send_queue.at(cursor_).operation == Operation::kWriteImm;
}

[[gnu::hot]] Requester::Burst Requester::transmit(Context& cx, size_t budget, PathId first_path) {
  Burst burst;
  if (!has_work(cx)) {
    stranded_ = held_up_ = false;
    return burst;
  }
  Transmitter& transmitter = cx.services.transmitter;
  LaneRoom room(transmitter, cx.connection);
  const uint64_t share_max = plane_share_max(cx);
  PlaneMask usable = room.planes();
  for (PlaneMask planes = usable; planes != 0; planes &= planes - 1) {
    const auto plane = static_cast<Plane>(std::countr_zero(planes));
    if (sent_.in_flight_by(plane) >= share_max) usable &= ~(PlaneMask{1} << plane);
  }
  while (burst.packets < budget && !failure_ && !response_fault_) {
    if (tries_whether_ready()) break;
    if (!control_->may_send(cx.now)) {  // MRC 12.R3, 5.1
      put_off_copies(cx.now);
      burst.window_closed = has_work(cx);
      break;
    }
    const bool again = lost_within_mpr();
    const bool copy = !again && !prepare_next_message(cx);
    if (copy && (failure_ || !find_copy(cx))) break;
    PathId path = std::exchange(first_path, kNoPath);
    if (path == kNoPath || (usable >> cx.paths.at(path).plane & 1) == 0) path = cx.paths.select(usable);
    if (path == kNoPath && copy) {
      put_off_copies(cx.now);
      break;
    }
    if (path == kNoPath) {
      if ((cx.paths.active_planes() & cx.connection.resolved) == 0) {
        strand(cx);
      } else {
        stranded_ = false;  // its port is back, but others were quicker
        hold_up(cx);
      }
      // Next hops are looked for as long as it comes; for ports there is news.
      burst.blocked = !stranded_ || (cx.paths.active_planes() & ~cx.connection.resolved) != 0;
      break;
    }
    const Plane plane = cx.paths.at(path).plane;
    uint8_t* buffer = begin_buffer(cx, plane);
    if (buffer == nullptr) {
      ++cx.services.counters.tx_no_buffer;
      usable &= ~(PlaneMask{1} << plane);
      continue;
    }
    stranded_ = held_up_ = false;
    const bool sent = again  ? send_again(cx, sent_.first_lost(), path, buffer)
                      : copy ? send_copy(cx, path, buffer)
                             : send_new(cx, path, buffer);
    if (!sent) break;
    ++burst.packets;
    burst.last_path = path;
    usable &= ~room.take(plane);
    if (sent_.in_flight_by(plane) >= share_max) usable &= ~(PlaneMask{1} << plane);
  }
  return burst;
}

// [P] How much may be under way by one plane. Turns are equal, so a plane that is slower than the others, for
// a moment or for good and with no switch to mark it, would gather the whole window in its queue, and they
// would run dry. A little more than its share each is enough to use all of the window.
uint64_t Requester::plane_share_max(const Context& cx) const {
  const int active = std::popcount(cx.paths.active_planes() & cx.connection.resolved);
  const auto planes = static_cast<uint64_t>(std::max(active, 1));
  const uint64_t free = control_->cwnd() - std::min(control_->cwnd(), control_->inflight());
  const uint64_t window = sent_.in_flight_nominal() + free;  // what this queue pair may have under way
  return std::max(window * 5 / (4 * planes), kPlanePacketsAlways * nominal_size(cx.connection.mtu));
}

// ------------------------------------------------------------------------------------- starting messages

// Makes a message ready to be cut into packets. False: there is none, or it has to wait.
bool Requester::prepare_next_message(Context& cx) {
  if (window_full()) return false;
  if (started_) return true;
  // The last one before them may have to be repeated, see nudge().
  if (!messages_.make_room(oldest_message_ - 1, message_ - oldest_message_ + 2)) return false;
  // Answers first: the peer waits for them, and there are never more than it asked for.
  if (next_response_ != answers_->owed.tail()) return start_response(cx);
  return start_request(cx);
}

bool Requester::start_response(Context& cx) {
  const Response& response = answers_->owed.at(next_response_);
  const uint32_t bytes = response.atomic ? 0 : response.bytes;
  Message& message = message_at(message_);
  message = {true, next_response_, sent_.next(), sent_.next(), bytes, response.msn, receive_msn_};
  message.last_psn = message.first_psn + static_cast<int32_t>(packet_count(bytes, cx.connection.mtu) - 1);
  ++next_response_;
  started_ = true;
  offset_ = 0;
  return true;
}

// What the order of operations demands of the request at the cursor.
[[gnu::hot]] bool Requester::may_start(const Context& cx, const SendRequest& request) const {
  // What is under way may still have to be sent again from memory that a local operation takes away.
  if (is_local(request.operation)) return cx.send_queue.head() == cursor_;
  if (!is_strict_mrc(request.operation) && cx.connection.extension == PeerExtension::kUnknown) return false;
  // MRC 12.R4, 2: never more than max_wimm in flight.
  if (consumes_receive(request.operation) && consuming_ >= cx.connection.immediates_max) return false;
  if (awaits_answer(request.operation) && answers_->awaited.outstanding() >= cx.connection.reads_max)
    return false;
  return (request.flags & kFence) == 0 || answers_->awaited.outstanding() == 0;
}

CompletionStatus Requester::check(const Context& cx, const SendRequest& request) const {
  if (!is_strict_mrc(request.operation) && cx.connection.extension == PeerExtension::kRefused)
    return CompletionStatus::kLocalQpOperationError;
  if (!is_strict_mrc(request.operation) && cx.connection.extension == PeerExtension::kUnanswered)
    return CompletionStatus::kRetryExceeded;
  return check_local_memory(cx, request);
}

// Does the local operations that are next in the queue. False: one of them failed, or must wait.
bool Requester::pass_local_operations(Context& cx) {
  while (cursor_ != cx.send_queue.tail() && is_local(cx.send_queue.at(cursor_).operation)) {
    const SendRequest& request = cx.send_queue.at(cursor_);
    if (!may_start(cx, request)) return false;
    const CompletionStatus status = carry_out_locally(cx, request);
    if (status != CompletionStatus::kSuccess) {
      fail_locally(cx, status);
      return false;
    }
    ++cx.services.counters.messages_completed;
    complete_oldest_request(cx);
    ++cursor_;
  }
  return !failure_;
}

bool Requester::start_request(Context& cx) {
  if (!cx.start_requests || local_error_ || !pass_local_operations(cx)) return false;
  if (cursor_ == cx.send_queue.tail()) return false;
  SendRequest& request = cx.send_queue.at(cursor_);
  if (!may_start(cx, request)) return false;
  const CompletionStatus status = check(cx, request);
  if (status != CompletionStatus::kSuccess) {
    fail_locally(cx, status);
    return false;
  }
  if (awaits_answer(request.operation)) {
    if (!answers_->awaited.has_memory()) {
      fail_locally(cx, CompletionStatus::kGeneralError);
      return false;
    }
    if (!answers_->awaited.add(msn_, cursor_)) return false;
  }
  Message& message = message_at(message_);
  message = {false, cursor_, sent_.next(), sent_.next(), request.bytes, msn_, receive_msn_};
  if (!awaits_answer(request.operation))
    message.last_psn =
        message.first_psn + static_cast<int32_t>(packet_count(request.bytes, cx.connection.mtu) - 1);
  request.first_psn = message.first_psn;
  request.last_psn = message.last_psn;
  request.msn = msn_++;
  request.receive_msn = receive_msn_;
  request.answered = false;
  if (consumes_receive(request.operation)) {
    ++receive_msn_;
    ++consuming_;
  }
  ++cursor_;
  started_ = true;
  offset_ = 0;
  return true;
}

// The request at the cursor cannot be sent. What is before it completes first.
void Requester::fail_locally(Context& cx, CompletionStatus status) {
  local_error_ = status;
  if (cx.send_queue.head() == cursor_) failure_ = status;
}

// ------------------------------------------------------------------------------------------ sending packets

bool Requester::send_new(Context& cx, PathId path, uint8_t* buffer) {
  const Message& message = message_at(message_);
  const Psn psn = sent_.next();
  const bool answer_awaited =
      !message.is_response && awaits_answer(cx.send_queue.at(message.index).operation);
  const uint32_t bytes = answer_awaited ? 0 : std::min(cx.connection.mtu, message.bytes - offset_);
  const bool first = psn == message.first_psn;
  const bool last = psn == message.last_psn;
  // MRC 3.1: an answer is asked for when a completion waits for it, when nothing follows, and when the window
  // closes.
  bool signaled = false;
  if (!message.is_response)
    signaled = cx.signal_all || (cx.send_queue.at(message.index).flags & kSignaled) != 0;
  const bool window_closes = sent_.outstanding() + 1 >= std::min(config_->window_packets, mpr_) ||
                             (control_->cwnd() < uint64_t{2} * config_->sack_threshold_bytes &&
                              control_->closes_with(nominal_size(bytes)));
  const bool ack_request = window_closes || (last && (signaled || !can_follow(cx)));
  if (!busy()) {
    restart_timers(cx.now);
    moved_at_ = cx.now;
  }
  if (!write_packet(cx, message, psn, path, false, ack_request, buffer)) return false;
  if (answer_awaited) answers_->awaited.sent(message.msn);
  cx.paths.count_sent(path);
  sent_.add({cx.now, ++order_, message_, path, static_cast<uint16_t>(bytes), PacketState::kInFlight, 1,
             cx.paths.at(path).plane});
  control_->on_sent(cx.now, nominal_size(bytes));
  cx.note(TraceEvent::kSent, psn, path, bytes);
  ++cx.services.counters.data_packets_sent;
  cx.services.counters.payload_bytes_sent += bytes;
  offset_ += bytes;
  if (first && !message.is_response) ++unfinished_;
  if (last) {
    if (!message.is_response) ++unanswered_;
    ++message_;
    started_ = false;
    plan_copies(cx, message.first_psn);
  }
  return true;
}

// Whether something could be sent right behind the message being sent.
bool Requester::can_follow(const Context& cx) const {
  if (next_response_ != answers_->owed.tail()) return true;
  return cursor_ != cx.send_queue.tail() && may_start(cx, cx.send_queue.at(cursor_));
}

// MRC 3.4: the same packet on a fresh path, marked as a retransmission.
bool Requester::send_again(Context& cx, Psn psn, PathId path, uint8_t* buffer) {
  const Message& message = message_at(sent_.at(psn).request);
  if (!write_packet(cx, message, psn, path, true, true, buffer)) return false;
  cx.paths.count_sent(path);
  sent_.resend(psn, path, cx.paths.at(path).plane, ++order_, cx.now);
  control_->on_sent(cx.now, nominal_size(sent_.at(psn).bytes));
  cx.note(TraceEvent::kSentAgain, psn, path, sent_.at(psn).transmissions);
  ++cx.services.counters.retransmissions_sent;
  plan_copies(cx, psn);
  if (psn == sent_.oldest()) unmoved_.restart(cx.now);
  return true;
}

[[gnu::hot]] bool Requester::write_packet(Context& cx, const Message& message, Psn psn, PathId path,
                                          bool again, bool ack_request, uint8_t* buffer) {
  const uint32_t offset = static_cast<uint32_t>(psn - message.first_psn) * cx.connection.mtu;
  const uint32_t bytes = std::min(cx.connection.mtu, message.bytes - offset);
  Bth bth;
  bth.destination = cx.connection.remote_qpn;
  bth.ack_request = ack_request;
  bth.retransmission = again;
  bth.has_timestamp = true;
  bth.psn = psn;
  return message.is_response ? write_response(cx, message, bth, offset, bytes, path, buffer)
                             : write_request(cx, message, bth, offset, bytes, path, buffer);
}

bool Requester::write_request(Context& cx, const Message& message, const Bth& base, uint32_t offset,
                              uint32_t bytes, PathId path, uint8_t* buffer) {
  const SendRequest& request = cx.send_queue.at(message.index);
  const bool first = base.psn == message.first_psn;
  const bool last = base.psn == message.last_psn;
  Bth bth = base;
  bth.opcode = message_opcode(request.operation, first, last);
  // Also while it is not known yet what the peer can do: an event that does not come is a program that sleeps
  // on.
  bth.solicited = last && (request.flags & kSolicited) != 0 &&
                  cx.connection.extension != PeerExtension::kRefused && consumes_receive(request.operation);
  const bool xrc = cx.connection.xrc;
  if (xrc) bth.opcode = to_xrc(bth.opcode);
  const Meth meth{message.receive_msn, message.msn};
  const Tseth time{to_wire_timestamp(cx.now, config_->coarse_timestamps), config_->coarse_timestamps};
  const size_t common = Bth::kBytes + (xrc ? Xeth::kBytes : 0) + Meth::kBytes + Tseth::kBytes;
  const Path& chosen = cx.paths.at(path);
  const Plane plane = chosen.plane;
  const auto kind = bth.retransmission ? &PlaneFrames::again : &PlaneFrames::data;

  if (is_atomic(request.operation)) {
    uint64_t value = request.compare_add;
    if (request.operation == Operation::kAtomicWrite &&
        !gather(cx, request, reinterpret_cast<uint8_t*>(&value))) {
      failure_ = CompletionStatus::kLocalProtectionError;
      return false;
    }
    FrameWriter frame = begin_frame(cx, chosen, kind, buffer, common + AtomicEth::kBytes);
    frame.add(bth);
    if (xrc) frame.add(Xeth{request.named_queue()});
    frame.add(meth);
    frame.add(time);
    const bool swap = request.operation == Operation::kCompareSwap;
    frame.add(AtomicEth{request.remote_address, request.remote_key, swap ? request.swap : value,
                        swap ? request.compare_add : 0});
    frame.end_headers();
    cx.services.transmitter.commit(plane, frame.finish(0));
    return true;
  }

  if (request.operation == Operation::kFlush) {
    FrameWriter frame = begin_frame(cx, chosen, kind, buffer, common + Feth::kBytes + Reth::kBytes);
    frame.add(bth);
    frame.add(meth);
    frame.add(time);
    frame.add(Feth{request.flush_placement(), request.flush_selectivity()});
    frame.add(Reth{request.remote_address, request.remote_key, request.flush_length()});
    frame.end_headers();
    cx.services.transmitter.commit(plane, frame.finish(0));
    return true;
  }

  const bool reads = request.operation == Operation::kRead;
  const bool writes = request.operation == Operation::kWrite || request.operation == Operation::kWriteImm;
  if (reads) bytes = 0;
  const bool immediate =
      last && (request.operation == Operation::kWriteImm || request.operation == Operation::kSendImm);
  const bool invalidate = last && request.operation == Operation::kSendInvalidate;
  const uint32_t pad = config_->interop.pad_bytes(bytes);
  bth.pad_bytes = static_cast<uint8_t>(pad);
  const size_t transport_bytes =
      common + Reth::kBytes + (immediate || invalidate ? ImmDt::kBytes : 0) + bytes + pad;
  FrameWriter frame = begin_frame(cx, chosen, kind, buffer, transport_bytes);
  frame.add(bth);
  if (xrc) frame.add(Xeth{request.named_queue()});
  frame.add(meth);
  frame.add(time);
  // A SEND has no remote address: its packets say where in the message they belong. And no key: the last one
  // says what its sender has received, for the program that reads this message may have been answered by it,
  // and must find its own request complete. An ACK beside it could come by a slower path, or not at all.
  frame.add(reads || writes ? Reth{request.remote_address + offset, request.remote_key, request.bytes}
                            : Reth{offset, MemoryKey{last ? answers_->owed.done_word() : 0}, request.bytes});
  if (immediate) frame.add_immediate(request.immediate);
  if (invalidate) frame.add(Ieth{MemoryKey{request.immediate}});
  frame.end_headers();
  if (!gather(cx, request, offset, bytes, &frame)) {
    // The memory was taken away under a request that had passed its check.
    failure_ = CompletionStatus::kLocalProtectionError;
    return false;
  }
  cx.services.transmitter.commit(plane, frame.finish(pad));
  return true;
}

bool Requester::write_response(Context& cx, const Message& message, const Bth& base, uint32_t offset,
                               uint32_t bytes, PathId path, uint8_t* buffer) {
  const Response& response = answers_->owed.at(message.index);
  Bth bth = base;
  const Meth meth{message.receive_msn, message.msn};
  const Tseth time{to_wire_timestamp(cx.now, config_->coarse_timestamps), config_->coarse_timestamps};
  const Path& chosen = cx.paths.at(path);
  const Plane plane = chosen.plane;
  const auto kind = bth.retransmission ? &PlaneFrames::again : &PlaneFrames::data;
  constexpr size_t kCommon = Bth::kBytes + Meth::kBytes + Tseth::kBytes;
  if (response.atomic) {
    bth.opcode = Opcode::kAtomicAcknowledge;
    FrameWriter frame = begin_frame(cx, chosen, kind, buffer, kCommon + AtomicAckEth::kBytes);
    frame.add(bth);
    frame.add(meth);
    frame.add(time);
    frame.add(AtomicAckEth{response.result});
    frame.end_headers();
    cx.services.transmitter.commit(plane, frame.finish(0));
    return true;
  }
  bth.opcode = read_response_opcode(base.psn == message.first_psn, base.psn == message.last_psn);
  const uint32_t pad = config_->interop.pad_bytes(bytes);
  bth.pad_bytes = static_cast<uint8_t>(pad);
  const uint8_t* from = nullptr;
  const uint32_t losses = cx.services.memory.losses();
  if (bytes > 0) {
    from = cx.services.memory.translate(response.key, cx.connection.domain, response.address + offset, bytes,
                                        kRemoteRead);
    if (from == nullptr) {
      response_fault_ = response.psn;
      return false;
    }
  }
  FrameWriter frame = begin_frame(cx, chosen, kind, buffer, kCommon + Reth::kBytes + bytes + pad);
  frame.add(bth);
  frame.add(meth);
  frame.add(time);
  frame.add(Reth{offset, MemoryKey{}, response.bytes});
  frame.end_headers();
  if (bytes > 0) frame.add_payload(from, bytes);
  if (cx.services.memory.losses() != losses) {
    response_fault_ = response.psn;
    return false;
  }
  cx.services.transmitter.commit(plane, frame.finish(pad));
  return true;
}

}  // namespace mrc
