// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/datagram.h"

#include <algorithm>
#include <cstring>

#include "libmrc/qp/gather.h"
#include "libmrc/qp/request_completion.h"
#include "libmrc/qp/scatter.h"

namespace mrc {

namespace {
constexpr Nanoseconds kAskAgain = kMillisecond;  // while a next hop is not known
constexpr Nanoseconds kAskRefresh = kSecond;     // next hops may change
constexpr Nanoseconds kPatience = 100 * kMillisecond;
constexpr uint32_t kOwnQueueKey = 0x80000000;

uint64_t mix(uint64_t value) {
  value = (value ^ value >> 31) * 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

uint64_t hash_of(const IpAddress& address, Qpn qpn) {
  uint64_t halves[2];
  std::memcpy(halves, address.bytes.data(), sizeof halves);
  return mix(mix(halves[0]) ^ halves[1] ^ uint64_t{qpn.value()} << 32);
}
}  // namespace

void Datagram::reset(uint32_t copied_segments, uint64_t seed) {
  const uint32_t queue_key = queue_key_;
  *this = Datagram{};
  queue_key_ = queue_key;
  seed_ = seed;
  slots_.reset(1, copied_segments);
  destinations_.assign(kDestinations, Destination{});
}

// ------------------------------------------------------------------------------------------------ sending

bool Datagram::has_work(const Context& cx) const {
  return !failure_ && cx.start_requests && !cx.send_queue.empty() && ask_at_ == kNever;
}

Datagram::Burst Datagram::transmit(Context& cx, size_t budget) {
  Burst burst;
  while (burst.packets < budget && has_work(cx)) {
    const SendRequest& request = cx.send_queue.at(cx.send_queue.head());
    const CompletionStatus status = check(cx, request);
    if (status != CompletionStatus::kSuccess) {
      failure_ = status;
      break;
    }
    Destination& destination = look_up(cx, request.datagram_address());
    const EvEntry* const path = choose_path(cx, destination);
    if (path == nullptr) {
      if (wait_for_next_hop(cx, destination)) break;
      ++cx.services.counters.drops_unreachable;  // lost, as a datagram may be
      finish_oldest(cx);
      continue;
    }
    waiting_since_ = 0;
    Transmitter& transmitter = cx.services.transmitter;
    uint8_t* buffer = nullptr;
    if (transmitter.room(path->plane, destination.next_hops[path->plane]) > 0)
      buffer = transmitter.begin(path->plane);
    if (buffer == nullptr) {
      burst.blocked = true;
      break;
    }
    if (!write(cx, request, destination, *path, buffer)) {
      failure_ = CompletionStatus::kLocalProtectionError;
      break;
    }
    ++burst.packets;
    finish_oldest(cx);
  }
  return burst;
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

bool Datagram::write(Context& cx, const SendRequest& request, const Destination& destination,
                     const EvEntry& path, uint8_t* buffer) {
  const DatagramAddress& address = request.datagram_address();
  const bool immediate = request.operation == Operation::kSendImm;
  const uint32_t pad = -request.bytes & 3;
  NetworkHeader network;
  network.source_mac = cx.services.transmitter.port(path.plane).address();
  network.destination_mac = destination.next_hops[path.plane];
  network.source = address.source;
  network.destination = address.destination;
  network.srv6 = path.has_outer;
  network.outer_source = outer_source(cx.services, path.plane, address.source);
  network.outer_destination = path.outer_destination;
  network.segment_routing = path.has_outer && path.has_segment;
  network.segment = path.segment;
  Bth bth;
  bth.opcode = immediate ? Opcode::kUdSendOnlyImm : Opcode::kUdSendOnly;
  bth.migrated = true;
  bth.destination = address.qpn;
  bth.psn = psn_;
  bth.pad_bytes = static_cast<uint8_t>(pad);
  bth.solicited = (request.flags & kSolicited) != 0;
  Deth deth;
  // IBTA 10.2.5: with the high bit set the sender means its own queue key, whatever the other bits say.
  deth.queue_key = (address.queue_key & kOwnQueueKey) != 0 ? queue_key_ : address.queue_key;
  deth.source = cx.connection.local_qpn;
  const size_t transport_bytes =
      Bth::kBytes + Deth::kBytes + (immediate ? ImmDt::kBytes : 0) + request.bytes + pad;
  FrameWriter frame(buffer, network, path.entropy, cx.services.config.dscp_data, Ecn::kNotCapable,
                    transport_bytes);
  frame.add(bth);
  frame.add(deth);
  if (immediate) frame.add_immediate(request.immediate);
  frame.end_headers();
  if (!gather(cx, request, 0, request.bytes, &frame)) return false;
  cx.services.transmitter.commit(path.plane, frame.finish(pad));
  ++psn_;
  ++cx.services.counters.data_packets_sent;
  cx.services.counters.payload_bytes_sent += request.bytes;
  return true;
}

void Datagram::flush(Context& cx, CompletionStatus first) {
  if (!flush_requests(cx, first)) failure_ = CompletionStatus::kGeneralError;
  waiting_since_ = 0;
  ask_at_ = kNever;
}

// ------------------------------------------------------------------------------------------- destinations

Datagram::Destination& Datagram::look_up(Context& cx, const DatagramAddress& address) {
  const Qpn qpn = address.way();
  const uint64_t hash = hash_of(address.destination, qpn);
  Destination& entry = destinations_[hash & (kDestinations - 1)];
  if (!entry.used || entry.address != address.destination || entry.qpn != qpn) {
    entry = Destination{};
    entry.used = true;
    entry.address = address.destination;
    entry.qpn = qpn;
    if (cx.services.path_source != nullptr) entry.paths = cx.services.path_source->paths_to(entry.address);
  }
  if (cx.now >= entry.ask_at) resolve(cx, entry);
  return entry;
}

void Datagram::resolve(Context& cx, Destination& destination) {
  const size_t planes = cx.services.transmitter.plane_count();
  destination.resolved = 0;
  for (size_t plane = 0; plane < planes; ++plane) {
    Port& port = cx.services.transmitter.port(static_cast<Plane>(plane));
    if (port.resolve(destination.address, destination.qpn, &destination.next_hops[plane]))
      destination.resolved |= PlaneMask{1} << plane;
  }
  const bool all = destination.resolved == (PlaneMask{1} << planes) - 1;
  destination.ask_at = cx.now + (all ? kAskRefresh : kAskAgain);
}

// Nobody promises datagrams an order, but what is built on them (UCX's reliability) takes everything out of
// order for lost: one path per destination, left only when its port goes down.
const EvEntry* Datagram::choose_path(const Context& cx, Destination& destination) const {
  const PlaneMask usable = destination.resolved & cx.services.ports_up;
  if (usable == 0) return nullptr;
  if (destination.path && (usable >> destination.path->plane & 1) != 0) return &*destination.path;
  destination.path.reset();
  const uint64_t draw = mix(hash_of(destination.address, destination.qpn) + seed_);
  if (!destination.paths.empty()) {
    for (size_t i = 0; i < destination.paths.size() && !destination.path; ++i) {
      const EvEntry& entry = destination.paths[(draw + i) % destination.paths.size()];
      if ((usable >> entry.plane & 1) != 0) destination.path = entry;
    }
    return destination.path ? &*destination.path : nullptr;
  }
  PlaneMask left = usable;
  for (uint64_t skip = draw % static_cast<unsigned>(__builtin_popcount(usable)); skip > 0; --skip)
    left &= left - 1;
  EvEntry& entry = destination.path.emplace();
  entry.plane = static_cast<Plane>(__builtin_ctz(left));
  entry.entropy = make_entropy(entry.plane, static_cast<uint32_t>(draw >> 32));
  return &entry;
}

// Whether it is worth while to wait for the next hop of the oldest request.
bool Datagram::wait_for_next_hop(Context& cx, const Destination& destination) {
  if (waiting_since_ == 0) waiting_since_ = cx.now;
  if (cx.now - waiting_since_ >= kPatience) return false;
  ask_at_ = std::max(destination.ask_at, cx.now + 1);
  return true;
}

// ---------------------------------------------------------------------------------------------- receiving

// IBTA 9.8.3, 9.9.3: whatever is wrong with a datagram, it is dropped, and nobody is told.
void Datagram::receive(Context& cx, const Packet& packet) {
  Counters& counters = cx.services.counters;
  if (packet.deth.queue_key != queue_key_) {  // IBTA 10.2.5
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
