// SPDX-License-Identifier: BSD-2-Clause
// What every packet of the requester's stream begins with: BTH, METH and TSETH, and XETH between them if it
// is one of XRC.
#pragma once

#include "libmrc/path/path_set.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/headers.h"
#include "libmrc/work/context.h"

namespace mrc {

struct StreamPacket {
  Bth bth;  // with opcode, pad, PSN and what is asked; the rest is filled in
  Meth meth;
  Tseth time;
  const Xeth* xeth = nullptr;  // XRC only
};

inline Tseth stream_time(const TransportConfig& config, Nanoseconds now) {
  return {to_wire_timestamp(now, config.coarse_timestamps), config.coarse_timestamps};
}

// A frame with these headers, and room for so many bytes behind them.
[[gnu::always_inline]] inline FrameWriter begin_packet(const Context& cx, const Path& path, uint8_t* buffer,
                                                       StreamPacket packet, size_t bytes) {
  constexpr size_t kStreamBytes = Bth::kBytes + Meth::kBytes + Tseth::kBytes;
  Bth& bth = packet.bth;
  bth.destination = cx.connection.remote_qpn;
  bth.has_timestamp = true;
  const auto kind = bth.retransmission ? &PlaneFrames::again : &PlaneFrames::data;
  const size_t named = packet.xeth != nullptr ? Xeth::kBytes : 0;
  FrameWriter frame = begin_frame(cx, path, kind, buffer, kStreamBytes + named + bytes);
  if (packet.xeth != nullptr) bth.opcode = to_xrc(bth.opcode);
  frame.add(bth);
  if (packet.xeth != nullptr) frame.add(*packet.xeth);
  frame.add(packet.meth);
  frame.add(packet.time);
  return frame;
}

}  // namespace mrc
