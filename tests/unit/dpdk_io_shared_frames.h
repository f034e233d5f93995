// SPDX-License-Identifier: BSD-2-Clause
// Frames for the tests of shared ports, forged ones too, and their way into a link and out of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dpdk_io/link/link_end.h"
#include "libmrc/wire/frame.h"

namespace mrc::share_test {

inline const IpAddress kHere = IpAddress::v4(10, 0, 0, 1);
inline const IpAddress kThere = IpAddress::v4(10, 0, 0, 2);
inline const IpAddress kOuterHere{{0xFD, 0, 0x4D, 0x52, 0x90, 5}};
using Bytes = std::vector<uint8_t>;

struct FrameForm {
  IpAddress source = kHere;
  IpAddress destination = kThere;
  Qpn to{};
  std::optional<Qpn> from = {};  // a datagram
  std::optional<IpAddress> outer = {};
  size_t payload = 64;
};

inline Bytes make_frame(const FrameForm& form) {
  NetworkHeader network;
  network.destination_mac = MacAddress{{2, 0, 0, 0, 0, 9}};
  network.source = form.source;
  network.destination = form.destination;
  network.srv6 = form.outer.has_value();
  if (form.outer) network.outer_source = network.outer_destination = *form.outer;
  Bytes buffer(kFrameBytesMax);
  const size_t headers = Bth::kBytes + (form.from ? Deth::kBytes : 0);
  FrameWriter frame(buffer.data(), network, Entropy{0xC001}, 0, Ecn::kEct0, headers + form.payload);
  Bth bth;
  bth.opcode = form.from ? Opcode::kUdSendOnly : Opcode::kAcknowledge;
  bth.destination = form.to;
  frame.add(bth);
  if (form.from) {
    Deth deth;
    deth.source = *form.from;
    frame.add(deth);
  }
  frame.end_headers();
  const Bytes payload(form.payload, 0x5A);
  frame.add_payload(payload.data(), payload.size());
  buffer.resize(frame.finish(0));
  return buffer;
}

// How many of the copies the end took without dropping any.
inline size_t send_copies(LinkEnd& end, const Bytes& frame, Plane plane, size_t count) {
  const uint64_t before = end.counters().frames_sent;
  for (size_t i = 0; i < count; ++i) {
    TxFrame buffer;
    if (end.acquire({&buffer, 1}) != 1) break;
    std::memcpy(buffer.data, frame.data(), frame.size());
    buffer.length = static_cast<uint32_t>(frame.size());
    buffer.plane = plane;
    end.transmit({&buffer, 1});
  }
  return end.counters().frames_sent - before;
}

inline std::vector<Bytes> receive_all(Carrier& end, std::vector<Plane>* planes = nullptr) {
  std::vector<Bytes> all;
  RxFrame frames[kBurst];
  while (const size_t count = end.receive(frames)) {
    for (const RxFrame& frame : std::span(frames, count)) {
      all.emplace_back(frame.data, frame.data + frame.length);
      if (planes != nullptr) planes->push_back(frame.plane);
    }
    end.release({frames, count});
  }
  return all;
}

}  // namespace mrc::share_test
