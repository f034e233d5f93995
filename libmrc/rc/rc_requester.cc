// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/rc/rc_requester.h"

#include <algorithm>

#include "libmrc/rc/rc_path.h"
#include "libmrc/work/gather.h"
#include "libmrc/work/message_form.h"
#include "libmrc/work/request_headers.h"

namespace mrc {

namespace {
constexpr uint32_t kWindowMin = 128;
constexpr uint32_t kWindowMax = 512;
// IBTA 9.7.1: no more than 2^23 PSNs may be outstanding; one message gets half of that.
constexpr uint32_t kPsnsMax = 1u << 22;
// At least one packet in so many asks for an acknowledgement. Soft-RoCE sends none that was not asked for;
// with too few a slow peer seems dead in the midst of a long message, although it takes packet after packet.
constexpr uint32_t kAskEvery = 16;
static_assert(kAskEvery <= kWindowMin / 4);
}  // namespace

void RcRequester::reset(const TransportConfig& config, Psn first) {
  const RetryPolicy retry = retry_;
  *this = RcRequester{};
  retry_ = retry;
  retry_.progress();
  window_ = std::clamp(std::min<uint32_t>(config.window_packets, config.window_bytes / kMtuMax), kWindowMin,
                       kWindowMax);
  oldest_ = next_ = at_ = first;
}

RcRequester::Burst RcRequester::transmit(Context& cx, size_t budget) {
  Burst burst;
  if (!has_work(cx)) {
    held_up_ = false;
    return burst;
  }
  size_t room = rc_room(cx);
  while (burst.packets < budget && !failure() && prepare(cx)) {
    uint8_t* buffer = room > 0 ? rc_begin(cx) : nullptr;
    if (buffer == nullptr) {
      hold_up(cx);
      burst.blocked = true;
      break;
    }
    held_up_ = false;
    if (!send_packet(cx, buffer)) break;
    ++burst.packets;
    --room;
  }
  return burst;
}

bool RcRequester::has_work(const Context& cx) const {
  if (failure() || not_ready_.waits(cx.now)) return false;
  if (going_back()) return !held_back();
  if (in_flight() >= window_) return false;
  return cursor_ != requests_.next() || (!requests_.next_failed() && may_start_next(cx));
}

// ------------------------------------------------------------------------------------- starting requests

// Makes sure that there is a packet to send at the cursor. False: there is none, or it has to wait.
bool RcRequester::prepare(Context& cx) {
  if (going_back()) return !held_back();
  if (in_flight() >= window_) return false;
  return cursor_ != requests_.next() || start_request(cx);
}

bool RcRequester::may_start_next(const Context& cx) const {
  if (!cx.start_requests || !requests_.has_next(cx)) return false;
  const SendRequest& request = requests_.next_request(cx);
  if (request.operation == Operation::kRead &&
      static_cast<uint32_t>(next_ - oldest_) + packet_count(request.bytes, cx.connection.mtu) >
          2 * kPsnsMax - 1)
    return false;
  return requests_.may_start(cx, request, answers_awaited_);
}

CompletionStatus RcRequester::check(const Context& cx, const SendRequest& request) const {
  if (packet_count(request.bytes, cx.connection.mtu) > kPsnsMax) return CompletionStatus::kLocalLengthError;
  return check_local_memory(cx, request);
}

// IBTA 9.7.3: every packet of a message has a PSN; a READ has as many as its response has packets.
bool RcRequester::start_request(Context& cx) {
  if (!cx.start_requests || requests_.next_failed()) return false;
  const bool passed = requests_.pass_local_operations(cx);
  cursor_ = requests_.next();
  if (!passed || !may_start_next(cx)) return false;
  SendRequest& request = requests_.next_request(cx);
  const CompletionStatus status = check(cx, request);
  if (status != CompletionStatus::kSuccess) {
    requests_.fail_next(cx, status);
    return false;
  }
  const uint32_t psns = is_atomic(request.operation) ? 1 : packet_count(request.bytes, cx.connection.mtu);
  request.first_psn = next_;
  request.last_psn = next_ + static_cast<int32_t>(psns - 1);
  if (awaits_answer(request.operation)) ++answers_awaited_;
  requests_.start();
  return true;
}

// ---------------------------------------------------------------------------------------- sending packets

bool RcRequester::send_packet(Context& cx, uint8_t* buffer) {
  const SendRequest& request = cx.send_queue.at(cursor_);
  const bool again = going_back();
  const bool awaits = awaits_answer(request.operation);
  if (!busy() || at_ == oldest_) unmoved_.restart(cx.now);
  if (!write_packet(cx, request, buffer)) return false;
  const Psn behind = awaits ? request.last_psn + 1 : at_ + 1;
  if (again) {
    ++repeated_;
    count_retransmit(cx);
  } else {
    ++cx.services.counters.data_packets_sent;
    if (awaits) {
      answer_psns_ += static_cast<uint32_t>(behind - at_);
    } else {
      const uint32_t offset = static_cast<uint32_t>(at_ - request.first_psn) * cx.connection.mtu;
      cx.services.counters.payload_bytes_sent += std::min(cx.connection.mtu, request.bytes - offset);
    }
    next_ = behind;
  }
  at_ = behind;
  if (at_ > request.last_psn) ++cursor_;
  return true;
}

// IBTA 9.7.5 answers only what asks: whenever a completion waits for it, nothing follows that would ask, or
// the window would close; and often enough that a responder which answers only when asked keeps the window
// open.
bool RcRequester::wants_acknowledgement(const Context& cx, const SendRequest& request, bool last) const {
  if (unasked_ + 1 >= kAskEvery) return true;
  if (at_ + 1 == next_) return true;  // the last of those repeated
  if (going_back() && repeated_ + 1 >= repeat_limit_) return true;
  if (!going_back() && in_flight() + 1 >= window_) return true;
  if (!last) return false;
  if (cx.signal_all || (request.flags & kSignaled) != 0 || awaits_answer(request.operation)) return true;
  return cursor_ + 1 == requests_.next() && !may_start_next(cx);
}

// IBTA A19: eight bytes behind a RETH.
bool RcRequester::write_atomic_write(Context& cx, const SendRequest& request, uint8_t* buffer) {
  constexpr uint32_t kBytes = sizeof(uint64_t);
  Bth bth = rc_bth(cx, Opcode::kRcAtomicWriteOnWire, at_);
  bth.ack_request = true;
  FrameWriter frame = rc_frame(cx, buffer, Bth::kBytes + Reth::kBytes + kBytes);
  frame.add(bth);
  frame.add(Reth{request.remote_address, request.remote_key, kBytes});
  frame.end_headers();
  if (!gather(cx, request, 0, kBytes, &frame)) {
    requests_.fail(CompletionStatus::kLocalProtectionError);
    return false;
  }
  unasked_ = 0;
  rc_commit(cx, frame.finish(0));
  return true;
}

// IBTA A19: FETH and RETH.
void RcRequester::write_flush(Context& cx, const SendRequest& request, uint8_t* buffer) {
  Bth bth = rc_bth(cx, Opcode::kRcFlushOnWire, at_);
  bth.ack_request = true;
  FrameWriter frame = rc_frame(cx, buffer, Bth::kBytes + Feth::kBytes + Reth::kBytes);
  frame.add(bth);
  frame.add(flush_header(request));
  frame.add(flushed_range(request));
  frame.end_headers();
  unasked_ = 0;
  rc_commit(cx, frame.finish(0));
}

bool RcRequester::write_packet(Context& cx, const SendRequest& request, uint8_t* buffer) {
  if (request.operation == Operation::kFlush) {
    write_flush(cx, request, buffer);
    return true;
  }
  if (request.operation == Operation::kAtomicWrite) return write_atomic_write(cx, request, buffer);
  const uint32_t mtu = cx.connection.mtu;
  const bool awaits = awaits_answer(request.operation);
  const bool reads = request.operation == Operation::kRead;
  const bool first = awaits || at_ == request.first_psn;
  const bool last = awaits || at_ == request.last_psn;
  const uint32_t offset = static_cast<uint32_t>(at_ - request.first_psn) * mtu;
  const uint32_t bytes = awaits ? 0 : std::min(mtu, request.bytes - offset);
  const uint32_t pad = -bytes & 3;
  Bth bth = rc_bth(cx, to_plain_rc(message_opcode(request.operation, first, last)), at_);
  bth.pad_bytes = static_cast<uint8_t>(pad);
  bth.solicited = solicits(request, last);
  bth.ack_request = wants_acknowledgement(cx, request, last);

  const bool writes = request.operation == Operation::kWrite || request.operation == Operation::kWriteImm;
  const bool atomic = awaits && !reads;
  const bool has_reth = reads || (writes && first);
  const bool immediate = last && has_immediate(bth.opcode);
  const bool invalidate = last && has_invalidate(bth.opcode);
  const bool xrc = cx.connection.xrc;
  const size_t transport_bytes = Bth::kBytes + (xrc ? Xeth::kBytes : 0) + (has_reth ? Reth::kBytes : 0) +
                                 (atomic ? AtomicEth::kBytes : 0) +
                                 (immediate || invalidate ? ImmDt::kBytes : 0) + bytes + pad;
  FrameWriter frame = rc_frame(cx, buffer, transport_bytes);
  frame.add(bth);
  if (xrc) frame.add(Xeth{request.named_queue()});
  // IBTA 9.7.3: a READ is repeated from the first packet of its response that is missing.
  if (has_reth) frame.add(Reth{request.remote_address + offset, request.remote_key, request.bytes - offset});
  if (atomic) frame.add(atomic_header(request, request.compare_add));
  if (immediate) frame.add_immediate(request.immediate);
  if (invalidate) frame.add(Ieth{MemoryKey{request.immediate}});
  frame.end_headers();
  if (!gather(cx, request, offset, bytes, &frame)) {
    requests_.fail(CompletionStatus::kLocalProtectionError);
    return false;
  }
  unasked_ = bth.ack_request ? 0 : unasked_ + 1;
  rc_commit(cx, frame.finish(pad));
  return true;
}

}  // namespace mrc
