// SPDX-License-Identifier: BSD-2-Clause
// What a receiver asks of its senders in SACKs, in a network: ALWAYS_SKIP and rcv_cwnd_pen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "libmrc/wire/srv6.h"
#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

constexpr uint32_t kSpines = 8;
constexpr uint32_t kReceiver = 4;  // the first on leaf 1; the one beside it denies nothing

class TwoLeaves {
 public:
  explicit TwoLeaves(const DeniedLinks& denied) : world_(config(denied)) {
    for (const uint32_t from : {0, 1})
      streams_.push_back(&world_.add_stream(from, kReceiver + from, endless(world_.config())));
  }
  World& world() { return world_; }
  // What has arrived by the path over this spine of plane 0 to the receiver or to the one beside it.
  uint64_t newest(size_t stream, uint32_t spine) {
    const PathSet& paths = streams_[stream]->queue_pair().paths();
    return paths.at(paths.find(make_entropy(0, spine), 0)).delivered_order;
  }
  // How many of these paths bring packets now.
  uint32_t used(size_t stream) {
    uint32_t count = 0;
    std::vector<uint64_t> before;
    for (uint32_t spine = 0; spine < kSpines; ++spine) before.push_back(newest(stream, spine));
    world_.run_until(world_.now() + kPerMillisecond);
    for (uint32_t spine = 0; spine < kSpines; ++spine) count += newest(stream, spine) > before[spine] ? 1 : 0;
    return count;
  }

 private:
  static WorldConfig config(const DeniedLinks& denied) {
    WorldConfig config;
    config.topology.planes = 2;
    config.topology.leaves = 2;
    config.topology.hosts_per_leaf = 4;
    config.topology.spines = kSpines;
    config.paths = kSpines;
    config.srv6 = true;
    config.denied_at[kReceiver] = &denied;
    config.apply({});
    return config;
  }

  World world_;
  std::vector<Stream*> streams_;
};

TEST(Receiver, DeniesALinkForThoseWhoSendToIt) {
  DeniedLinks denied;
  TwoLeaves net(denied);
  EXPECT_EQ(net.used(0), kSpines);
  const IpAddress way = net.world().fabric().usid_path(0, kReceiver, 0, 3);
  denied.assign({{usid_at(way, 1), usid_at(way, 2)}});  // from the spine to the receiver's leaf
  Engine& receiver = net.world().fabric().host(kReceiver).engine();
  const auto now = [&] { return to_nanoseconds(net.world().now()); };
  receiver.follow_profiles(now());
  net.world().run_until(net.world().now() + 200 * kPerMicrosecond);  // they hear of it
  const uint64_t frames = net.world().counters().data_packets_sent;
  const auto left = [&] {
    const PathSet& paths = net.world().streams()[0]->queue_pair().paths();
    return paths.at(paths.find(make_entropy(0, 3), 0));
  };
  const uint32_t sent = left().sent;
  net.world().run_until(net.world().now() + kPerMillisecond);
  EXPECT_GT(net.world().counters().data_packets_sent, frames + 1000);
  EXPECT_EQ(left().state, PathState::kAssumedBad);
  EXPECT_EQ(left().sent, sent) << "nothing but probes";
  EXPECT_EQ(net.used(1), kSpines) << "the way to others is nobody's business";
  EXPECT_EQ(net.world().counters().retransmits(), 0u) << "nothing is lost by leaving a path";
  denied.assign({});
  receiver.follow_profiles(now());
  net.world().run_until(net.world().now() + 20 * kPerMillisecond);
  EXPECT_EQ(left().state, PathState::kGood) << "its probes count again";
  EXPECT_EQ(net.used(0), kSpines);
}

struct Incast {
  uint64_t dropped = 0;
  double finished_us = 0;
};

// Fifteen to one, one after the other, where switches neither trim nor mark at the last hop.
Incast run_incast(bool penalty) {
  WorldConfig config;
  config.topology.planes = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 16;
  config.topology.spines = kSpines;
  config.trimming = false;
  config.receiver_penalty = penalty;
  config.queue_pairs_per_host = 1;
  config.queue_pairs_at[0] = 15;
  config.apply({});
  World world(config);
  StreamConfig stream;
  stream.message_bytes = 1'000'000;
  for (uint32_t i = 0; i < 15; ++i) {
    stream.start = i * 20 * kPerMicrosecond;
    world.add_stream(16 + i, 0, stream);
  }
  EXPECT_TRUE(world.run_until_done(kPerSecond));
  EXPECT_EQ(world.failures(), 0u);
  Incast result;
  result.dropped = world.fabric().core().trace.count(Fate::kDropQueue);
  for (const auto& flow : world.streams())
    result.finished_us = std::max(result.finished_us, to_microseconds(flow->finished_at()));
  std::printf("%s penalty: %llu dropped, %.0f us\n", penalty ? "with" : "without",
              static_cast<unsigned long long>(result.dropped), result.finished_us);
  return result;
}

TEST(Receiver, APenaltySparesTheQueueOfTheLastHop) {
  const Incast without = run_incast(false);
  const Incast with = run_incast(true);
  EXPECT_GT(without.dropped, 0u);
  EXPECT_LT(with.dropped, without.dropped);
  EXPECT_LT(with.finished_us, 1.1 * without.finished_us);
}

}  // namespace
}  // namespace mrc::sim
