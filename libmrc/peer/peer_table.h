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
#include <utility>
#include <vector>

#include "libmrc/congestion/controller.h"
#include "libmrc/containers/linked_list.h"
#include "libmrc/path/path_set.h"
#include "libmrc/peer/known_speakers.h"
#include "libmrc/peer/loss_memory.h"
#include "libmrc/peer/own_paths.h"
#include "libmrc/peer/peer_paths.h"
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
  uint32_t ports_said = 0;         // how often
  uint32_t ports_news = 0;         // of these, and of its planes that came back, what members are told
  KnownSpeakers speakers;
  // Connected to it. Those that have not heard its newest word about its ports come first.
  LinkedList<QueuePair> members;
  LinkedList<QueuePair> waiting;  // those that found the window closed, first come first
  OwnPaths own_paths;
  EvEntries entries;  // of the paths of a profile, as far as they can be used together
  std::vector<std::unique_ptr<PeerPaths>> paths;

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
  // --- what is known of the paths to a peer ---
  // With those who connected before with the same things, if they can be had; else made from `seed`.
  PeerPaths* acquire_paths(Peer& peer, const PathsOrigin& origin, uint64_t seed, Nanoseconds now) {
    for (const auto& there : peer.paths) {
      // A change may not have been told yet.
      if (origin.entries != nullptr && there->origin.is_alike(origin)) there->follow(origin.entries, now);
      if (!there->serves(origin)) continue;
      ++there->users;
      return there.get();
    }
    auto paths = std::make_unique<PeerPaths>();
    if (origin.entries == nullptr)
      paths->set.reset(origin.config, seed);
    else
      paths->set.reset(origin.config, origin.entries, seed);
    paths->origin = origin;
    paths->number = ++paths_made_;
    paths->users = 1;
    paths->ports_followed = peer.ports_said;
    if (free_paths_.empty()) {
      if (free_paths_.capacity() <= paths_.size()) free_paths_.reserve(2 * paths_.size() + 1);
      paths_.push_back(nullptr);
      free_paths_.push_back(static_cast<uint32_t>(paths_.size() - 1));
    }
    paths->index = free_paths_.back();
    peer.paths.push_back(std::move(paths));
    free_paths_.pop_back();
    return paths_[peer.paths.back()->index] = peer.paths.back().get();
  }
  void release_paths(Peer& peer, PeerPaths* paths) {
    if (--paths->users > 0) return;
    paths_[paths->index] = nullptr;
    free_paths_.push_back(paths->index);  // which has room for all of them
    std::erase_if(peer.paths, [paths](const auto& each) { return each.get() == paths; });
  }
  // By index; null: there are none.
  PeerPaths* paths_at(uint32_t index) { return paths_[index]; }
  // All indices are below it.
  uint32_t paths_count() const { return static_cast<uint32_t>(paths_.size()); }

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
  std::vector<PeerPaths*> paths_;  // of all peers, by index
  std::vector<uint32_t> free_paths_;
  uint64_t paths_made_ = 0;
  uint32_t next_index_ = 0;
  uint32_t round_ = 0;
  LinkedList<Peer> informed_;
  LinkedList<Peer> uninformed_;
  LinkedList<Peer> with_news_;
};

}  // namespace mrc
