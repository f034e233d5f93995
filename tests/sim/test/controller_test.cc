// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.C2: the controller's word reaches queue pairs under full load, in virtual time.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

constexpr uint32_t kPaths = 8;

// One profile for all, as a controller's page would have it.
class OneProfile final : public ProfileSource {
 public:
  OneProfile() {
    for (Plane plane = 0; plane < 2; ++plane)
      for (uint32_t i = 0; i < kPaths; ++i)
        entries_.push_back({.entropy = make_entropy(plane, 100 + i), .plane = plane});
    profile_.entries = std::make_shared<const std::vector<EvEntry>>(entries_);
    profile_.min_active = 4;
  }
  // Another list, as when a controller's page is read again.
  void deny(size_t index, bool denied) {
    entries_[index].denied = denied;
    profile_.entries = std::make_shared<const std::vector<EvEntry>>(entries_);
  }
  const PathProfile* paths(uint64_t) override { return &profile_; }
  const CongestionConfig* congestion(uint64_t) override { return nullptr; }

 private:
  std::vector<EvEntry> entries_;
  PathProfile profile_;
};

TEST(Controller, DeniedPathsAreLeftAndAllowedOnesUsedWithinAMillisecond) {
  OneProfile profiles;
  WorldConfig config;
  config.topology.planes = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 1;
  config.topology.spines = 8;
  config.profiles = &profiles;
  config.buffer_bytes = 1 << 20;
  config.apply({});
  World world(config);
  StreamConfig stream;
  stream.messages = 0;
  stream.depth = 8;
  Stream& moving = world.add_stream(0, 1, stream);
  Engine& sender = world.fabric().host(0).engine();
  const auto now = [&] { return static_cast<Nanoseconds>(world.fabric().now() / 1000); };

  // The newest packet that is known to have come by each path; its number grows while the path is used.
  const auto newest = [&] {
    const PathSet& paths = moving.queue_pair().paths();
    std::vector<uint64_t> orders(size_t{2} * kPaths);
    for (size_t i = 0; i < paths.size(); ++i) {
      const Path& path = paths.at(PathId(static_cast<uint16_t>(i)));
      orders[path.profile_index] = path.delivered_order;
    }
    return orders;
  };
  const auto run_for = [&](Picoseconds span) {
    world.run_until(world.fabric().now() + span);
    return newest();
  };

  constexpr size_t kVictim = 3;
  ASSERT_GT(run_for(500 * kPerMicrosecond)[kVictim], 0u) << "it was not used before";
  profiles.deny(kVictim, true);
  sender.follow_profiles(now());
  EXPECT_EQ(moving.queue_pair().paths().active(), 2 * kPaths - 1);
  const auto denied = run_for(kPerMillisecond);  // what was under way, and nothing after that
  const auto later = run_for(2 * kPerMillisecond);
  for (size_t i = 0; i < later.size(); ++i)
    EXPECT_EQ(later[i] > denied[i], i != kVictim) << "EV " << i << ": all but one are used all the time";

  profiles.deny(kVictim, false);
  sender.follow_profiles(now());
  EXPECT_GT(run_for(kPerMillisecond)[kVictim], later[kVictim]) << "it is used again";
  EXPECT_EQ(world.failures(), 0u);
}

}  // namespace
}  // namespace mrc::sim
