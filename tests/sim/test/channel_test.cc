// SPDX-License-Identifier: BSD-2-Clause
// Channels: exact times, queue limits, priority, marking and trimming.
#include <gtest/gtest.h>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/packet.h"
#include "tests/sim/test/harness.h"

namespace mrc::sim {
namespace {

constexpr Picoseconds kByteAt100 = 80;

Picoseconds wire_time(uint32_t length) {
  return (length + kWireOverheadBytes) * kByteAt100;
}

TEST(Channel, TimingIsExact) {
  Fabric fabric(one_leaf(), 1);
  Recorder recorder(fabric);
  const uint32_t length = send_frame(fabric, {});
  send_frame(fabric, {});
  fabric.run_until(kPerMillisecond);
  ASSERT_EQ(recorder.arrivals.size(), 2u);
  const Picoseconds first = 2 * wire_time(length) + 2 * kPerMicrosecond;
  EXPECT_EQ(recorder.arrivals[0].time, first);
  EXPECT_EQ(recorder.arrivals[1].time, first + wire_time(length));  // they pass the switch as in a pipe
  EXPECT_EQ(recorder.arrivals[0].host, 1u);
}

TEST(Channel, BaseRoundTripIsWhatTheTopologySays) {
  TopologyConfig config = two_tiers(2);
  config.set_rtt(12 * kPerMicrosecond, 4096);
  EXPECT_NEAR(static_cast<double>(config.base_rtt(4096)), 12e6, 10.0);
  Fabric fabric(config, 1);
  Recorder recorder(fabric);
  FrameSpec spec;
  spec.to = 3;
  spec.payload = 4096;
  const uint32_t length = send_frame(fabric, spec);
  fabric.run_until(kPerMillisecond);
  EXPECT_EQ(recorder.arrivals.at(0).time, 4 * (config.host_delay + wire_time(length)));
}

TEST(Channel, SlowRateIsSlower) {
  TopologyConfig config = one_leaf();
  config.host_gigabits = 10;
  Fabric fabric(config, 1);
  Recorder recorder(fabric);
  const uint32_t length = send_frame(fabric, {});
  fabric.run_until(kPerMillisecond);
  EXPECT_EQ(recorder.arrivals.at(0).time, 20 * wire_time(length) + 2 * kPerMicrosecond);
}

// Two senders at full rate into one receiver: half of what comes finds the queue longer and longer.
class Congested : public ::testing::Test {
 protected:
  TopologyConfig config_ = [] {
    TopologyConfig config = one_leaf();
    config.hosts_per_leaf = 3;
    config.last_hop.last_hop = true;
    return config;
  }();
  uint32_t length_ = 0;

