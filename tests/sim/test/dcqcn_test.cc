// SPDX-License-Identifier: BSD-2-Clause
// DCQCN: the algorithm alone, its packet, the queue that keeps flows to their rates, and all of it in a
// network.
#include "tests/sim/host/dcqcn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/packet.h"
#include "tests/sim/host/congestion_notification.h"
#include "tests/sim/host/paced_sender.h"
#include "tests/sim/scenarios/world.h"
#include "tests/sim/test/harness.h"

namespace mrc::sim {
namespace {

// ----------------------------------------------------------------------------------------- the algorithm

class Rate : public ::testing::Test {
 protected:
  const DcqcnSettings settings_ = DcqcnSettings::for_line(100);
  DcqcnRate rate_{settings_};
  Picoseconds now_ = kPerMillisecond;

  void wait(uint32_t timers) { rate_.advance(now_ += timers * settings_.rate_timer); }
};

TEST_F(Rate, BeginsAtTheLineRate) {
  EXPECT_FALSE(rate_.limited());
  EXPECT_EQ(rate_.gigabits(), 100);
  rate_.on_sent(now_, 100'000'000);
  wait(100);
  EXPECT_EQ(rate_.gigabits(), 100);
}

TEST_F(Rate, IsCutByHalfOfAlpha) {
  EXPECT_EQ(rate_.alpha(), 1);
  rate_.on_notification(now_);
  EXPECT_TRUE(rate_.limited());
  EXPECT_DOUBLE_EQ(rate_.gigabits(), 50);
  EXPECT_DOUBLE_EQ(rate_.target_gigabits(), 100);
  EXPECT_DOUBLE_EQ(rate_.alpha(), 1);  // (1 - g) + g
  rate_.on_notification(now_ + 50 * kPerMicrosecond);
  EXPECT_DOUBLE_EQ(rate_.gigabits(), 25);
  EXPECT_DOUBLE_EQ(rate_.target_gigabits(), 50);
}

TEST_F(Rate, AlphaForgetsWhileNothingComes) {
  rate_.on_notification(now_);
  wait(1);
  EXPECT_DOUBLE_EQ(rate_.alpha(), 255.0 / 256);
  wait(1);
  EXPECT_DOUBLE_EQ(rate_.alpha(), 255.0 / 256 * 255.0 / 256);
  const double alpha = rate_.alpha();
  const double before = rate_.gigabits();
  rate_.on_notification(now_);
  EXPECT_DOUBLE_EQ(rate_.gigabits(), before * (1 - alpha / 2));
  EXPECT_DOUBLE_EQ(rate_.alpha(), alpha * 255 / 256 + 1.0 / 256);
  wait(1'000'000);  // and it comes to an end
  EXPECT_EQ(rate_.alpha(), 0);
}

TEST_F(Rate, NeverStops) {
  for (int i = 0; i < 100; ++i) rate_.on_notification(now_ += 50 * kPerMicrosecond);
  EXPECT_DOUBLE_EQ(rate_.gigabits(), settings_.least_gigabits);
}

// Four times half of the distance to where it was, then the target moves up by R_AI.
TEST_F(Rate, RecoversFastAndThenAdds) {
  rate_.on_notification(now_);
  rate_.on_notification(now_);
  ASSERT_DOUBLE_EQ(rate_.gigabits(), 25);
  double expected = 25;
  for (int i = 1; i < 5; ++i) {
    wait(1);
    expected = (expected + 50) / 2;
    EXPECT_DOUBLE_EQ(rate_.gigabits(), expected);
    EXPECT_DOUBLE_EQ(rate_.target_gigabits(), 50);
  }
  for (int i = 1; i <= 10; ++i) {
    wait(1);
    expected = (expected + 50 + 0.1 * i) / 2;
    EXPECT_NEAR(rate_.target_gigabits(), 50 + 0.1 * i, 1e-9);
    EXPECT_NEAR(rate_.gigabits(), expected, 1e-9);
  }
}

TEST_F(Rate, BytesCountLikeTime) {
  rate_.on_notification(now_);
  rate_.on_sent(now_, settings_.byte_counter - 1);
  EXPECT_DOUBLE_EQ(rate_.gigabits(), 50);
  rate_.on_sent(now_, 1);
  EXPECT_DOUBLE_EQ(rate_.gigabits(), 75);
}

// Only when both counters have passed all stages.
TEST_F(Rate, HyperIncreaseNeedsBothCounters) {
  for (int i = 0; i < 6; ++i) rate_.on_notification(now_);
  wait(20);
  const double added = rate_.target_gigabits();
  rate_.on_sent(now_, 5 * settings_.byte_counter);
  EXPECT_NEAR(rate_.target_gigabits(), added + 5 * 0.1, 1e-9);
  rate_.on_sent(now_, settings_.byte_counter);
  EXPECT_NEAR(rate_.target_gigabits(), added + 5 * 0.1 + 1, 1e-9);  // i = 1
  rate_.on_sent(now_, settings_.byte_counter);
  EXPECT_NEAR(rate_.target_gigabits(), added + 5 * 0.1 + 1 + 2, 1e-9);
}

TEST_F(Rate, IsReleasedAtTheLineRate) {
  rate_.on_notification(now_);
  wait(20);
  EXPECT_FALSE(rate_.limited());
  EXPECT_EQ(rate_.gigabits(), 100);
  EXPECT_LT(rate_.alpha(), 1);
  wait(1000);
  EXPECT_EQ(rate_.gigabits(), 100);
}

TEST_F(Rate, StepsGoWithTheLine) {
  const DcqcnSettings fast = DcqcnSettings::for_line(400);
  EXPECT_DOUBLE_EQ(fast.additive_gigabits, 0.4);
  EXPECT_DOUBLE_EQ(fast.hyper_gigabits, 4);
  EXPECT_EQ(DcqcnRate(fast).gigabits(), 400);
}

// -------------------------------------------------------------------------------------------- its packet

TEST(Notification, IsRoCEv2s) {
  for (const bool v4 : {false, true}) {
    FramePool frames;
    Connection connection;
    connection.source = address_of(3, v4);
    connection.destination = address_of(7, v4);
    connection.remote_qpn = Qpn(0x123456);
    Frame* frame = make_notification(frames, connection, 0xC123);
    EXPECT_EQ(frame->destination, 7u);
    EXPECT_EQ(frame->dscp, Dscp::kControl);
    EXPECT_FALSE(frame->data);
    EXPECT_EQ(frame->v4, v4);
    EXPECT_EQ(notified(*frame), Qpn(0x123456));
    // Ethernet, IP, UDP, BTH, 16 reserved bytes, ICRC.
    const size_t bth = 14 + (v4 ? 20 : 40) + 8;
    ASSERT_EQ(frame->length, bth + 12 + 16 + 4);
    const uint8_t* bytes = frame->bytes() + bth;
    EXPECT_EQ(bytes[0], 0x81);
    EXPECT_EQ(bytes[4], 0x40);  // BECN
    EXPECT_EQ(std::count(bytes + 12, bytes + 28, 0), 16);
    frames.give(frame);
  }
}

TEST(Notification, OthersAreNot) {
  Fabric fabric(one_leaf(), 1);
  class Tap : public FrameTap {
   public:
    void on_frame(uint32_t, Plane, const Frame& frame) override {
      ++seen;
      EXPECT_FALSE(notified(frame));
    }
    int seen = 0;
  } tap;
  fabric.set_tap(&tap);
  send_frame(fabric, {});
  fabric.run_until(kPerMillisecond);
  EXPECT_EQ(tap.seen, 1);
}

// ---------------------------------------------------------------------------------------- pacing of flows

class Paced : public ::testing::Test {
 protected:
  static constexpr uint32_t kFramesMax = 6;
  Core core_;
  Channel out_{core_, 0, Wire{}, QueueSettings{}, 1};
  DcqcnSettings settings_ = DcqcnSettings::for_line(100);
  PacedSender sender_{core_, out_, settings_, kFramesMax};
  std::vector<FlowKey> sent_;  // in the order of arrival
  bool room_again_ = false;

