// SPDX-License-Identifier: BSD-2-Clause
// The requester's packets as they stand in frames: data and questions of requests, answers to the peer's.
#include <algorithm>

#include "libmrc/mrc/requester.h"
#include "libmrc/mrc/stream_packet.h"
#include "libmrc/work/answer_data.h"
#include "libmrc/work/gather.h"
#include "libmrc/work/message_form.h"
#include "libmrc/work/request_headers.h"

namespace mrc {

namespace {
// The headers of a packet, but for its opcode and pad.
template <typename Part, typename Message>
[[gnu::always_inline]] inline StreamPacket headers_of(const Context& cx, const TransportConfig& config,
                                                      const Part& part, const Message& message,
                                                      const Xeth* xeth) {
  StreamPacket packet;
  packet.bth.ack_request = part.ack_request;
  packet.bth.retransmission = part.again;
  packet.bth.psn = part.psn;
  packet.meth = {message.receive_msn, message.msn};
  packet.time = stream_time(config, cx.now);
  packet.xeth = xeth;
  return packet;
}
}  // namespace

bool Requester::write_again(Context& cx, const Message& message, Psn psn, PathId path, uint8_t* buffer) {
  Part part{psn, 0, 0, psn == message.first_psn, psn == message.last_psn, true, true};
  part.offset = static_cast<uint32_t>(psn - message.first_psn) * cx.connection.mtu;
  part.bytes = std::min(cx.connection.mtu, message.bytes - part.offset);
  if (message.is_response) return write_response(cx, message, part, path, buffer);
  return write_request(cx, message, cx.send_queue.at(message.index), part, path, buffer);
}

[[gnu::hot]] bool Requester::write_request(Context& cx, const Message& message, const SendRequest& request,
                                           const Part& part, PathId path, uint8_t* buffer) {
  const Operation operation = request.operation;
  if (awaits_answer(operation)) return write_question(cx, message, request, part, path, buffer);
  const Path& chosen = cx.paths.at(path);
  const bool writes = is_strict_mrc(operation);
  const bool immediate = part.last && (operation == Operation::kWriteImm || operation == Operation::kSendImm);
  const bool invalidate = part.last && operation == Operation::kSendInvalidate;
  const uint32_t pad = config_->interop.pad_bytes(part.bytes);
  const Xeth xeth{request.named_queue()};
  StreamPacket packet = headers_of(cx, *config_, part, message, cx.connection.xrc ? &xeth : nullptr);
  packet.bth.opcode = message_opcode(operation, part.first, part.last);
  packet.bth.pad_bytes = static_cast<uint8_t>(pad);
  // Also while it is not known yet what the peer can do: an event that does not come is a program that sleeps
  // on.
  packet.bth.solicited = solicits(request, part.last) && cx.connection.extension != PeerExtension::kRefused;
  const size_t named = immediate || invalidate ? ImmDt::kBytes : 0;
  FrameWriter frame = begin_packet(cx, chosen, buffer, packet, Reth::kBytes + named + part.bytes + pad);
  // A SEND has no remote address: its packets say where in the message they belong. And no key: the last one
  // says what its sender has received, for the program that reads this message may have been answered by it,
  // and must find its own request complete. An ACK beside it could come by a slower path, or not at all.
  frame.add(writes ? Reth{request.remote_address + part.offset, request.remote_key, request.bytes}
                   : Reth{part.offset, MemoryKey{part.last ? answers_->owed.done_word() : 0}, request.bytes});
  if (immediate) frame.add_immediate(request.immediate);
  if (invalidate) frame.add(Ieth{MemoryKey{request.immediate}});
  frame.end_headers();
  if (part.place == nullptr) [[unlikely]]
    return write_gathered(cx, request, part, chosen.plane, frame);
  const uint32_t losses = cx.services.memory.losses();
  frame.add_payload(part.place, part.bytes);
  if (cx.services.memory.losses() != losses) return lose_memory();
  commit(cx, chosen.plane, frame.finish(pad));
  return true;
}

// The rest of it where the data have to be looked for. By value: see FrameWriter.
[[gnu::noinline]] bool Requester::write_gathered(Context& cx, const SendRequest& request, const Part& part,
                                                 Plane plane, FrameWriter frame) {
  if (!gather(cx, request, part.offset, part.bytes, &frame)) return lose_memory();
  commit(cx, plane, frame.finish(config_->interop.pad_bytes(part.bytes)));
  return true;
}

// The memory was taken away under a request that had passed its check.
bool Requester::lose_memory() {
  requests_.fail(CompletionStatus::kLocalProtectionError);
  return false;
}

// READs, atomics and FLUSHes: a header that says what is wanted, and no data.
bool Requester::write_question(Context& cx, const Message& message, const SendRequest& request,
                               const Part& part, PathId path, uint8_t* buffer) {
  const Operation operation = request.operation;
  uint64_t value = request.compare_add;
  if (operation == Operation::kAtomicWrite && !gather(cx, request, reinterpret_cast<uint8_t*>(&value)))
    return lose_memory();
  const Path& chosen = cx.paths.at(path);
  const size_t bytes = is_atomic(operation)             ? AtomicEth::kBytes
                       : operation == Operation::kFlush ? Feth::kBytes + Reth::kBytes
                                                        : Reth::kBytes;
  const bool names = cx.connection.xrc && operation != Operation::kFlush;  // there is no FLUSH in XRC
  const Xeth xeth{request.named_queue()};
  StreamPacket packet = headers_of(cx, *config_, part, message, names ? &xeth : nullptr);
  packet.bth.opcode = message_opcode(operation, part.first, part.last);
  FrameWriter frame = begin_packet(cx, chosen, buffer, packet, bytes);
  if (is_atomic(operation)) {
    frame.add(atomic_header(request, value));
  } else if (operation == Operation::kFlush) {
    frame.add(flush_header(request));
    frame.add(flushed_range(request));
  } else {
    frame.add(Reth{request.remote_address, request.remote_key, request.bytes});
  }
  frame.end_headers();
  commit(cx, chosen.plane, frame.finish(0));
  return true;
}

bool Requester::write_response(Context& cx, const Message& message, const Part& part, PathId path,
                               uint8_t* buffer) {
  const Response& response = answers_->owed.at(message.index);
  const Path& chosen = cx.paths.at(path);
  StreamPacket packet = headers_of(cx, *config_, part, message, nullptr);
  if (response.atomic) {
    packet.bth.opcode = Opcode::kAtomicAcknowledge;
    FrameWriter frame = begin_packet(cx, chosen, buffer, packet, AtomicAckEth::kBytes);
    frame.add(AtomicAckEth{response.result});
    frame.end_headers();
    commit(cx, chosen.plane, frame.finish(0));
    return true;
  }
  const uint32_t pad = config_->interop.pad_bytes(part.bytes);
  packet.bth.opcode = read_response_opcode(part.first, part.last);
  packet.bth.pad_bytes = static_cast<uint8_t>(pad);
  FrameWriter frame = begin_packet(cx, chosen, buffer, packet, Reth::kBytes + part.bytes + pad);
  frame.add(Reth{part.offset, MemoryKey{}, response.bytes});
  frame.end_headers();
  if (!add_read_data(cx, response.key, response.address + part.offset, part.bytes, &frame)) {
    response_fault_ = response.psn;
    return false;
  }
  commit(cx, chosen.plane, frame.finish(pad));
  return true;
}

}  // namespace mrc
