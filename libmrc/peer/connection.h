// SPDX-License-Identifier: BSD-2-Clause
// Who is connected to whom: addresses, next hops per plane, and the limits agreed on.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/memory/memory_table.h"
#include "libmrc/path/path_set.h"
#include "libmrc/peer/frame_table.h"
#include "libmrc/peer/peer_extension.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

// MRC 1.4: a SACK tells the MPR in units of so many PSNs.
inline constexpr uint32_t kMprUnit = 128;

// As long as it may take to make a link to another process, of which nothing was heard yet.
inline constexpr Nanoseconds kLinkPatience = 30 * kSecond;

struct Connection {
  Qpn local_qpn;
  Qpn remote_qpn;
  IpAddress source;
  IpAddress destination;
  uint32_t mtu = 1024;
  uint8_t dscp = 0;                     // asked for; 0 = the device's
  uint8_t remote_access = 0;            // AccessRight bits the peer has
  Accessor domain{ProtectionDomain{}};  // this queue pair, to the memory
  bool strict = false;                  // MRC 1.0 only
  bool lossy = false;                   // messages that cannot be taken are lost, and nobody is told
  bool xrc = false;                     // its packets are those of XRC
  PeerExtension extension = PeerExtension::kUnknown;
  Nanoseconds refused_until = kNever;  // so long a refusal, or silence, is believed
  uint8_t reads_max = 16;          // READs and atomics of ours that may wait for an answer (max_rd_atomic)
  uint8_t answers_max = 16;        // the same of the peer's (max_dest_rd_atomic)
  uint8_t rnr_timer = 12;          // IBTA code of the delay we ask for when no receive request is there
  uint8_t rnr_retry = 7;           // 7 = for ever
  uint32_t mpr = UINT32_MAX;       // what we let the peer have; with dynamic MPR it is told
  uint32_t send_mpr = UINT32_MAX;  // what the peer lets us have, before it says anything
  bool dynamic_mpr = false;        // MRC 2: tell the peer how much is welcome, and obey when it does
  uint16_t immediates_max = 0;     // max_wimm: WriteImm messages that we may have under way

  PlaneMask resolved = 0;        // planes whose next hop is known
  bool srv6 = false;             // every path has an outer destination of its own
  bool segment_routing = false;  // and a routing header with a segment of its own
  // Valid where resolved: who is there, ready headers, and where frames are staged.
  std::array<MacAddress, kPlanesMax> next_hops{};
  std::array<const PlaneFrames*, kPlanesMax> frames{};
  std::array<uint8_t, kPlanesMax> lanes{};  // of the transmitter, by which they go

  // Whether a request of the extension may go, or fail, by what the peer has said of it.
  bool knows_extension(Nanoseconds now) const {
    if (extension == PeerExtension::kSupported) [[likely]]
      return true;
    return extension != PeerExtension::kUnknown && now < refused_until;
  }
};

}  // namespace mrc
