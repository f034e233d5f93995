// SPDX-License-Identifier: BSD-2-Clause
// Every knob of the transport, with its default.
#pragma once

#include <cstdint>

#include "libmrc/config/interop_config.h"
#include "libmrc/congestion/controller.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/time.h"

namespace mrc {

// What a reliable connection speaks on the wire.
enum class Transport : uint8_t {
  kMrc,        // MRC 1.0 and, if the peer has it too, the extension: the rest of RC
  kMrcStrict,  // MRC 1.0 only: no SEND, READ, atomics; an immediate without a receive is an error
  kRc,         // plain RoCEv2 RC: go-back-N by one path
};

// Settings of the transport that all queue pairs of a device share.
struct TransportConfig {
  // kNone: a window per queue pair. The others: one controller per peer, as `nscc` says.
  CongestionAlgorithm congestion = CongestionAlgorithm::kNone;
  NsccConfig nscc;
  uint64_t link_rate_bps = 0;             // of all planes together; for the receiver-aware controller
  bool receiver_penalty = false;          // MRC 5.3: ask NSCC's senders for less when more begin to send
  uint32_t expected_senders = 0;          // hint for that controller, the usual degree of incast; 0 = unknown
  uint32_t datagram_bytes_max = kMtuMax;  // what fits through the ports
  static constexpr uint32_t kPathsPerPlaneMax = 256;
  uint32_t paths_per_plane = 32;
  // MRC 4.5: more paths per plane, which take the place of bad ones.
  static constexpr uint32_t kBackupsAuto = UINT32_MAX;
  uint32_t backups_per_plane = kBackupsAuto;
  uint32_t mark_skip_turns_max = 32;  // of a path in SKIP, see PathSetConfig
  uint32_t trim_skip_turns = 8;
  uint32_t paths_min_active = 0;     // MRC 4.2, ev_min_active: never demote below it; 0 = a quarter of all
  bool tell_denied = false;          // MRC 1.4, ALWAYS_SKIP for what comes over links that are denied here
  uint32_t window_bytes = 1u << 20;  // of each queue pair when there is no congestion control
  uint32_t window_packets = 1024;    // MPR: packets beyond the cumulative PSN (power of two)
  bool dynamic_mpr = false;  // MRC 2: tell the peer how many packets are welcome, and obey when it does
  // With dynamic MPR: so many queue pairs of an engine may fill their windows at the same time; when more
  // receive, each is to send less.
  uint32_t full_windows = 8;
  uint32_t sack_threshold_bytes = 16384;  // MRC 3.1
  uint16_t immediates_max = 128;          // max_wimm: WriteImm messages in flight
  // Where packets are lost, send what is under way once more when there is nothing new to send.
  bool spare_copies = true;
  Nanoseconds reorder_window_min = 20 * kMicrosecond;
  Nanoseconds silence_min = 100 * kMicrosecond;  // MRC 3.3 (d): before a probe asks for a sign of life
  // A retry timer that was asked to be shorter is lengthened to this, as far as InfiniBand allows (4 times).
  Nanoseconds timeout_min = 0;
  Nanoseconds probe_interval = kMillisecond;
  Nanoseconds probe_interval_max = kSecond;
  bool coarse_timestamps = true;  // 1.024 us ticks: round trips of host software may pass 4 ms
  uint8_t dscp_data = 0;          // MRC 7 [P]: NO_TRIM
  uint8_t dscp_retransmission = 0;
  uint8_t dscp_probe = 0;
  uint8_t dscp_control = 46;
  uint8_t dscp_trimmed = 12;
  uint8_t dscp_trimmed_last_hop = 16;
  InteropConfig interop;
  bool counts_senders() const {
    return congestion == CongestionAlgorithm::kReceiverAware || receiver_penalty;
  }
  // An eighth where there are many, so that all places of a plane stay filled while one link of eight is
  // dead.
  uint32_t backups_for(uint32_t paths) const {
    return backups_per_plane == kBackupsAuto ? paths / 8 : backups_per_plane;
  }
  // Of queue pairs that do not say.
  Transport transport = Transport::kMrc;
  bool strict = false;  // makes kMrcStrict of kMrc there
  Transport default_transport() const {
    return strict && transport == Transport::kMrc ? Transport::kMrcStrict : transport;
  }
};

}  // namespace mrc
