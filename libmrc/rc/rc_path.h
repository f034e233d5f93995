// SPDX-License-Identifier: BSD-2-Clause
// How a plain RC queue pair puts packets on the wire: always by its one path, and all in one class of
// traffic, so that nothing overtakes.
#pragma once

#include <cstdint>

#include "libmrc/wire/frame.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"

namespace mrc {

inline constexpr PathId kRcPath{0};

inline Plane rc_plane(const Context& cx) {
  return cx.paths.at(kRcPath).plane;
}
inline size_t rc_room(const Context& cx) {
  const Plane plane = rc_plane(cx);
  if ((cx.connection.resolved >> plane & 1) == 0) return 0;
  return cx.services.transmitter.room_by(plane, cx.connection.next_hops[plane]);
}
inline uint8_t* rc_begin(Context& cx) {
  const Plane plane = rc_plane(cx);
  if ((cx.connection.resolved >> plane & 1) == 0) return nullptr;
  uint8_t* buffer = begin_buffer(cx, plane);
  if (buffer == nullptr) ++cx.services.counters.tx_no_buffer;
  return buffer;
}
inline FrameWriter rc_frame(const Context& cx, uint8_t* buffer, size_t transport_bytes) {
  return begin_frame(cx, cx.paths.at(kRcPath), &PlaneFrames::data, buffer, transport_bytes);
}
inline void rc_commit(Context& cx, size_t length) {
  cx.services.transmitter.commit(rc_plane(cx), length);
}

// IBTA 9.2: default partition key, and MigReq set as long as there is no alternate path (IBTA 17.2.8).
inline Bth rc_bth(const Context& cx, Opcode opcode, Psn psn) {
  Bth bth;
  bth.opcode = cx.connection.xrc ? to_xrc(opcode) : opcode;
  bth.migrated = true;
  bth.destination = cx.connection.remote_qpn;
  bth.psn = psn;
  return bth;
}

}  // namespace mrc
