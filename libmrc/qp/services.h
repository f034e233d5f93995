// SPDX-License-Identifier: BSD-2-Clause
// What a queue pair may use of its device, handed to it with every call.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "libmrc/congestion/controller.h"
#include "libmrc/congestion/receiver_aware.h"
#include "libmrc/memory/memory_table.h"
#include "libmrc/path/path_set.h"
#include "libmrc/path/path_source.h"
#include "libmrc/port/counters.h"
#include "libmrc/port/transmitter.h"
#include "libmrc/qp/completion_queue.h"
#include "libmrc/qp/endpoint_requests.h"
#include "libmrc/qp/frame_table.h"
#include "libmrc/qp/peer_table.h"
#include "libmrc/qp/profile_source.h"
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
  uint32_t expected_senders = 0;          // hint for that controller, the usual degree of incast; 0 = unknown
  uint32_t datagram_bytes_max = kMtuMax;  // what fits through the ports
  uint32_t paths_per_plane = 32;
  uint32_t backups_per_plane = 0;    // MRC 4.5: more paths per plane, which take the place of bad ones
  uint32_t paths_min_active = 0;     // MRC 4.2, ev_min_active: never demote below it; 0 = a quarter of all
  uint32_t window_bytes = 1u << 20;  // of each queue pair when there is no congestion control
  uint32_t window_packets = 1024;    // MPR: packets beyond the cumulative PSN (power of two)
  bool dynamic_mpr = false;  // MRC 2: tell the peer how many packets are welcome, and obey when it does
  uint32_t sack_threshold_bytes = 16384;  // MRC 3.1
  uint16_t immediates_max = 128;          // max_wimm: WriteImm messages in flight
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
  // Of queue pairs that do not say.
  Transport transport = Transport::kMrc;
  bool strict = false;  // makes kMrcStrict of kMrc there
  Transport default_transport() const {
    return strict && transport == Transport::kMrc ? Transport::kMrcStrict : transport;
  }
};

// Collects which completion queues were pushed to, so that the owner is told once per burst.
class CompletionSink {
 public:
  // False: the queue has overrun.
  [[gnu::hot]] bool push(CompletionQueue* queue, const Completion& completion) {
    ++pushed_;
    const bool before = queue->overrun();
    const bool fits = queue->push(completion);
    if (queue->shared()) [[unlikely]]
      return push_shared(queue, fits, before);
    if (fits) {
      touched_.push_back(queue->pushed_to);
      return true;
    }
    if (!before) overrun_.push_back(queue->overran);  // it is told once
    return false;
  }
  template <typename Pushed, typename Overrun>
  void drain(Pushed&& pushed, Overrun&& overrun) {
    while (!touched_.empty()) pushed(touched_.pop_front());
    while (!overrun_.empty()) overrun(overrun_.pop_front());
    if (shared_.empty()) [[likely]]
      return;
    for (const Shared& shared : shared_) {
      if (shared.pushed) pushed(*shared.queue);
      if (shared.overrun) overrun(*shared.queue);
    }
    shared_.clear();
  }
  size_t pushed() const { return pushed_; }
  // A shared queue that is being destroyed; nobody pushes into it any more.
  void forget(const CompletionQueue* queue) {
    std::erase_if(shared_, [queue](const Shared& shared) { return shared.queue == queue; });
  }

 private:
  // Of a queue that other engines push into, too: its own list nodes are not ours.
  struct Shared {
    CompletionQueue* queue;
    bool pushed;
    bool overrun;
  };
  bool push_shared(CompletionQueue* queue, bool fits, bool overrun_before) {
    auto known = shared_.begin();
    while (known != shared_.end() && known->queue != queue) ++known;
    if (known == shared_.end()) known = shared_.insert(known, {queue, false, false});
    known->pushed = known->pushed || fits;
    known->overrun = known->overrun || (!fits && !overrun_before);
    return fits;
  }

  LinkedList<CompletionQueue> touched_;
  LinkedList<CompletionQueue> overrun_;
  std::vector<Shared> shared_;
  size_t pushed_ = 0;
};

struct Services {
  MemoryTable& memory;
  Counters& counters;
  Transmitter& transmitter;
  CompletionSink& completions;
  PeerTable& peers;
  FrameTable& frames;
  EndpointRequests& endpoint_requests;
  ReceiverShare& receiver_share;  // counts senders when the receiver-aware controller is on
  const TransportConfig& config;
  PathSource* path_source;  // may be null
  ProfileSource* profiles;  // may be null
  PlaneMask ports_up;       // local ports that have a link
  // When something last came from another host by a plane, whatever it was; 0 = never.
  std::array<Nanoseconds, kPlanesMax> heard_at{};
  uint32_t receiving = 0;  // queue pairs that something came for within a millisecond, of late
};

// The source address of an outer header around packets of `inner`.
inline IpAddress outer_source(const Services& services, Plane plane, const IpAddress& inner) {
  if (services.path_source == nullptr) return inner;
  return services.path_source->outer_source(plane).value_or(inner);
}

}  // namespace mrc
