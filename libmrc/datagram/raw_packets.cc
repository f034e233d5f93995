// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/datagram/raw_packets.h"

#include <algorithm>
#include <cstring>

#include "libmrc/port/raw_frames.h"
#include "libmrc/work/gather.h"
#include "libmrc/work/request_completion.h"
#include "libmrc/work/scatter.h"

namespace mrc {

namespace {
// For a link that is being made, or a listener that is behind. One that stays behind holds nobody up again.
constexpr Nanoseconds kListenerPatience = 2 * kSecond;
}  // namespace

void RawPackets::connect(Psn, Services&, Nanoseconds) {
  bad_memory_.store(false, std::memory_order_relaxed);
  overran_.store(false, std::memory_order_relaxed);
  waiting_since_ = 0;
  failure_.reset();
  frame_.resize(kRawFrameBytesMax);
}

// ------------------------------------------------------------------------------------------------ sending

RawPackets::Burst RawPackets::send(Context& cx, size_t budget) {
  Burst burst;
  while (burst.packets < budget && has_work(cx)) {
    const SendRequest& request = cx.send_queue.at(cx.send_queue.head());
    CompletionStatus status = check(cx, request);
    if (status == CompletionStatus::kSuccess && !gather(cx, request, frame_.data()))
      status = CompletionStatus::kLocalProtectionError;
    if (status != CompletionStatus::kSuccess) {
      failure_ = status;
      break;
    }
    const auto plane = choose_plane(cx);
    ways_.clear();
    if (plane) find_ways(cx, *plane);
    if (plane && !has_room(cx, *plane)) {
      burst.blocked = true;
      break;
    }
    if (ways_.empty()) ++cx.services.counters.drops_unreachable;  // nobody listens
    for (const MacAddress& way : ways_) send_copy(cx, *plane, way, request.bytes);
    ++burst.packets;
    finish_oldest(cx);
  }
  return burst;
}

CompletionStatus RawPackets::check(const Context& cx, const SendRequest& request) {
  if (request.operation != Operation::kSend) return CompletionStatus::kLocalQpOperationError;
  if (request.bytes < kEthernetBytes || request.bytes > kRawFrameBytesMax)
    return CompletionStatus::kLocalLengthError;
  return check_local_memory(cx, request);
}

// Frames keep their order, so they keep to one plane, as long as it has a link.
std::optional<Plane> RawPackets::choose_plane(const Context& cx) const {
  const size_t planes = cx.services.transmitter.plane_count();
  for (size_t i = 0; i < planes; ++i) {
    const auto plane = static_cast<Plane>((way_ + i) % planes);
    if ((cx.services.ports_up >> plane & 1) != 0) return plane;
  }
  return std::nullopt;
}

// To all who listen on this host but for ourselves, as Ethernet brings nobody his own frames; and by the
// wire, if there is one.
void RawPackets::find_ways(Context& cx, Plane plane) {
  Port& port = cx.services.transmitter.port(plane);
  MacAddress own;
  port.resolve(kRawFrameListeners, cx.connection.local_qpn, &own);
  listeners_.clear();
  port.find_members_here(kRawFrameListeners, &listeners_);
  for (const Qpn listener : listeners_) {
    MacAddress station;
    if (port.resolve(kRawFrameListeners, listener, &station) && station != own) ways_.push_back(station);
  }
  MacAddress destination;
  std::memcpy(destination.bytes.data(), frame_.data(), destination.bytes.size());
  if (port.wire() != nullptr && !is_same_host(destination)) ways_.push_back(destination);
}

bool RawPackets::has_room(Context& cx, Plane plane) {
  Transmitter& transmitter = cx.services.transmitter;
  const auto full = [&](const MacAddress& way) { return transmitter.room_by(plane, way) == 0; };
  if (std::none_of(ways_.begin(), ways_.end(), full)) {
    waiting_since_ = 0;
    return true;
  }
  if (waiting_since_ == 0) waiting_since_ = cx.now;
  if (cx.now - waiting_since_ < kListenerPatience) return false;
  std::erase_if(ways_, full);
  return true;
}

void RawPackets::send_copy(Context& cx, Plane plane, const MacAddress& next_hop, size_t bytes) {
  uint8_t* buffer = cx.services.transmitter.begin(plane, next_hop);
  if (buffer == nullptr) {
    ++cx.services.counters.tx_no_buffer;
    return;
  }
  const size_t wrapper = is_same_host(next_hop) ? kEthernetBytes : 0;
  if (wrapper > 0) wrap_raw_frame(buffer, next_hop);
  std::memcpy(buffer + wrapper, frame_.data(), bytes);
  cx.services.transmitter.commit(plane, wrapper + bytes);
}

void RawPackets::finish_oldest(Context& cx) {
  ++cx.services.counters.messages_completed;
  if (!complete_oldest(cx, CompletionStatus::kSuccess)) failure_ = CompletionStatus::kGeneralError;
}

void RawPackets::flush(Context& cx, CompletionStatus first) {
  if (!flush_requests(cx, first)) failure_ = CompletionStatus::kGeneralError;
  waiting_since_ = 0;
}

// ---------------------------------------------------------------------------------------------- receiving

bool RawPackets::take(Context& cx, std::span<const uint8_t> frame) {
  Counters& counters = cx.services.counters;
  if (cx.receive_queue.empty() || fault() != nullptr) {
    ++counters.drops_no_receive;
    return true;
  }
  const uint64_t head = cx.receive_queue.head();
  const ReceiveRequest& request = cx.receive_queue.at(head);
  const std::span<const Segment> segments(request.segments(), request.segment_count);
  if (total_bytes(segments) < frame.size()) {
    ++counters.drops_too_long;
    return true;
  }
  if (!scatter(cx.services.memory, cx.receiver(), segments, 0, frame)) {
    bad_memory_.store(true, std::memory_order_relaxed);
    return false;
  }
  counters.payload_bytes_placed += frame.size();
  ++counters.raw_frames_received;
  Completion completion;
  completion.work_id = request.work_id;
  completion.byte_count = static_cast<uint32_t>(frame.size());
  completion.qpn = cx.connection.local_qpn;
  completion.kind = CompletionKind::kReceive;
  cx.receive_queue.release(head + 1);
  if (cx.services.completions.push(cx.receive_completions, completion)) return true;
  overran_.store(true, std::memory_order_relaxed);
  return false;
}

}  // namespace mrc
