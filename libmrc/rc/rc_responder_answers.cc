// SPDX-License-Identifier: BSD-2-Clause
// What the responder of plain RC sends: READ responses, results of atomics, ACK and NAK, in the order of
// PSNs.
#include <algorithm>

#include "libmrc/rc/rc_path.h"
#include "libmrc/rc/rc_responder.h"
#include "libmrc/work/answer_data.h"
#include "libmrc/work/message_form.h"

namespace mrc {

RcResponder::Burst RcResponder::transmit(Context& cx, size_t budget) {
  Burst burst;
  if (!has_work()) return burst;
  size_t room = pending_ > 0 ? rc_room(cx) : 0;
  while (pending_ > 0 && burst.packets < budget) {
    while (!answer_at(next_answer_).due) ++next_answer_;
    if (room == 0 || !send_answer(cx, answer_at(next_answer_))) {
      burst.blocked = pending_ > 0;
      break;
    }
    ++burst.packets;
    --room;
  }
  // IBTA 9.7.5: an ACK would speak for the answers before it, so it goes behind them. It never has the PSN of
  // a READ or an atomic: where their answer was lost, soft-RoCE would take it for one and complete without
  // data.
  if (pending_ > 0 || fault_) return burst;
  if (nak_due_ != 0) {
    if (!send_aeth(cx, expected_, nak_due_)) return burst;
    ++((nak_due_ & 0x60) == Aeth::kRnrNak ? cx.services.counters.not_ready_sent
                                          : cx.services.counters.naks_sent);
    nak_due_ = 0;
    ack_due_ = false;  // a NAK acknowledges what was before it
  } else if (ack_due_) {
    if (!send_aeth(cx, taken_, Aeth::kAck)) return burst;
    ++cx.services.counters.acks_sent;
    ack_due_ = false;
  }
  ++burst.packets;
  return burst;
}

// One packet of an answer. False: the port has no buffer, or the memory has gone (then nothing is due any
// more).
bool RcResponder::send_answer(Context& cx, Answer& answer) {
  uint8_t* buffer = rc_begin(cx);
  if (buffer == nullptr) return false;
  if (!answer.atomic) return send_read_response(cx, answer, buffer);
  FrameWriter frame =
      rc_frame(cx, buffer, Bth::kBytes + Aeth::kBytes + (answer.silent ? 0 : AtomicAckEth::kBytes));
  frame.add(
      rc_bth(cx, answer.silent ? Opcode::kRcReadResponseOnly : Opcode::kRcAtomicAcknowledge, answer.first));
  frame.add(Aeth{Aeth::kAck, answer.msn & 0xFFFFFF});
  if (!answer.silent) frame.add(AtomicAckEth{answer.result});
  frame.end_headers();
  rc_commit(cx, frame.finish(0));
  answer.due = false;
  --pending_;
  return true;
}

// IBTA 9.4.4: First, Last and Only carry an AETH; the form is that of the response being sent, which may
// begin in the middle of what was first asked for.
bool RcResponder::send_read_response(Context& cx, Answer& answer, uint8_t* buffer) {
  const uint32_t offset = static_cast<uint32_t>(answer.at - answer.first) * cx.connection.mtu;
  const uint32_t bytes = std::min(cx.connection.mtu, answer.bytes - offset);
  const uint32_t pad = -bytes & 3;
  const bool first = answer.at == answer.from;
  const bool last = answer.at == answer.last;
  Bth bth = rc_bth(cx, to_plain_rc(read_response_opcode(first, last)), answer.at);
  bth.pad_bytes = static_cast<uint8_t>(pad);
  const bool acknowledges = first || last;
  FrameWriter frame = rc_frame(cx, buffer, Bth::kBytes + (acknowledges ? Aeth::kBytes : 0) + bytes + pad);
  frame.add(bth);
  if (acknowledges) frame.add(Aeth{Aeth::kAck, answer.msn & 0xFFFFFF});
  frame.end_headers();
  if (!add_read_data(cx, answer.key, answer.address + offset, bytes, &frame)) {
    // Deregistered meanwhile, or gone: the connection ends here.
    fault_ = ResponderFault{answer.at, Aeth::kNakRemoteAccess, false};
    pending_ = 0;
    return false;
  }
  rc_commit(cx, frame.finish(pad));
  if (!answer.again) {
    ++cx.services.counters.data_packets_sent;
    cx.services.counters.payload_bytes_sent += bytes;
  }
  if (last) {
    answer.due = false;
    --pending_;
  } else {
    ++answer.at;
  }
  return true;
}

// IBTA 9.7.5: AETH with the number of messages completed; credits 31 = there is no limit (kAck).
bool RcResponder::send_aeth(Context& cx, Psn psn, uint8_t syndrome) {
  uint8_t* buffer = rc_begin(cx);
  if (buffer == nullptr) return false;
  FrameWriter frame = rc_frame(cx, buffer, Bth::kBytes + Aeth::kBytes);
  frame.add(rc_bth(cx, Opcode::kRcAcknowledge, psn));
  frame.add(Aeth{syndrome, msn_ & 0xFFFFFF});
  frame.end_headers();
  rc_commit(cx, frame.finish(0));
  unacked_ = 0;
  return true;
}

void RcResponder::repeat_nak(Context& cx, Plane) {
  if (fault_ && send_aeth(cx, fault_->psn, fault_->syndrome)) ++cx.services.counters.naks_sent;
}

}  // namespace mrc
