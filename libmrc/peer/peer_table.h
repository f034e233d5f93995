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
#include "libmrc/peer/own_paths.h"
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
  LossMemory losses;               // of all its queue pairs
  Nanoseconds ports_heard_at = 0;  // when it last told us of its own; 0 = never
  Tseth ports_heard;               // the time stamp that had
  PlaneMask ports_usable = 0;      // what it said
  uint32_t ports_news = 0;         // how often
  KnownSpeakers speakers;
  // Connected to it. Those that have not heard its newest word about its ports come first.
  LinkedList<QueuePair> members;
  LinkedList<QueuePair> waiting;  // those that found the window closed, first come first
  OwnPaths own_paths;
  EvEntries entries;  // of the paths of a profile, as far as they can be used together

  // The table's.
  struct PortsOfOurs {          // what it knows of them
    uint32_t announced_in = 0;  // the round that the next two belong to; in a later one nothing was said yet
    uint32_t attempts = 0;
    bool known = true;
    uint32_t pass = 0;  // of the announcements, in which it was last looked at
  } our_ports;
  LinkedList<Peer>::Node informed{this};
  LinkedList<Peer>::Node has_news{this};  // some of its members have not heard

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
      slot->our_ports.announced_in = round_;  // the next round is for it, too
      informed_.push_back(slot->informed);
    }
    ++slot->users;
    return slot.get();
  }
  void release(Peer* peer) {
    if (--peer->users > 0) return;
    free_.push_back(peer->index);
    (is_informed(*peer) ? informed_ : uninformed_).remove(peer->informed);
    with_news_.remove(peer->has_news);
    peers_.erase({peer->address.bytes, peer->dscp, peer->profile});
  }
  // Of one host: by class of traffic and profile.
  template <typename Each>
  void for_each_of(const IpAddress& address, Each&& each) {
    for (auto at = peers_.lower_bound({address.bytes, 0, 0});
         at != peers_.end() && std::get<0>(at->first) == address.bytes; ++at)
      each(*at->second);
  }

  // --- who knows which of our ports are usable ---
  // From now on nobody does.
  void begin_round() {
    ++round_;
    uninformed_.push_front(informed_);
  }
  // In turn: who was told goes to the end.
  LinkedList<Peer>& uninformed() { return uninformed_; }
  // How often it was told in this round.
  uint32_t& attempts(Peer& peer) {
    if (peer.our_ports.announced_in != round_) {
      peer.our_ports.announced_in = round_;
      peer.our_ports.attempts = 0;
      peer.our_ports.known = false;
    }
    return peer.our_ports.attempts;
  }
  // It has answered.
  void inform(Peer& peer) {
    if (is_informed(peer)) return;
    uninformed_.remove(peer.informed);
    peer.our_ports.announced_in = round_;
    peer.our_ports.known = true;
    informed_.push_back(peer.informed);
  }

  // --- who has told something of its own ports, and not all its members have heard ---
  void note_news(Peer& peer) { with_news_.push_back(peer.has_news); }
  LinkedList<Peer>& with_news() { return with_news_; }

 private:
  bool is_informed(const Peer& peer) const {
    return peer.our_ports.known && peer.our_ports.announced_in == round_;
  }
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
  uint32_t round_ = 0;
  LinkedList<Peer> informed_;
  LinkedList<Peer> uninformed_;
  LinkedList<Peer> with_news_;
};

}  // namespace mrc
