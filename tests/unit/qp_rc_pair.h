// SPDX-License-Identifier: BSD-2-Clause
// What the tests of plain RC share: options, a look at the wire, and short forms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {

inline PairOptions rc_options() {
  PairOptions options;
  options.transport = Transport::kRc;
  return options;
}

// What one end sends, as the other would decode it.
struct Wire {
  explicit Wire(End& end) {
    for (auto& port : end.ports)
      port->drop = [this, lose = port->drop, at = port.get()](const PipePort::Frame& frame) {
        Packet packet;
        EXPECT_EQ(decode(frame, &packet), DecodeError::kNone);
        EXPECT_TRUE(icrc_matches(packet));
        packets.push_back(packet);
        ports.insert(at);
        return (lose && lose(frame)) || (drop && drop(packet));
      };
  }
  std::vector<Packet> packets;  // payload is gone
  std::set<PipePort*> ports;
  std::function<bool(const Packet&)> drop;

  size_t count(Opcode opcode) const {
    return std::count_if(packets.begin(), packets.end(),
                         [opcode](const Packet& packet) { return packet.bth.opcode == opcode; });
  }
};

inline SendRequest* aim(SendRequest* request, const Segment& target) {
  request->remote_address = target.address;
  request->remote_key = target.key;
  return request;
}

inline CompletionStatus status_of_one(WirePair& pair) {
  EXPECT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  const auto done = pair.poll(pair.a.sends);
  return done.empty() ? CompletionStatus::kGeneralError : done[0].status;
}

}  // namespace mrc::test
