// SPDX-License-Identifier: BSD-2-Clause
// Looks at every packet an end of a WirePair sends, keeps some of them back, and puts packets of the test's
// own in front of an engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {

// Of a frame that stays where it is.
inline Packet parse(const PipePort::Frame& frame) {
  Packet packet;
  EXPECT_EQ(decode(frame, &packet), DecodeError::kNone);
  return packet;
}

class Tap {
 public:
  explicit Tap(End& end) {
    for (auto& port : end.ports)
      port->drop = [this](const PipePort::Frame& frame) {
        const Packet packet = parse(frame);
        frames.push_back(frame);
        packets.push_back(packet);
        return drop && drop(packet);
      };
  }
  size_t count(Opcode opcode) const {
    return static_cast<size_t>(std::count_if(packets.begin(), packets.end(), [opcode](const Packet& packet) {
      return packet.bth.opcode == opcode;
    }));
  }
  // The last one; there must be one.
  const Packet& last(Opcode opcode) const {
    const auto found = std::find_if(packets.rbegin(), packets.rend(),
                                    [opcode](const Packet& packet) { return packet.bth.opcode == opcode; });
    EXPECT_NE(found, packets.rend());
    return found == packets.rend() ? packets.front() : *found;
  }
  void clear() {
    frames.clear();
    packets.clear();
  }

  std::function<bool(const Packet&)> drop;
  std::vector<PipePort::Frame> frames;
  std::vector<Packet> packets;  // their payload points nowhere
};

struct Craft {
  uint8_t dscp = 0;
  Ecn ecn = Ecn::kEct0;
  Entropy entropy{0xC003};
  Plane plane = 0;
  IpAddress source;  // none: the other end
  std::vector<uint8_t> payload;
  size_t cut = 0;  // 0 = whole
};

// A packet for `to`, as if the other end had sent it.
template <typename... Headers>
void inject(WirePair& pair, End& to, const Craft& craft, const Headers&... headers) {
  PipePort::Frame frame(kFrameBytesMax);
  End& from = &to == &pair.a ? pair.b : pair.a;
  NetworkHeader network;
  network.source = craft.source == IpAddress{} ? pair.address_of(from) : craft.source;
  network.destination = pair.address_of(to);
  const size_t bytes = (Headers::kBytes + ...) + craft.payload.size();
  FrameWriter writer(frame.data(), network, craft.entropy, craft.dscp, craft.ecn, bytes);
  (writer.add(headers), ...);
  writer.end_headers();
  if (!craft.payload.empty()) writer.add_payload(craft.payload.data(), craft.payload.size());
  frame.resize(writer.finish(0));
  if (craft.cut != 0) frame.resize(craft.cut);
  to.ports[craft.plane]->arrived.emplace(to.ports[craft.plane]->now, std::move(frame));
}

// One plane, one MTU of 1 KiB, nothing but MRC 1.0: every packet is known beforehand.
inline PairOptions strict_options(uint32_t planes = 1) {
  PairOptions options;
  options.planes = planes;
  options.transport = Transport::kMrcStrict;
  return options;
}

// Memory at both ends, and requests between them.
struct RulePair : WirePair {
  explicit RulePair(const PairOptions& options = strict_options(), uint32_t bytes = 1 << 20)
      : WirePair(options), data(bytes), target(bytes) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 256 + 1);
    from = segment(a, data.data(), bytes, kRemoteWrite | kRemoteRead);
    to = segment(b, target.data(), bytes, kRemoteWrite | kRemoteRead);
  }
  SendRequest* write(uint64_t id, uint32_t bytes, uint32_t at = 0, Operation operation = Operation::kWrite) {
    SendRequest* request = post(a, operation, id, {{from.address + at, bytes, from.key}});
    request->remote_address = to.address + at;
    request->remote_key = to.key;
    request->immediate = static_cast<uint32_t>(id);
    ring(a);
    return request;
  }
  // The headers of a WRITE of one packet from a to b.
  Bth bth(uint32_t psn, bool ack_request = false, bool again = false) const {
    Bth bth;
    bth.opcode = Opcode::kWriteOnly;
    bth.destination = b.qp->qpn();
    bth.psn = Psn(psn);
    bth.ack_request = ack_request;
    bth.retransmission = again;
    bth.has_timestamp = true;
    return bth;
  }
  Reth reth(uint32_t at, uint32_t bytes) const { return {to.address + at, to.key, bytes}; }
  void put(uint32_t psn, const Bth& bth, const Craft& given, uint16_t timestamp = 0x1234) {
    Craft craft = given;
    if (craft.payload.empty()) craft.payload.assign(1024, static_cast<uint8_t>(psn));
    inject(*this, b, craft, bth, Meth{0, static_cast<uint16_t>(psn)}, Tseth{timestamp, true},
           reth(psn % 512 * 1024, static_cast<uint32_t>(craft.payload.size())));
  }

  std::vector<uint8_t> data;
  std::vector<uint8_t> target;
  Segment from;
  Segment to;
};

}  // namespace mrc::test
