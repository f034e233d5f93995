// SPDX-License-Identifier: BSD-2-Clause
// What requester and responder of one queue pair work with in one call, and how both put a control packet on
// the wire.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/path/path_turns.h"
#include "libmrc/peer/connection.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/time.h"
#include "libmrc/work/completion_queue.h"
#include "libmrc/work/event_trace.h"
#include "libmrc/work/services.h"
#include "libmrc/work/shared_receive_queue.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

struct Context {
  const Connection& connection;
  PathSet& paths;
  PathTurns& turns;  // over them
  SendQueue& send_queue;
  ReceiveQueue& receive_queue;
  SharedReceiveQueue* shared_receives;  // instead of receive_queue, if not null
  CompletionQueue* send_completions;
  CompletionQueue* receive_completions;
  uint32_t peer_index;
  bool signal_all;
  bool start_requests;  // false while the send queue is being drained
  Services& services;
  EventTrace& trace;
  Nanoseconds now;

  // Whose memory receive requests name: a shared queue has a protection domain of its own (IBTA 10.2.9.4).
  Accessor receiver() const {
    if (shared_receives == nullptr) return connection.domain;
    return {shared_receives->domain(), connection.domain.qpn};
  }

  void note(TraceEvent event, Psn psn, PathId path = kNoPath, uint32_t value = 0) {
    trace.note(now, event, psn, path, value);
  }
};

// A writer for a frame on this path, with ready bytes of this kind in front.
[[gnu::always_inline]] inline FrameWriter begin_frame(const Context& cx, const Path& path,
                                                      FrameTemplate PlaneFrames::*kind, uint8_t* buffer,
                                                      size_t transport_bytes) {
  FrameWriter frame(buffer, cx.connection.frames[path.plane]->*kind, path.entropy, transport_bytes);
  if (path.has_outer) frame.set_outer_destination(cx.paths.way(path).outer_destination);
  if (path.has_segment) frame.set_segment(cx.paths.way(path).segment);
  return frame;
}

// A buffer for a frame to the peer by this plane; nullptr: there is none.
inline uint8_t* begin_buffer(Context& cx, Plane plane) {
  return cx.services.transmitter.begin(cx.connection.lanes[plane]);
}

// What was written there, behind ready bytes of the connection's.
inline void commit(Context& cx, Plane plane, size_t length) {
  cx.services.transmitter.commit(plane, length, cx.connection.frames[plane]->station);
}

// The outer header, if the path has one, for a frame of which no prefix was made before.
inline void take_way(const EvEntry& way, const IpAddress& outer_source, NetworkHeader* network) {
  network->srv6 = way.has_outer;
  network->outer_source = outer_source;
  network->outer_destination = way.outer_destination;
  network->segment_routing = way.has_outer && way.has_segment;
  network->segment = way.segment;
}

// Sends BTH + one control header by a path. False if the port has no buffer or the next hop is not known yet;
// control packets are never repeated for their own sake, so the caller only counts.
template <typename Header>
bool send_control(Context& cx, PathId path_id, FrameTemplate PlaneFrames::*kind, const Bth& bth,
                  const Header& header) {
  const Path& path = cx.paths.at(path_id);
  if ((cx.connection.resolved >> path.plane & 1) == 0) {
    ++cx.services.counters.tx_no_next_hop;
    return false;
  }
  uint8_t* buffer = begin_buffer(cx, path.plane);
  if (buffer == nullptr) {
    ++cx.services.counters.tx_no_buffer;
    return false;
  }
  FrameWriter frame = begin_frame(cx, path, kind, buffer, Bth::kBytes + Header::kBytes);
  frame.add(bth);
  frame.add(header);
  frame.end_headers();
  commit(cx, path.plane, frame.finish(0));
  return true;
}

// MRC 1.4 to 1.6: SACK, NACK and probe name both queue pairs by the low half of their numbers. Who only knows
// addresses does not know these.
inline bool names_connection(const Connection& connection, uint16_t source_qpn_low,
                             uint16_t destination_qpn_low) {
  return source_qpn_low == static_cast<uint16_t>(connection.remote_qpn.value()) &&
         destination_qpn_low == static_cast<uint16_t>(connection.local_qpn.value());
}

// A plane to answer on: the one asked for if its next hop is known, else any.
inline Plane usable_plane(const Connection& connection, Plane wanted) {
  if (connection.resolved >> wanted & 1 || connection.resolved == 0) return wanted;
  return static_cast<Plane>(__builtin_ctz(connection.resolved));
}

// For an answer to what came by this plane and EV; a probe if the peer asked.
inline PathId path_back(Context& cx, Plane plane, Entropy heard, bool asked = false) {
  return cx.paths.control_path(usable_plane(cx.connection, plane), heard, asked);
}

}  // namespace mrc
