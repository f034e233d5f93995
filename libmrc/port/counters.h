// SPDX-License-Identifier: BSD-2-Clause
// What the engine counts, with a reason for everything. Written under the engine's lock; readers of a live
// engine may see a value a burst old.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "libmrc/path/path_counters.h"
#include "libmrc/port/fault_kind.h"
#include "libmrc/wire/packet.h"

namespace mrc {

// MRC 1.5: NACKs are counted by reason; the last is "none that is known".
inline constexpr std::array<NackReason, 7> kNackReasons = {
    NackReason::kTrimmed,        NackReason::kTrimmedLastHop, NackReason::kNoBitmap,
    NackReason::kNoPacketBuffer, NackReason::kNoResource,     NackReason::kPsnOutOfWindow,
    NackReason::kUnexpectedEvent};
using NackCounts = std::array<uint64_t, kNackReasons.size() + 1>;
constexpr size_t nack_index(NackReason reason) {
  for (size_t i = 0; i < kNackReasons.size(); ++i)
    if (kNackReasons[i] == reason) return i;
  return kNackReasons.size();
}

struct Counters {
  // Frames and payload that crossed the ports.
  uint64_t frames_sent = 0;
  uint64_t frames_received = 0;
  uint64_t data_packets_sent = 0;     // first transmissions
  uint64_t retransmissions_sent = 0;  // frames of MRC that carry data once more
  uint64_t copies_sent = 0;           // frames of MRC that went twice before anything was known of them
  uint64_t requests_received = 0;     // frames of MRC with new data (or a new READ, atomic, answer)
  uint64_t requests_refused = 0;      // new ones that were not taken: no receive request was posted
  uint64_t requests_lost = 0;         // packets of messages that an unreliable connection could not take
  uint64_t requests_in_vain = 0;      // behind the request that ended the connection, or after its end
  uint64_t datagrams_received = 0;    // delivered
  uint64_t multicasts_received = 0;   // datagrams to a group, however many queue pairs have joined it
  uint64_t raw_frames_received = 0;   // delivered to queue pairs of raw packets, as often as it was copied
  uint64_t payload_bytes_sent = 0;    // of first transmissions
  uint64_t payload_bytes_placed = 0;  // new data written to memory
  uint64_t messages_completed = 0;    // at the requester
  uint64_t pauses = 0;                // times that this host did not run for long
  // Control.
  uint64_t sacks_sent = 0;
  uint64_t sacks_received = 0;
  uint64_t acks_sent = 0;
  uint64_t acks_received = 0;
  uint64_t naks_sent = 0;
  uint64_t naks_received = 0;
  uint64_t nacks_sent = 0;
  NackCounts nacks_sent_by{};  // of these, by nack_index()
  uint64_t nacks_received = 0;
  NackCounts nacks_received_by{};
  uint64_t nacks_stale = 0;  // of these, not about a packet under way, or about an earlier copy of it
  uint64_t trimmed_received = 0;
  uint64_t endpoint_requests_received = 0;
  uint64_t endpoint_answers_sent = 0;
  uint64_t endpoint_answers_withheld = 0;  // who asked had had its share
  uint64_t endpoint_answers_received = 0;  // to requests of ours
  uint64_t capability_requests_sent = 0;
  uint64_t ev_probes_sent = 0;  // MRC 1.6, endpoint operation EV_PROBE
  uint64_t ev_probes_answered = 0;
  uint64_t port_updates_sent = 0;
  uint64_t port_updates_received = 0;
  uint64_t port_updates_refused = 0;  // not from a connected peer
  uint64_t port_updates_old = 0;      // received, but overtaken by a newer one
  uint64_t port_updates_refuted = 0;  // planes that were said to be down, and answered
  uint64_t probes_sent = 0;
  uint64_t probes_received = 0;
  uint64_t probes_answered = 0;  // answers that came back
  // Retransmissions by cause.
  uint64_t retransmits_same_path = 0;     // a later packet of the same path arrived
  uint64_t retransmits_reordering = 0;    // overtaken for longer than the reordering window
  uint64_t retransmits_out_of_order = 0;  // more than a window has arrived behind it
  uint64_t retransmits_timeout = 0;
  uint64_t retransmits_nack = 0;
  uint64_t retransmits_trimmed = 0;    // of these, a switch had trimmed it
  uint64_t retransmits_port_down = 0;  // under way when the local port lost its link
  uint64_t retransmits_ack_lost = 0;   // everything arrived, but the transport ACK did not
  uint64_t retransmits_not_ready = 0;  // the peer had no receive request
  uint64_t retransmits_sequence = 0;   // plain RC: a sequence error made it go back
  uint64_t retry_exceeded = 0;
  uint64_t not_ready_sent = 0;
  uint64_t not_ready_received = 0;
  // Operations carried out for the peer.
  uint64_t reads_served = 0;
  uint64_t atomics_served = 0;
  uint64_t flushes_served = 0;
  // Paths: these two as the requester sees them, and all changes of state by cause.
  uint64_t paths_demoted = 0;
  uint64_t paths_restored = 0;
  PathCounters paths;
  // Received requests that were not new data.
  uint64_t duplicates = 0;
  uint64_t out_of_window = 0;
  uint64_t out_of_sequence = 0;  // plain RC: a packet before it is missing
  // Drops by cause.
  std::array<uint64_t, static_cast<size_t>(DecodeError::kCount)> drops_undecodable{};
  uint64_t drops_bad_icrc = 0;
  uint64_t drops_bad_partition_key = 0;
  uint64_t drops_unknown_qp = 0;
  uint64_t drops_wrong_peer = 0;  // source address is not the connected one
  uint64_t drops_wrong_state = 0;
  uint64_t drops_unsupported = 0;
  uint64_t drops_bad_control = 0;  // acknowledges what was never sent, and the like
  // Datagrams.
  uint64_t drops_bad_queue_key = 0;
  uint64_t drops_no_receive = 0;     // no receive request was posted
  uint64_t drops_too_long = 0;       // does not fit into the receive request
  uint64_t drops_unreachable = 0;    // to be sent, but the next hop never became known
  uint64_t drops_no_group = 0;       // to a group that nobody here has joined
  uint64_t drops_bad_multicast = 0;  // to all members, but to no group, from a group, or no datagram
  uint64_t tx_no_buffer = 0;
  uint64_t tx_no_next_hop = 0;    // answers that had no way yet
  FaultCounts faults_injected{};  // on purpose, by FaultKind

  uint64_t retransmits() const {
    return retransmits_same_path + retransmits_reordering + retransmits_out_of_order + retransmits_timeout +
           retransmits_nack + retransmits_ack_lost + retransmits_not_ready + retransmits_port_down +
           retransmits_sequence;
  }
};

}  // namespace mrc