  static FlowKey key(uint8_t flow) {
    const uint8_t mac[6] = {6, 0, flow, 0, 0, 1};
    return flow_key(mac);
  }
  void send(uint8_t flow, bool data = true) {
    Frame* frame = core_.frames.take_for(1000);
    std::fill_n(frame->bytes(), 1000, uint8_t{0});
    frame->bytes()[0] = 6;
    frame->bytes()[2] = flow;
    frame->bytes()[5] = 1;
    frame->length = 1000;
    frame->data = data;
    sender_.send(frame);
  }
  void run_until(Picoseconds end) {
    Event event;
    while (core_.events.take(end, &event)) {
      if (event.kind == EventKind::kChannelFree) out_.on_free();
      if (event.kind == EventKind::kArrival) {
        Frame* frame = out_.on_arrival();
        sent_.push_back(flow_key(frame->bytes()));
        core_.frames.give(frame);
      }
      if (event.kind != EventKind::kArrival && sender_.proceed()) room_again_ = true;
    }
    core_.events.skip_to(end);
  }
  size_t count(uint8_t flow) const {
    return static_cast<size_t>(std::count(sent_.begin(), sent_.end(), key(flow)));
  }
};

// IPv6, UDP and an RC opcode that carries data.
void write_data_headers(uint8_t* frame) {
  store_be<uint16_t>(frame + 12, 0x86DD);
  frame[14] = 0x60;
  frame[14 + 6] = 17;
  frame[14 + 40 + 8] = static_cast<uint8_t>(Opcode::kRcWriteMiddle);
}

TEST_F(Paced, OneFlowFillsTheWire) {
  for (int i = 0; i < 6; ++i) send(1);
  run_until(6 * out_.wire_time(1000));
  EXPECT_EQ(count(1), 6u);
  EXPECT_EQ(sender_.frames_held(), 0u);
}

TEST_F(Paced, ASlowFlowKeepsItsRateAndHoldsUpNobody) {
  for (int i = 0; i < 4; ++i) sender_.on_notification(key(1));  // 100 / 16 Gb/s
  EXPECT_DOUBLE_EQ(sender_.gigabits(key(1)), 6.25);
  for (int i = 0; i < 6; ++i) send(1);
  for (int i = 0; i < 6; ++i) send(2);
  const Picoseconds slow = 16 * out_.wire_time(1000);
  run_until(slow / 2);
  EXPECT_EQ(count(2), 6u);
  EXPECT_LE(count(1), 2u);
  EXPECT_EQ(sender_.room(key(2)), kFramesMax);
  EXPECT_LT(sender_.room(key(1)), kFramesMax - 3);
  run_until(3 * slow + slow / 2);
  EXPECT_GE(count(1), 4u);
  EXPECT_LE(count(1), 5u);
  run_until(10 * slow);
  EXPECT_EQ(count(1), 6u);
}

TEST_F(Paced, TellsWhenThereIsRoomAgain) {
  for (int i = 0; i < 6; ++i) sender_.on_notification(key(1));
  uint32_t taken = 0;
  for (; sender_.room(key(1)) > 0; ++taken) send(1);
  EXPECT_GE(taken, kFramesMax);
  EXPECT_FALSE(room_again_);
  run_until(kPerMillisecond);
  EXPECT_TRUE(room_again_);
  EXPECT_EQ(count(1), taken);
}

TEST_F(Paced, FlowsAtFullRateShareTheWire) {
  for (int i = 0; i < 6; ++i) send(1);
  for (int i = 0; i < 6; ++i) send(2);
  run_until(8 * out_.wire_time(1000));
  EXPECT_NEAR(static_cast<double>(count(1)), static_cast<double>(count(2)), 2);
}

TEST_F(Paced, WhatIsNoDataDoesNotWait) {
  for (int i = 0; i < 8; ++i) sender_.on_notification(key(1));
  for (int i = 0; i < 6; ++i) send(1);
  send(1, false);
  run_until(4 * out_.wire_time(1000));
  EXPECT_LE(sent_.size(), 3u);
  EXPECT_GE(sent_.size(), 2u);
}

TEST_F(Paced, APausedWireKeepsFramesInTheirFlows) {
  out_.set_paused(true);
  for (int i = 0; i < 6; ++i) send(1);
  run_until(kPerMillisecond);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(out_.data_frames(), 2u);
  EXPECT_EQ(sender_.frames_held(), 4u);
  for (int i = 0; i < 4; ++i) send(2, false);
  EXPECT_EQ(sender_.room(key(3)), 0u);  // the wire is full
  out_.set_paused(false);
  run_until(2 * kPerMillisecond);
  EXPECT_EQ(sent_.size(), 10u);
  EXPECT_TRUE(room_again_);
}

TEST_F(Paced, GivesBackWhatItHolds) {
  out_.set_paused(true);
  {
    PacedSender sender(core_, out_, settings_, kFramesMax);
    Frame* frame = core_.frames.take_for(1000);
    frame->length = 1000;
    frame->data = true;
    out_.set_down(true);  // what gets there is gone
    sender.send(frame);
  }
  EXPECT_EQ(core_.frames.outstanding(), 0u);
}

// A NIC has a queue for each of its queue pairs, also where several go to the same host: one that is full
// takes no room from another. Without DCQCN there is one queue, whoever it is for.
TEST(PacedPort, EveryRemoteQueuePairHasItsOwnRoom) {
  for (const bool paced : {false, true}) {
    Core core;
    Channel out(core, 0, Wire{}, QueueSettings{}, 1);
    std::optional<DcqcnSettings> settings;
    if (paced) settings = DcqcnSettings::for_line(100);
    HostPort port(core, 0, MacAddress{}, out, 6, 64, settings);
    MacAddress first;
    MacAddress second;
    ASSERT_TRUE(port.resolve(address_of(7, false), Qpn(17), &first));
    ASSERT_TRUE(port.resolve(address_of(7, false), Qpn(0x4D52), &second));
    EXPECT_EQ(first == second, !paced);
    EXPECT_EQ(second.bytes[0], paced ? 6 : 2);  // 02:4D:52 would be a process of the same host
    out.set_paused(true);
    for (int i = 0; i < 6; ++i) {
      TxFrame frame;
      ASSERT_EQ(port.acquire({&frame, 1}), 1u);
      std::fill_n(frame.data, 100, uint8_t{0});
      std::copy(first.bytes.begin(), first.bytes.end(), frame.data);
      write_data_headers(frame.data);
      frame.length = 100;
      port.transmit({&frame, 1});
    }
    EXPECT_LE(port.transmit_room(first), paced ? 2u : 0u);  // but for those that are at the wire
    EXPECT_EQ(port.transmit_room(second), paced ? 6u : 0u);
    EXPECT_EQ(port.frames_held() + out.data_frames(), 6u);
    out.set_down(true);
  }
}

// ------------------------------------------------------------------------------------------ in a network

WorldConfig sixteen_hosts(uint32_t senders, const Transport& transport, uint64_t seed = 1) {
  WorldConfig config;
  config.topology.leaves = config.topology.hosts_per_leaf = config.topology.spines = 4;
  config.window_packets = 256;
  config.queue_pairs_per_host = 2;
  config.queue_pairs_at[0] = senders;
  ScenarioOptions options;
  options.seed = seed;
  config.apply(options);
  config.buffer_bytes = 64 << 10;
  return config.speaking(transport);
}

StreamConfig without_end() {
  StreamConfig stream;
  stream.message_bytes = 64 << 10;
  stream.messages = 0;
  stream.depth = 8;
  return stream;
}

constexpr Transport kPfcOnly{Protocol::kRc, 1, RcNetwork::kPfc};
constexpr Transport kDcqcn{Protocol::kRc, 1, RcNetwork::kDcqcn};

// Go-back-N has nothing to do in a network that loses nothing, with DCQCN and without.
TEST(Lossless, NothingIsDroppedOrRepeated) {
  for (const Transport& transport : {kPfcOnly, kDcqcn, Transport{Protocol::kRc, 8, RcNetwork::kDcqcn}}) {
    World world(sixteen_hosts(15, transport));
    StreamConfig stream;
    stream.message_bytes = 60'000;
    stream.messages = 8;
    stream.depth = 8;
    for (uint32_t from = 1; from <= 15; ++from) world.add_stream(from, 0, stream);
    ASSERT_TRUE(world.run_until_done(kPerSecond)) << transport.name();
    const Trace& trace = world.fabric().core().trace;
    EXPECT_EQ(trace.gone(), 0u) << transport.name();
    EXPECT_EQ(world.counters().retransmits(), 0u) << transport.name();
    EXPECT_EQ(world.failures(), 0u) << transport.name();
    EXPECT_GT(world.fabric().pause_totals().pauses, 0u) << "the test tests nothing";
  }
  World plain(sixteen_hosts(15, {Protocol::kRc, 1}));
  for (uint32_t from = 1; from <= 15; ++from) plain.add_stream(from, 0, without_end());
  plain.run_until(2 * kPerMillisecond);
  EXPECT_GT(plain.counters().retransmits(), 0u) << "plain RC has to drop here";
}

// Seven to one. They begin at the line rate, so there are pauses; then the marks do, the last hop is full,
// and shares are fair. Without DCQCN the pauses never end.
TEST(Lossless, DcqcnConvergesToFairShares) {
  constexpr uint32_t kSenders = 7;
  const Picoseconds settled = 20 * kPerMillisecond;
  const Picoseconds end = 40 * kPerMillisecond;
  uint64_t pauses[2] = {};
  for (const Transport& transport : {kPfcOnly, kDcqcn}) {
    World world(sixteen_hosts(kSenders, transport));
    for (uint32_t i = 0; i < kSenders; ++i) world.add_stream(4 + i, 0, without_end());
    world.run_until(settled);
    const PauseTotals before = world.fabric().pause_totals();
    const uint64_t placed = world.placed(0);
    std::vector<uint64_t> bytes;
    for (const auto& flow : world.streams()) bytes.push_back(flow->completed_bytes());
    world.run_until(end);
    const double gigabits =
        static_cast<double>(world.placed(0) - placed) * 8000 / static_cast<double>(end - settled);
    EXPECT_GT(gigabits / world.payload_gigabits(), 0.95) << transport.name();
    const bool dcqcn = transport.network == RcNetwork::kDcqcn;
    pauses[dcqcn ? 1 : 0] = world.fabric().pause_totals().pauses - before.pauses;
    EXPECT_EQ(world.counters().retransmits(), 0u);
    EXPECT_EQ(world.fabric().core().trace.gone(), 0u);
    if (!dcqcn) continue;
    std::vector<double> shares;
    for (size_t i = 0; i < bytes.size(); ++i)
      shares.push_back(static_cast<double>(world.streams()[i]->completed_bytes() - bytes[i]));
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    EXPECT_GT(*least / *most, 0.6);
  }
  EXPECT_GT(pauses[0], 1000u);
  EXPECT_LT(pauses[1], 20u);
}

// One flow alone is not held back, in spite of all.
TEST(Lossless, AFlowAloneHasTheLineRate) {
  World world(sixteen_hosts(1, kDcqcn));
  Stream& stream = world.add_stream(4, 0, without_end());
  world.run_until(2 * kPerMillisecond);
  EXPECT_GT(stream.goodput_gigabits() / world.payload_gigabits(), 0.95);
  EXPECT_EQ(world.fabric().pause_totals().pauses, 0u);
}

// The slow flow of a host does not hold up its other flow: host 4 sends into an incast and to a host that
// nobody else sends to.
TEST(Lossless, AFlowInAnIncastLeavesTheHostsOtherFlowAlone) {
  World world(sixteen_hosts(7, kDcqcn));
  for (const uint32_t from : {4u, 5u, 6u, 8u, 9u, 10u, 12u}) world.add_stream(from, 0, without_end());
  Stream& other = world.add_stream(4, 13, without_end());
  const Picoseconds settled = 10 * kPerMillisecond;
  world.run_until(settled);
  const uint64_t before = other.completed_bytes();
  world.run_until(2 * settled);
  const double gigabits =
      static_cast<double>(other.completed_bytes() - before) * 8000 / static_cast<double>(settled);
  EXPECT_GT(gigabits / world.payload_gigabits(), 0.7);  // the rest is the incast's seventh
}

// Marks lead to notifications, and no more of them than one in 50 us for each flow.
TEST(Lossless, NotificationsAreCounted) {
  World world(sixteen_hosts(7, kDcqcn));
  for (uint32_t i = 0; i < 7; ++i) world.add_stream(4 + i, 0, without_end());
  const Picoseconds end = 2 * kPerMillisecond;
  world.run_until(end);
  uint64_t notifications = 0;
  for (uint32_t i = 0; i < 7; ++i)
    notifications += world.fabric().host(4 + i).port(0).paced()->notifications();
  EXPECT_GT(notifications, 7u);
  EXPECT_LE(notifications, 7 * (end / (50 * kPerMicrosecond) + 1));
  EXPECT_GT(world.fabric().core().trace.count(Fate::kMarked), notifications);
}

TEST(Lossless, IsTheSameTwice) {
  uint64_t hashes[3] = {};
  for (int i = 0; i < 3; ++i) {
    World world(sixteen_hosts(15, kDcqcn, i < 2 ? 5 : 6));
    for (uint32_t from = 1; from <= 15; ++from) world.add_stream(from, 0, without_end());
    world.run_until(2 * kPerMillisecond);
    hashes[i] = world.fabric().core().trace.hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
}

}  // namespace
}  // namespace mrc::sim
