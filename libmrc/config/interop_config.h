// SPDX-License-Identifier: BSD-2-Clause
// How to speak where readers of MRC 1.0 differ (MRC 11). What is heard is understood in every reading, as far
// as it can be told; these say which one is spoken.
#pragma once

#include <cstdint>

#include "libmrc/wire/frame.h"

namespace mrc {

struct InteropConfig {
  uint16_t udp_port = kUdpPort;  // of MRC packets: 4791, or 4971 as the specification prints it
  uint16_t partition_key = kPartitionKeyDefault;
  bool check_partition_key = false;      // IBTA 10.9: drop what has another one
  bool echo_port_first = false;          // SACK and NACK echo the EV with the source port as its high half
  bool pad = true;                       // payload of MRC packets is filled up to a multiple of four
  bool response_operation_high = false;  // MRC 1.6: the operation of an endpoint answer is in bits 5:4
  bool nack_out_of_window = true;        // MRC 2: or dropped without a word

  // Plain RC and datagrams have the port and the pad of RoCEv2 in any case.
  void fill(bool mrc, NetworkHeader* network) const {
    if (mrc) network->udp_port = udp_port;
    network->partition_key = partition_key;
  }
  Entropy echo(Entropy heard) const { return echo_port_first ? swap_halves(heard) : heard; }
  uint32_t pad_bytes(uint32_t payload_bytes) const { return pad ? -payload_bytes & 3 : 0; }
  // IBTA 10.9.3: the same number, and one of the two is a full member.
  bool accepts(uint16_t key) const {
    constexpr uint16_t kFullMember = 0x8000;
    if (!check_partition_key) return true;
    return ((key ^ partition_key) & ~kFullMember) == 0 && ((key | partition_key) & kFullMember) != 0;
  }
};

}  // namespace mrc
