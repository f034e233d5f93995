// SPDX-License-Identifier: BSD-2-Clause
// The hosts this device talks to, by class of traffic and congestion profile. Queue pairs to one peer in one
// class share a congestion controller (MRC 5.1, 11.20, QPCC): what the queues of one class do says nothing
// about those of another.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "libmrc/congestion/controller.h"
#include "libmrc/containers/linked_list.h"
#include "libmrc/path/path_set.h"
#include "libmrc/peer/known_speakers.h"
#include "libmrc/peer/loss_memory.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class QueuePair;

struct Peer {
  IpAddress address;
  uint8_t dscp = 0;
  uint64_t profile = 0;  // of congestion control
  uint32_t index = 0;    // small and unique among the living
  uint32_t users = 0;
  CongestionController controller;
  LossMemory losses;       // of all its queue pairs
  bool ports_told = true;  // it knows which of our ports are usable
  uint32_t ports_attempts = 0;
  Nanoseconds ports_heard_at = 0;  // when it last told us of its own; 0 = never
  Tseth ports_heard;               // the time stamp that had
  PlaneMask ports_usable = 0;      // what it said
  uint32_t ports_news = 0;         // how often
  KnownSpeakers speakers;
  LinkedList<QueuePair> members;  // connected to it, or in error since
  LinkedList<QueuePair> waiting;  // those that found the window closed, first come first
  EvEntries entries;              // of the paths to it, as they were last asked for

  // The same list for all who have the same entries.
  EvEntries share_entries(std::vector<EvEntry> wanted) {
    if (entries == nullptr || *entries != wanted)
      entries = std::make_shared<const std::vector<EvEntry>>(std::move(wanted));
    return entries;
  }
};

class PeerTable {
 public:
  // `expected_senders`: how many may send to this peer at once, if that is known; see CongestionController.
  Peer* acquire(const IpAddress& address, uint8_t dscp, uint64_t profile, const CongestionConfig& config,
                uint32_t expected_senders, uint64_t seed) {
    auto& slot = peers_[{address.bytes, dscp, profile}];
    if (slot == nullptr) {
      slot = std::make_unique<Peer>();
      slot->address = address;
      slot->dscp = dscp;
      slot->profile = profile;
      slot->index = take_index();
      slot->controller.reset(config, expected_senders, seed);
    }
    ++slot->users;
    return slot.get();
  }
  void release(Peer* peer) {
    if (--peer->users > 0) return;
    free_.push_back(peer->index);
    peers_.erase({peer->address.bytes, peer->dscp, peer->profile});
  }
  template <typename Each>
  void for_each(Each&& each) {
    for (auto& [key, peer] : peers_) each(*peer);
  }
  // Of one host: by class of traffic and profile.
  template <typename Each>
  void for_each_of(const IpAddress& address, Each&& each) {
    for (auto at = peers_.lower_bound({address.bytes, 0, 0});
         at != peers_.end() && std::get<0>(at->first) == address.bytes; ++at)
      each(*at->second);
  }

 private:
  uint32_t take_index() {
    if (free_.empty()) return next_index_++;
    const uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  using Key = std::tuple<std::array<uint8_t, 16>, uint8_t, uint64_t>;
  std::map<Key, std::unique_ptr<Peer>> peers_;
  std::vector<uint32_t> free_;
  uint32_t next_index_ = 0;
};

}  // namespace mrc
