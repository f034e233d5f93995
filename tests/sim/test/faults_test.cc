// SPDX-License-Identifier: BSD-2-Clause
// Every fault really happens, where and when it should, and ends.
#include <gtest/gtest.h>

#include <set>

#include "libmrc/wire/packet.h"
#include "tests/sim/test/harness.h"

namespace mrc::sim {
namespace {

class Faults : public ::testing::Test {
 protected:
  static constexpr uint32_t kFrames = 2000;

  // One small frame every microsecond from host 0 to host 1.
  class Sender : public AlarmListener {
   public:
    explicit Sender(Fabric& fabric) : fabric_(fabric) { fabric.set_alarm(0, *this, 0); }
    void on_alarm(uint32_t number) override {
      FrameSpec spec;
      spec.payload = 64;
      spec.entropy = 0xC000 + number % 16;
      send_frame(fabric_, spec);
      if (number + 1 < kFrames) fabric_.set_alarm(fabric_.now() + kPerMicrosecond, *this, number + 1);
    }

   private:
    Fabric& fabric_;
  };

  Fabric fabric_{one_leaf(), 11};
  Recorder recorder_{fabric_};
  FaultPlan faults_{fabric_};
  Sender sender_{fabric_};

  Fault on_first_link(FaultKind kind, double probability) {
    Fault fault;
    fault.kind = kind;
    fault.probability = probability;
    fault.channels = {fabric_.host_link(0, 0).up_channel};
    return fault;
  }
  void run() { fabric_.run_until(5 * kPerMillisecond); }
  // Frames that arrived with a time of sending in [from, to) microseconds, by the delay of two links.
  size_t arrived(double from, double to) const {
    size_t count = 0;
    for (const Arrival& arrival : recorder_.arrivals) {
      const double sent = to_microseconds(arrival.time) - 2.04;
      count += sent >= from - 0.5 && sent < to - 0.5 ? 1 : 0;
    }
    return count;
  }
};

TEST_F(Faults, None) {
  run();
  EXPECT_EQ(recorder_.arrivals.size(), kFrames);
}

TEST_F(Faults, LossOnOneDirectionOnly) {
  faults_.add(on_first_link(FaultKind::kLoss, 0.3));
  run();
  EXPECT_NEAR(static_cast<double>(recorder_.arrivals.size()), 0.7 * kFrames, 80);
  EXPECT_EQ(recorder_.arrivals.size() + fabric_.core().trace.count(Fate::kLostRandom), kFrames);
}

TEST_F(Faults, TwoLossesAddUp) {
  faults_.add(on_first_link(FaultKind::kLoss, 0.5));
  faults_.add(on_first_link(FaultKind::kLoss, 0.5));
  run();
  EXPECT_NEAR(static_cast<double>(recorder_.arrivals.size()), 0.25 * kFrames, 80);
}

TEST_F(Faults, BeginsAndEndsOnTime) {
  Fault fault = on_first_link(FaultKind::kBlackHole, 1);
  fault.begin = 500 * kPerMicrosecond;
  fault.end = 700 * kPerMicrosecond;
  faults_.add(fault);
  EXPECT_EQ(faults_.healed_at(), fault.end);
  run();
  EXPECT_EQ(fabric_.core().trace.count(Fate::kLostBlackHole), 200u);
  EXPECT_EQ(arrived(500, 700), 0u);
  EXPECT_EQ(arrived(0, 500), 500u);
}

TEST_F(Faults, FlapComesAndGoes) {
  Fault fault = on_first_link(FaultKind::kDown, 1);
  fault.begin = 100 * kPerMicrosecond;
  fault.end = 1100 * kPerMicrosecond;
  fault.flap_on = 30 * kPerMicrosecond;
  fault.flap_off = 70 * kPerMicrosecond;
  faults_.add(fault);
  run();
  EXPECT_NEAR(static_cast<double>(recorder_.arrivals.size()), kFrames - 300, 25);
  EXPECT_EQ(arrived(1101, 2000), 899u);
}

TEST_F(Faults, DuplicationMakesMore) {
  faults_.add(on_first_link(FaultKind::kDuplication, 0.5));
  run();
  EXPECT_NEAR(static_cast<double>(recorder_.arrivals.size()), 1.5 * kFrames, 100);
  EXPECT_EQ(fabric_.channel(fabric_.host_link(0, 0).up_channel).counters().duplicated,
            fabric_.core().trace.count(Fate::kDuplicated));
}

TEST_F(Faults, ReorderingDelays) {
  Fault fault = on_first_link(FaultKind::kReordering, 0.3);
  fault.delay = 50 * kPerMicrosecond;
  faults_.add(fault);
  run();
  EXPECT_EQ(recorder_.arrivals.size(), kFrames);
  uint32_t overtaken = 0;
  for (size_t i = 1; i < recorder_.arrivals.size(); ++i)
    if (recorder_.arrivals[i].entropy != (recorder_.arrivals[i - 1].entropy + 1 - 0xC000) % 16 + 0xC000)
      ++overtaken;
  EXPECT_GT(overtaken, 300u);
}

TEST_F(Faults, CorruptionIsSeenByTheIcrc) {
  faults_.add(on_first_link(FaultKind::kCorruption, 0.2));
  run();
  uint32_t bad = 0;
  for (const Arrival& arrival : recorder_.arrivals) {
    Packet packet;
    if (decode(arrival.bytes, &packet) != DecodeError::kNone || !icrc_matches(packet)) ++bad;
  }
  const uint64_t changed = fabric_.core().trace.count(Fate::kCorrupted);
  EXPECT_NEAR(static_cast<double>(changed), 0.2 * kFrames, 60);
  EXPECT_GT(bad, changed / 3);  // some changes are to masked fields or MAC addresses, some lose the frame
  EXPECT_LE(bad, changed);
}

TEST_F(Faults, BurstsLoseNeighbours) {
  Fault fault = on_first_link(FaultKind::kBurstLoss, 0.01);
  fault.burst_end = 0.1;
  faults_.add(fault);
  run();
  const double lost = kFrames - static_cast<double>(recorder_.arrivals.size());
  EXPECT_GT(lost, 60);
  EXPECT_LT(lost, 400);
  uint32_t bursts = 0;
  for (size_t i = 1; i < recorder_.arrivals.size(); ++i)
    if (recorder_.arrivals[i].time - recorder_.arrivals[i - 1].time > 2 * kPerMicrosecond) ++bursts;
  EXPECT_GT(lost, 3 * bursts);  // several frames each
}

TEST_F(Faults, EntropyLossHitsOnlyTheChosen) {
  Fault fault = on_first_link(FaultKind::kEntropyLoss, 1);
  fault.entropies = {0xC003};
  faults_.add(fault);
  run();
  EXPECT_EQ(recorder_.arrivals.size(), kFrames - kFrames / 16);
  for (const Arrival& arrival : recorder_.arrivals) EXPECT_NE(arrival.entropy, 0xC003u);
}

TEST_F(Faults, DegradedRateAndBack) {
  Fault fault = on_first_link(FaultKind::kRate, 0.1);
  fault.end = 100 * kPerMicrosecond;
  faults_.add(fault);
  run();
  ASSERT_EQ(recorder_.arrivals.size(), kFrames);
  const uint32_t length = static_cast<uint32_t>(recorder_.arrivals[0].bytes.size());
  const Picoseconds fast = (length + kWireOverheadBytes) * 80;
  EXPECT_EQ(recorder_.arrivals[1].time, 3 * kPerMicrosecond + 11 * fast);
  EXPECT_EQ(recorder_.arrivals[500].time, 502 * kPerMicrosecond + 2 * fast);
}

TEST_F(Faults, DeadSwitchTakesItsQueuesAlong) {
  faults_.switch_dead(Tier::kLeaf, 0, 0, 300 * kPerMicrosecond, 400 * kPerMicrosecond);
  run();
  EXPECT_NEAR(static_cast<double>(fabric_.core().trace.count(Fate::kLostDown)), 100, 3);
  EXPECT_EQ(recorder_.arrivals.size() + fabric_.core().trace.count(Fate::kLostDown), kFrames);
}

TEST(HostFaults, PortDownIsKnownToThePort) {
  Fabric fabric(one_leaf(), 1);
  fabric.add_host(0, HostConfig{});
  FaultPlan faults(fabric);
  faults.port_down(0, 0, kPerMicrosecond, 3 * kPerMicrosecond);
  EXPECT_TRUE(fabric.host(0).port(0).link_up());
  fabric.run_until(2 * kPerMicrosecond);
  EXPECT_FALSE(fabric.host(0).port(0).link_up());
  fabric.run_until(4 * kPerMicrosecond);
  EXPECT_TRUE(fabric.host(0).port(0).link_up());
}

TEST(HostFaults, PausedHostDoesNotRun) {
  Fabric fabric(one_leaf(), 1);
  Host& host = fabric.add_host(1, HostConfig{});
  FaultPlan faults(fabric);
  faults.pause(1, 0, 100 * kPerMicrosecond);
  fabric.run_until(1);
  send_frame(fabric, {});
  fabric.run_until(99 * kPerMicrosecond);
  EXPECT_EQ(host.port(0).frames_held(), 1u);
  EXPECT_EQ(host.runs(), 0u);
  fabric.run_until(101 * kPerMicrosecond);
  EXPECT_EQ(host.port(0).frames_held(), 0u);
  EXPECT_GT(host.runs(), 0u);
}

}  // namespace
}  // namespace mrc::sim
