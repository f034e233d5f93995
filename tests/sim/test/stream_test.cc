// SPDX-License-Identifier: BSD-2-Clause
// What a stream tells its listener: the measurements of the collectives are only as good as this.
#include <gtest/gtest.h>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

class Checker : public StreamListener {
 public:
  Checker(World& world, uint32_t host, uint64_t message_bytes)
      : world_(world), host_(host), message_bytes_(message_bytes) {}
  void on_message(Stream&, uint64_t number) override {
    EXPECT_EQ(number, told_++);
    EXPECT_GE(world_.placed(host_), told_ * message_bytes_) << "message " << number << " is not whole";
  }
  uint64_t told() const { return told_; }

 private:
  World& world_;
  uint32_t host_;
  uint64_t message_bytes_;
  uint64_t told_ = 0;
};

// With several queue pairs a message goes in parts, and those whose paths collide come last.
TEST(Stream, TellsAMessageWhenAllItsPartsAreHere) {
  for (const Transport& transport : all_transports({}, false)) {
    WorldConfig config;
    config.topology.leaves = 2;
    config.topology.hosts_per_leaf = 1;
    config.topology.spines = 8;
    config.buffer_bytes = 1 << 18;
    config.apply({});
    World world(config.speaking(transport));
    StreamConfig wanted;
    wanted.message_bytes = config.buffer_bytes;
    wanted.messages = 20;
    wanted.depth = 1;  // nothing of the next message can be here
    wanted.immediate = true;
    Stream& stream = world.add_stream(0, 1, wanted);
    Checker checker(world, 1, wanted.message_bytes);
    stream.set_listener(&checker);
    EXPECT_TRUE(world.run_until_done(kPerSecond)) << transport.name();
    EXPECT_FALSE(stream.failed());
    EXPECT_EQ(checker.told(), wanted.messages) << transport.name();
  }
}

// Whoever finds the ports full is the first when there is room again.
TEST(Stream, ThoseOfOneHostShareItsPorts) {
  for (const uint32_t streams : {2u, 3u, 4u}) {
    WorldConfig config;
    config.topology.planes = 2;
    config.topology.leaves = 2;
    config.topology.hosts_per_leaf = 4;
    config.topology.spines = 8;
    config.buffer_bytes = 1 << 16;
    config.apply({});
    World world(config);
    for (uint32_t i = 0; i < streams; ++i) world.add_stream(0, 4 + i, endless(config));
    world.run_until(2 * kPerMillisecond);
    uint64_t all = 0;
    for (const auto& stream : world.streams()) all += stream->completed();
    for (const auto& stream : world.streams())
      EXPECT_NEAR(static_cast<double>(stream->completed() * streams) / static_cast<double>(all), 1, 0.2)
          << "one of " << streams << ", to host " << stream->to();
  }
}

}  // namespace
}  // namespace mrc::sim
