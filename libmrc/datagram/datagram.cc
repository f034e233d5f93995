// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/datagram/datagram.h"

#include <algorithm>
#include <utility>

#include "libmrc/work/gather.h"
#include "libmrc/work/request_completion.h"
#include "libmrc/work/scatter.h"

namespace mrc {

namespace {
constexpr Nanoseconds kPatience = 100 * kMillisecond;  // for a next hop
constexpr Nanoseconds kRoomPatience = 2 * kSecond;  // for a link that is being made, or a reader that sleeps
constexpr Nanoseconds kUnheldPatience = 200 * kMillisecond;  // when no more can be put aside
constexpr uint32_t kOwnQueueKey = 0x80000000;
}  // namespace

// Every datagram has a destination of its own, so there is nobody to connect to.
void Datagram::connect(Psn, Services& services, Nanoseconds) {
  connection_.mtu = std::min(connection_.mtu, services.config.datagram_bytes_max);
  forget();
  slots_.reset({1, terms_.copied_segments});
  destinations_.reset(terms_.seed, terms_.general_service);
}

void Datagram::forget() {
  sending_ = false;
  held_.clear();
  waiting_since_ = 0;
  ask_at_ = kNever;
  fault_.reset();
  failure_.reset();
}

// ------------------------------------------------------------------------------------------------ sending

bool Datagram::has_work(const Context& cx) const {
  return !failure_ && cx.start_requests && !cx.send_queue.empty() && waiting_since_ == 0;
}

// A datagram is read from the application's memory as soon as its turn comes, whether it can go then or not:
// who has been answered by the peer, for whatever reason, takes the buffer for free.
Datagram::Burst Datagram::send(Context& cx, size_t budget) {
  Burst burst;
  ask_at_ = kNever;
  if (!held_.empty()) send_held(cx, budget, &burst);
  while (burst.packets < budget && !failure_ && cx.start_requests && !cx.send_queue.empty()) {
    const SendRequest& request = cx.send_queue.at(cx.send_queue.head());
    const CompletionStatus status = check(cx, request);
    if (status != CompletionStatus::kSuccess) {
      failure_ = status;
      break;
    }
    const DatagramAddress& address = request.datagram_address();
    if (address.destination.is_multicast() || address.qpn == kMulticastQpn) {
      if (!send_to_group(cx, request, &burst)) break;
      continue;
    }
    const Route found = route(cx, address);
    const bool behind = !held_.empty() && is_behind_held(address, held_.size());
    if (found.way == Way::kOpen && !behind) {
      if (!send_oldest(cx, request, found)) break;
      ++burst.packets;
      continue;
    }
    if (found.way == Way::kNoNextHop && address.now_or_never) {
      ++cx.services.counters.drops_unreachable;  // lost, as a datagram may be
      finish_oldest(cx);
      continue;
    }
    if (held_.size() < kHeldMax) {
      if (!hold(cx, request)) break;
      wait_for(cx, found, &burst);
      continue;
    }
    if (waiting_since_ == 0) waiting_since_ = cx.now;
    if (cx.now - waiting_since_ < kUnheldPatience) {
      wait_for(cx, found, &burst);
      break;
    }
    ++cx.services.counters.drops_unreachable;
    finish_oldest(cx);
  }
  return burst;
}

void Datagram::wait_for(Context& cx, const Route& route, Burst* burst) {
  if (route.way == Way::kNoNextHop)
    ask_at_ = std::min(ask_at_, std::max(route.destination->ask_at, cx.now + 1));
  else
    burst->blocked = true;
}

Datagram::Route Datagram::route(Context& cx, const DatagramAddress& address) {
  Route route;
  // A member of a group that is on this host is asked by its own name whether its planes answer.
  DatagramAddress way = address;
  if (address.destination.is_multicast() && address.way() != kMulticastQpn) way.destination = address.source;
  route.destination = &destinations_.look_up(cx, way);
  destinations_.probe(cx, *route.destination, address.source);
  route.path = destinations_.choose_path(cx, *route.destination);
  if (route.path == nullptr) return route;
  const Plane plane = route.path->plane;
  const bool room = cx.services.transmitter.room_by(plane, route.destination->next_hops[plane]) > 0;
  route.way = room ? Way::kOpen : Way::kNoRoom;
  return route;
}

// Those to one destination stay in their order.
bool Datagram::is_behind_held(const DatagramAddress& address, size_t count) const {
  return std::any_of(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(count), [&](const Held& held) {
    return held.head.address.destination == address.destination && held.head.address.way() == address.way();
  });
}

void Datagram::send_held(Context& cx, size_t budget, Burst* burst) {
  size_t kept = 0;
  for (size_t i = 0; i < held_.size(); ++i) {
    Held& held = held_[i];
    const Route found = route(cx, held.head.address);
    if (cx.now - held.since >= (found.way == Way::kNoNextHop ? kPatience : kRoomPatience)) {
      ++cx.services.counters.drops_unreachable;
      continue;
    }
    if (found.way == Way::kOpen && burst->packets < budget && !is_behind_held(held.head.address, kept) &&
        send_copy(cx, held, found)) {
      ++burst->packets;
      continue;
    }
    wait_for(cx, found, burst);
    if (kept != i) held_[kept] = std::move(held);
    ++kept;
  }
  held_.resize(kept);
  if (kept < kHeldMax) waiting_since_ = 0;
}

// False: the port has no buffer.
bool Datagram::send_copy(Context& cx, const Held& copy, const Route& route) {
  uint8_t* buffer = begin_buffer(cx, route);
  if (buffer == nullptr) return false;
  FrameWriter frame = begin(cx, copy.head, route, buffer);
  frame.add_payload(copy.payload.data(), copy.head.bytes);
  finish(cx, copy.head, route, &frame);
  return true;
}

// IBTA 10.5.3: to every process of this host that has joined, and by the wire to all others at once.
bool Datagram::send_to_group(Context& cx, const SendRequest& request, Burst* burst) {
  to_group_.head = head_of(request);
  to_group_.since = cx.now;
  to_group_.payload.resize(request.bytes);
  if (!gather(cx, request, to_group_.payload.data())) {
    failure_ = CompletionStatus::kLocalProtectionError;
    return false;
  }
  const DatagramAddress& address = to_group_.head.address;
  if (address.destination.is_multicast() && address.qpn == kMulticastQpn) {
    Transmitter& transmitter = cx.services.transmitter;
    members_.clear();
    transmitter.port(0).find_members_here(address.destination, &members_);
    bool wired = false;
    for (size_t plane = 0; plane < transmitter.plane_count(); ++plane)
      wired = wired || transmitter.port(static_cast<Plane>(plane)).wire() != nullptr;
    if (wired) members_.push_back(kMulticastQpn);
    for (const Qpn member : members_) send_or_hold_copy(cx, member, burst);
  } else {
    ++cx.services.counters.drops_unreachable;  // a group has no other queue pair, nor is this one of a host
  }
  finish_oldest(cx);
  return true;
}

void Datagram::send_or_hold_copy(Context& cx, Qpn way, Burst* burst) {
  to_group_.head.address.via = way;
  const Route found = route(cx, to_group_.head.address);
  const bool behind = !held_.empty() && is_behind_held(to_group_.head.address, held_.size());
  if (found.way == Way::kOpen && !behind && send_copy(cx, to_group_, found)) {
    ++burst->packets;
  } else if (held_.size() < kHeldMax) {
    held_.push_back(to_group_);
    wait_for(cx, found, burst);
  } else {
    ++cx.services.counters.drops_unreachable;
  }
}

// False: the memory was taken away under a request that had passed its check.
bool Datagram::hold(Context& cx, const SendRequest& request) {
  Held held;
  held.head = head_of(request);
  held.payload.resize(request.bytes);
  held.since = cx.now;
  if (!gather(cx, request, held.payload.data())) {
    failure_ = CompletionStatus::kLocalProtectionError;
    return false;
  }
  held_.push_back(std::move(held));
  finish_oldest(cx);
  return true;
}

bool Datagram::send_oldest(Context& cx, const SendRequest& request, const Route& route) {
  uint8_t* buffer = begin_buffer(cx, route);
  if (buffer == nullptr) return hold(cx, request);
  const Head head = head_of(request);
  FrameWriter frame = begin(cx, head, route, buffer);
  if (!gather(cx, request, 0, request.bytes, &frame)) {
    failure_ = CompletionStatus::kLocalProtectionError;
    return false;
  }
  finish(cx, head, route, &frame);
  finish_oldest(cx);
  return true;
}

// IBTA 9.8.3, 11.4.1.1: SEND only, and no longer than one packet.
CompletionStatus Datagram::check(const Context& cx, const SendRequest& request) const {
  if (request.operation != Operation::kSend && request.operation != Operation::kSendImm)
    return CompletionStatus::kLocalQpOperationError;
  if (request.address_bytes != sizeof(DatagramAddress)) return CompletionStatus::kLocalQpOperationError;
  const DatagramAddress& address = request.datagram_address();
  if (address.source.is_v4() != address.destination.is_v4()) return CompletionStatus::kLocalQpOperationError;
  if (request.bytes > cx.connection.mtu) return CompletionStatus::kLocalLengthError;
  return check_local_memory(cx, request);
}

void Datagram::finish_oldest(Context& cx) {
  ++cx.services.counters.messages_completed;
  waiting_since_ = 0;
  if (!complete_oldest(cx, CompletionStatus::kSuccess)) failure_ = CompletionStatus::kGeneralError;
}

Datagram::Head Datagram::head_of(const SendRequest& request) {
  return {request.datagram_address(), request.operation == Operation::kSendImm,
          (request.flags & kSolicited) != 0, request.immediate, request.bytes};
}

uint8_t* Datagram::begin_buffer(Context& cx, const Route& route) {
  const Plane plane = route.path->plane;
  return cx.services.transmitter.begin(plane, route.destination->next_hops[plane]);
}

// A frame with all headers.
FrameWriter Datagram::begin(Context& cx, const Head& head, const Route& route, uint8_t* buffer) {
  const Plane plane = route.path->plane;
  const uint32_t pad = -head.bytes & 3;
  NetworkHeader network;
  network.source_mac = cx.services.transmitter.port(plane).address();
  network.destination_mac = route.destination->next_hops[plane];
  network.intact = cx.services.transmitter.keeps_intact(plane, network.destination_mac);
  network.source = head.address.source;
  network.destination = head.address.destination;
  cx.services.config.interop.fill(false, &network);
  take_way(*route.path, outer_source(cx.services, plane, head.address.source), &network);
  Bth bth;
  bth.opcode = head.has_immediate ? Opcode::kUdSendOnlyImm : Opcode::kUdSendOnly;
  bth.migrated = true;
  bth.destination = head.address.qpn;
  bth.psn = psn_;
  bth.pad_bytes = static_cast<uint8_t>(pad);
  bth.solicited = head.solicited;
  Deth deth;
  // IBTA 10.2.5: with the high bit set the sender means its own queue key, whatever the other bits say.
  deth.queue_key = (head.address.queue_key & kOwnQueueKey) != 0 ? terms_.queue_key : head.address.queue_key;
  deth.source = cx.connection.local_qpn;
  const size_t transport_bytes =
      Bth::kBytes + Deth::kBytes + (head.has_immediate ? ImmDt::kBytes : 0) + head.bytes + pad;
  FrameWriter frame(buffer, network, route.path->entropy, cx.services.config.dscp_data, Ecn::kNotCapable,
                    transport_bytes);
  frame.add(bth);
  frame.add(deth);
  if (head.has_immediate) frame.add_immediate(head.immediate);
  frame.end_headers();
  return frame;
}

void Datagram::finish(Context& cx, const Head& head, const Route& route, FrameWriter* frame) {
  cx.services.transmitter.commit(route.path->plane, frame->finish(-head.bytes & 3));
  ++psn_;
  ++cx.services.counters.data_packets_sent;
  cx.services.counters.payload_bytes_sent += head.bytes;
}

void Datagram::flush(Context& cx, CompletionStatus first) {
  if (!flush_requests(cx, first)) failure_ = CompletionStatus::kGeneralError;
  held_.clear();
  waiting_since_ = 0;
  ask_at_ = kNever;
}

// ---------------------------------------------------------------------------------------------- receiving

// IBTA 9.8.3, 9.9.3: whatever is wrong with a datagram, it is dropped, and nobody is told.
void Datagram::receive(Context& cx, const Packet& packet, Plane) {
  Counters& counters = cx.services.counters;
  if (packet.deth.queue_key != terms_.queue_key) {  // IBTA 10.2.5
    ++counters.drops_bad_queue_key;
    return;
  }
  if (slots_.bind(cx, slots_.next()) != ReceiveSlots::Bind::kBound) {
    ++counters.drops_no_receive;
    return;
  }
  ReceiveSlots::Slot& slot = slots_.front();
  // IBTA 11.4.1.2: the first 40 bytes are the GRH.
  const uint64_t bytes = kGrhBytes + packet.payload.size();
  if (total_bytes(slot.segments) < bytes) {
    ++counters.drops_too_long;
    return;
  }
  uint8_t grh[kGrhBytes];
  write_grh(grh, packet);
  const MemoryTable& memory = cx.services.memory;
  if (!scatter(memory, cx.receiver(), slot.segments, 0, grh) ||
      !scatter(memory, cx.receiver(), slot.segments, kGrhBytes, packet.payload)) {
    // The memory of the receive request is not what it was said to be.
    fault_ = ResponderFault{packet.bth.psn, Aeth::kNakRemoteOperation, true};
    return;
  }
  counters.payload_bytes_placed += packet.payload.size();
  ++counters.datagrams_received;
  slot.end(packet, static_cast<uint32_t>(bytes));
  if (!slots_.deliver(cx, &packet)) failure_ = CompletionStatus::kGeneralError;
}

}  // namespace mrc