  void send_both(Fabric& fabric, uint32_t frames, uint8_t dscp = Dscp::kNoTrim) {
    for (uint32_t i = 0; i < frames; ++i) {
      for (uint32_t from : {0u, 1u}) {
        FrameSpec spec;
        spec.from = from;
        spec.to = 2;
        spec.dscp = dscp;
        length_ = send_frame(fabric, spec);
      }
    }
    fabric.run_until(10 * kPerMillisecond);
  }
  Channel& last_hop(Fabric& fabric) { return fabric.channel(fabric.host_link(2, 0).down_channel); }
};

TEST_F(Congested, TailDropKeepsTheQueueWithinItsLimit) {
  config_.last_hop.data_bytes_max = 10'000;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  send_both(fabric, 40);
  const ChannelCounters& counters = last_hop(fabric).counters();
  EXPECT_LE(counters.data_bytes_peak, 10'000u);
  EXPECT_GT(counters.data_bytes_peak, 10'000u - length_);
  EXPECT_EQ(counters.offered, 80u);
  // 80 arrive in 40 frame times; 40 leave meanwhile, and those that fit into the queue.
  EXPECT_NEAR(static_cast<double>(counters.dropped), 80 - 40 - 10'000.0 / length_, 1.5);
  EXPECT_EQ(recorder.arrivals.size() + counters.dropped, 80u);
}

TEST_F(Congested, NoMarksBelowTheRampAndAllAboveIt) {
  config_.last_hop.ecn_min_bytes = 10'000;
  config_.last_hop.ecn_max_bytes = 20'000;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  send_both(fabric, 100);
  // Frame k (from the last one, counted back) leaves k frames behind it.
  uint32_t between = 0;
  uint32_t marked_between = 0;
  const size_t count = recorder.arrivals.size();
  ASSERT_EQ(count, 200u);
  for (size_t i = count / 2; i < count; ++i) {  // the queue only shrinks
    const uint64_t behind = (count - 1 - i) * length_;
    Packet packet;
    ASSERT_EQ(decode(recorder.arrivals[i].bytes, &packet), DecodeError::kNone);
    const bool marked = packet.ecn == Ecn::kCongestion;
    if (behind <= 10'000) {
      EXPECT_FALSE(marked);
    } else if (behind >= 20'000) {
      EXPECT_TRUE(marked);
    } else {
      ++between;
      marked_between += marked ? 1 : 0;
    }
  }
  EXPECT_GT(between, 5u);
  EXPECT_GT(marked_between, 0u);
}

TEST_F(Congested, RampIsLinear) {
  config_.last_hop.ecn_min_bytes = 1;
  config_.last_hop.ecn_max_bytes = 2'000'000;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  send_both(fabric, 800);
  // The queue rises to 800 frames and falls again: on average 400 frames' worth of probability.
  const double expected = 1600 * (400.0 * length_ / 2e6);
  EXPECT_NEAR(static_cast<double>(last_hop(fabric).counters().marked), expected, 0.15 * expected);
}

TEST_F(Congested, TrimsAboveTheThreshold) {
  config_.last_hop.trim_bytes = 8'000;
  config_.last_hop.data_bytes_max = 50'000;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  send_both(fabric, 40, Dscp::kTrimmable);
  const ChannelCounters& counters = last_hop(fabric).counters();
  EXPECT_EQ(counters.dropped, 0u);
  EXPECT_GT(counters.trimmed, 20u);
  EXPECT_LE(counters.data_bytes_peak, 8'000u);
  uint64_t trimmed = 0;
  for (const Arrival& arrival : recorder.arrivals) {
    if (arrival.bytes.size() != kTrimmedBytes) continue;
    ++trimmed;
    const uint8_t* ip = arrival.bytes.data() + 14;
    EXPECT_EQ(load_be<uint16_t>(ip) >> 6 & 0x3F, Dscp::kTrimmedLastHop);
    EXPECT_EQ(load_be<uint16_t>(ip + 4), kTrimmedBytes - 14 - 40);       // IPv6 payload
    EXPECT_EQ(load_be<uint16_t>(ip + 40 + 4), kTrimmedBytes - 14 - 40);  // UDP
  }
  EXPECT_EQ(trimmed, counters.trimmed);
}

TEST_F(Congested, TrimsInTheCoreHaveTheirOwnClass) {
  config_.last_hop.trim_bytes = 8'000;
  config_.last_hop.last_hop = false;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  send_both(fabric, 40, Dscp::kTrimmableRetransmission);
  bool seen = false;
  for (const Arrival& arrival : recorder.arrivals) {
    if (arrival.bytes.size() != kTrimmedBytes) continue;
    seen = true;
    EXPECT_EQ(load_be<uint16_t>(arrival.bytes.data() + 14) >> 6 & 0x3F, Dscp::kTrimmed);
  }
  EXPECT_TRUE(seen);
}

TEST_F(Congested, OnlyTrimmableClassesAreTrimmed) {
  config_.last_hop.trim_bytes = 8'000;
  config_.last_hop.data_bytes_max = 10'000;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  send_both(fabric, 40, Dscp::kNoTrim);
  EXPECT_EQ(last_hop(fabric).counters().trimmed, 0u);
  EXPECT_GT(last_hop(fabric).counters().dropped, 0u);
}

TEST_F(Congested, Ipv4TrimKeepsAValidHeader) {
  config_.last_hop.trim_bytes = 8'000;
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  for (uint32_t i = 0; i < 40; ++i) {
    FrameSpec spec;
    spec.v4 = true;
    spec.dscp = Dscp::kTrimmable;
    spec.to = 2;
    for (spec.from = 0; spec.from < 2; ++spec.from) send_frame(fabric, spec);
  }
  fabric.run_until(kPerMillisecond);
  uint32_t trimmed = 0;
  for (const Arrival& arrival : recorder.arrivals) {
    if (arrival.bytes.size() != kTrimmedBytes) continue;
    ++trimmed;
    const uint8_t* ip = arrival.bytes.data() + 14;
    uint32_t sum = 0;
    for (int at = 0; at < 20; at += 2) sum += load_be<uint16_t>(ip + at);
    EXPECT_EQ((sum & 0xFFFF) + (sum >> 16), 0xFFFFu);
    EXPECT_EQ(load_be<uint16_t>(ip + 2), kTrimmedBytes - 14);
  }
  EXPECT_GT(trimmed, 10u);
}

TEST_F(Congested, ControlOvertakesData) {
  Fabric fabric(config_, 1);
  Recorder recorder(fabric);
  for (uint32_t i = 0; i < 50; ++i) {
    for (uint32_t from : {0u, 1u}) {
      FrameSpec spec;
      spec.from = from;
      spec.to = 2;
      send_frame(fabric, spec);
    }
  }
  FrameSpec control;
  control.to = 2;
  control.dscp = Dscp::kControl;
  control.payload = 4;
  control.entropy = 0xC0DE;
  send_frame(fabric, control);  // behind 50 frames of its own host, but of higher class
  fabric.run_until(kPerMillisecond);
  ASSERT_EQ(recorder.arrivals.size(), 101u);
  size_t place = 0;
  while (recorder.arrivals[place].entropy != 0xC0DE) ++place;
  EXPECT_LE(place, 3u);  // only what was on a wire already is before it
}

TEST_F(Congested, ControlQueueHasALimitOfItsOwn) {
  config_.last_hop.control_bytes_max = 3'000;
  Fabric fabric(config_, 1);
  send_both(fabric, 40, Dscp::kControl);
  EXPECT_GT(fabric.core().trace.count(Fate::kDropControl), 10u);
  EXPECT_EQ(fabric.core().trace.count(Fate::kDropQueue), 0u);
}

}  // namespace
}  // namespace mrc::sim
