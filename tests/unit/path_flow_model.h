// SPDX-License-Identifier: BSD-2-Clause
// A steady flow over a path set for tests of path health: every path loses packets as it is told, losses are
// found as MRC 3.3 (a) and (b) find them, probes are answered like data. No window, no retransmission.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "tests/unit/path_made.h"

namespace mrc {

struct FlowModel {
  // The chance that a packet of this path is lost now.
  std::function<double(const Path&, Nanoseconds)> loss = [](const Path&, Nanoseconds) { return 0.0; };
  Nanoseconds rtt = 12 * kMicrosecond;
  Nanoseconds gap = 41;  // between packets: 800 Gb/s of 4 KiB
  PlaneMask usable = ~PlaneMask{0};

  SprayedPaths paths;
  Nanoseconds now = 0;
  uint64_t sent = 0;
  uint64_t lost = 0;
  uint64_t demoted = 0;
  uint64_t probes = 0;
  uint64_t stuck = 0;  // turns without a path
  size_t active_min = SIZE_MAX;
  std::vector<uint64_t> sent_by;  // path
  std::vector<Nanoseconds> last_sent_by;
  std::vector<Nanoseconds> first_lost_by;
  std::vector<Nanoseconds> first_out_by;

  void reset(const PathSetConfig& config, uint64_t seed = 1) {
    paths.reset(config, seed);
    paths.set_rtt(rtt);
    sent_by.assign(paths.size(), 0);
    last_sent_by.assign(paths.size(), 0);
    first_lost_by.assign(paths.size(), kNever);
    first_out_by.assign(paths.size(), kNever);
  }

  void run(Nanoseconds until) {
    for (; now < until; now += gap) {
      hear();
      probe();
      send();
      active_min = std::min(active_min, paths.active());
    }
  }

 private:
  struct Packet {
    uint64_t order;
    PathId path;
    Nanoseconds sent_at;
    bool arrives;
    bool probe;
  };

  double uniform() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(random_ >> 11) / 9007199254740992.0;
  }

  void launch(PathId id, bool is_probe) {
    const bool arrives = uniform() >= loss(paths.at(id), now);
    flying_.push_back({++order_, id, now, arrives, is_probe});
  }

  void send() {
    const PathId id = paths.select(usable);
    if (id == kNoPath) {
      ++stuck;
      return;
    }
    launch(id, false);
    ++sent;
    const auto index = static_cast<size_t>(id);
    ++sent_by[index];
    last_sent_by[index] = now;
    if (flying_.back().arrives) return;
    ++lost;
    if (first_lost_by[index] == kNever) first_lost_by[index] = now;
  }

  void probe() {
    for (PathId id = paths.take_due_probe(now); id != kNoPath; id = paths.take_due_probe(now)) {
      ++probes;
      launch(id, true);
    }
  }

  // What was sent a round trip ago arrives now; what is missing is lost once a later packet of its path is
  // here, or anything sent a quarter of a round trip later.
  void hear() {
    const Nanoseconds newest_before = newest_;
    for (; !flying_.empty() && flying_.front().sent_at + rtt <= now; flying_.pop_front()) {
      const Packet packet = flying_.front();
      if (!packet.arrives) {
        if (!packet.probe) missing_.push_back(packet);
        continue;
      }
      paths.delivered(packet.path, packet.order);
      newest_ = packet.sent_at;
      if (packet.probe) paths.probe_answered(packet.path, now);
    }
    if (newest_ == newest_before) return;  // nothing arrived: nothing more is known of what is missing
    for (auto packet = missing_.begin(); packet != missing_.end();) {
      const bool same_path = paths.at(packet->path).delivered_order > packet->order;
      if (!same_path && newest_ <= packet->sent_at + rtt / 4) {
        ++packet;
        continue;
      }
      if (paths.lost(packet->path, packet->order, packet->sent_at, now)) {
        ++demoted;
        Nanoseconds& first = first_out_by[static_cast<size_t>(packet->path)];
        if (first == kNever) first = now;
      }
      packet = missing_.erase(packet);
    }
  }

  std::deque<Packet> flying_;
  std::deque<Packet> missing_;
  uint64_t order_ = 0;
  Nanoseconds newest_ = 0;
  uint64_t random_ = 11;
};

}  // namespace mrc
