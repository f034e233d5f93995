// SPDX-License-Identifier: BSD-2-Clause
// [P] Runs: small WRITEs that stand one behind the other, which is how programs post them. What is true of
// all of them (the window, the lanes' room, whether something is lost, what a completion waits for) is looked
// at once, and what they add up to is noted down once. A run never ends the send queue, nor closes a window:
// what comes behind it goes the general way (requester.cc), which asks for answers.
#include <algorithm>

#include "libmrc/mrc/lane_room.h"
#include "libmrc/mrc/requester.h"
#include "libmrc/mrc/stream_packet.h"
#include "libmrc/work/gather.h"

namespace mrc {

namespace {
// One packet with data, and nothing before it that it must wait for.
[[gnu::always_inline]] inline bool fits_a_run(const SendRequest& request, uint32_t mtu) {
  return request.operation == Operation::kWrite && (request.flags & kFence) == 0 && request.bytes != 0 &&
         request.bytes <= mtu;
}
}  // namespace

// So many that nothing needs to be asked in between.
uint32_t Requester::run_limit(const Context& cx, size_t budget) const {
  const uint32_t open = std::min(config_->window_packets, mpr_);
  if (started_ || requests_.next_failed() || not_ready_.count() > 0 || sent_.lost() > 0 ||
      !cx.start_requests || next_response_ != answers_->owed.tail() || cx.connection.xrc ||
      cx.services.completions.faults() != nullptr || copies_help(cx) || sent_.outstanding() + 1 >= open)
    return 0;
  const uint32_t packets =
      std::min({static_cast<uint32_t>(budget), open - 1 - sent_.outstanding(), sent_.room()});
  const uint64_t each = nominal_size(cx.connection.mtu);
  return static_cast<uint32_t>(std::min<uint64_t>(packets, control_->surely_open(cx.now) / each));
}

// Places for what is noted down of each.
bool Requester::make_room_for_run(uint32_t packets) {
  return messages_.make_room(oldest_message_ - 1, message_ - oldest_message_ + 1 + packets) &&
         sent_.make_room_for(packets);
}

[[gnu::hot]] void Requester::send_run(Context& cx, size_t budget, uint64_t share_max, LaneRoom* room,
                                      PlaneMask* usable, Burst* burst) {
  const uint32_t mtu = cx.connection.mtu;
  const uint64_t tail = cx.send_queue.tail();
  if (tail - requests_.next() < 2 || !fits_a_run(requests_.next_request(cx), mtu)) return;
  const uint32_t limit = run_limit(cx, budget);
  if (limit == 0 || !make_room_for_run(limit)) return;

  StreamPacket packet;
  packet.bth.opcode = Opcode::kWriteOnly;
  packet.meth.receive_msn = receive_msn_;
  packet.time = stream_time(*config_, cx.now);
  const bool pads = config_->interop.pad;
  const bool was_busy = busy();
  uint64_t bytes = 0;
  uint32_t sent = 0;
  SendRequest* next = &requests_.next_request(cx);
  for (; sent < limit && requests_.next() + 1 != tail; ++sent) {
    SendRequest& request = *next;
    next = &cx.send_queue.at(requests_.next() + 1);
    if (!fits_a_run(*next, mtu)) break;
    const uint8_t* place = nullptr;
    if (check_local_memory(cx, request, &place) != CompletionStatus::kSuccess || place == nullptr) break;
    const PathId path = cx.turns.select(cx.paths, *usable);
    if (path == kNoPath) break;
    const Path& chosen = cx.paths.at(path);
    const Plane plane = chosen.plane;
    uint8_t* const buffer = begin_buffer(cx, plane);
    if (buffer == nullptr) {
      ++cx.services.counters.tx_no_buffer;
      *usable &= ~(PlaneMask{1} << plane);
      break;
    }
    const uint32_t pad = pads ? -request.bytes & 3 : 0;
    packet.bth.pad_bytes = static_cast<uint8_t>(pad);
    packet.bth.psn = sent_.next();
    // MRC 3.1: something follows, so only a completion may want an answer.
    packet.bth.ack_request = cx.signal_all || (request.flags & kSignaled) != 0;
    packet.meth.msn = msn_;
    FrameWriter frame = begin_packet(cx, chosen, buffer, packet, Reth::kBytes + request.bytes + pad);
    frame.add(Reth{request.remote_address, request.remote_key, request.bytes});
    frame.end_headers();
    const uint32_t losses = cx.services.memory.losses();
    frame.add_payload(place, request.bytes);
    if (cx.services.memory.losses() != losses) [[unlikely]] {
      lose_memory();
      break;
    }
    commit(cx, plane, frame.finish(pad));
    note_in_run(cx, &request, path, plane);
    bytes += request.bytes;
    burst->last_path = path;
    *usable &= ~room->take(plane);
    if (sent_.in_flight_by(plane) >= share_max) *usable &= ~(PlaneMask{1} << plane);
  }
  if (sent > 0) end_run(cx, sent, bytes, was_busy);
  burst->packets += sent;
}

// What is noted down of every packet, and its message.
[[gnu::always_inline]] inline void Requester::note_in_run(Context& cx, SendRequest* request, PathId path,
                                                          Plane plane) {
  const Psn psn = sent_.next();
  const uint32_t bytes = request->bytes;
  message_at(message_) = {false, requests_.next(), psn, psn, bytes, msn_, receive_msn_};
  request->first_psn = request->last_psn = psn;
  request->msn = msn_;
  request->receive_msn = receive_msn_;
  request->answered = false;
  count_sent(cx, path);
  sent_.add_with_room({cx.now, cx.paths.next_order(), message_, path, static_cast<uint16_t>(bytes),
                       PacketState::kInFlight, 1, plane});
  cx.note(TraceEvent::kSent, psn, path, bytes);
  ++message_;
  requests_.start();
  ++msn_;
}

// And of all together.
void Requester::end_run(Context& cx, uint32_t packets, uint64_t bytes, bool was_busy) {
  if (!was_busy) {
    restart_timers(cx.now);
    moved_at_ = cx.now;
  }
  stranded_ = held_up_ = false;
  unfinished_ += packets;
  unanswered_ += packets;
  control_->on_sent(cx.now, bytes + packets * nominal_size(0));
  cx.services.counters.data_packets_sent += packets;
  cx.services.counters.payload_bytes_sent += bytes;
}

}  // namespace mrc
