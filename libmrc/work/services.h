// SPDX-License-Identifier: BSD-2-Clause
// What a queue pair may use of its device, handed to it with every call.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/config/transport_config.h"
#include "libmrc/congestion/receiver_aware.h"
#include "libmrc/memory/memory_table.h"
#include "libmrc/path/path_set.h"
#include "libmrc/path/path_source.h"
#include "libmrc/peer/endpoint_requests.h"
#include "libmrc/peer/frame_table.h"
#include "libmrc/peer/loss_memory.h"
#include "libmrc/peer/peer_table.h"
#include "libmrc/peer/profile_source.h"
#include "libmrc/port/counters.h"
#include "libmrc/port/transmitter.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"
#include "libmrc/work/completion_sink.h"
#include "libmrc/work/disorder.h"
#include "libmrc/work/pauses.h"

namespace mrc {

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
  Disorder* disorder = nullptr;  // null: WRITEs are placed as they come
  uint32_t receiving = 0;        // queue pairs that something came for within a millisecond, of late
  Pauses pauses{};
  LossyPeers lossy_peers{};
  uint64_t profiles_told = 0;  // how often they may have changed, and what is denied with them
};

// The source address of an outer header around packets of `inner`.
inline IpAddress outer_source(const Services& services, Plane plane, const IpAddress& inner) {
  if (services.path_source == nullptr) return inner;
  return services.path_source->outer_source(plane).value_or(inner);
}

}  // namespace mrc
