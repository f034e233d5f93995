// SPDX-License-Identifier: BSD-2-Clause
// NSCC rule by rule (MRC 5.2, 5.3), with worked numbers.
#include <gtest/gtest.h>

#include "libmrc/congestion/nscc.h"
#include "tests/unit/congestion_nscc_signals.h"
#include "tests/unit/congestion_queue_model.h"

namespace mrc {
namespace {

Nscc make(const NsccConfig& config = reference()) {
  Nscc nscc;
  nscc.reset(config);
  return nscc;
}

// ----------------------------------------------------------------------------------------- MRC 5.2: defaults

TEST(NsccDefaults, At800GAnd12us) {
  const NsccConfig c = nscc_defaults(800 * kGbps, 12 * kMicrosecond, 4096, true);
  EXPECT_EQ(c.max_cwnd, 1'800'000u);
  EXPECT_DOUBLE_EQ(nscc_scaling_a(800 * kGbps, 12 * kMicrosecond), 8);
  EXPECT_DOUBLE_EQ(nscc_scaling_b(c.target_delay), 0.75);
  EXPECT_DOUBLE_EQ(c.fi, 163'840);
  EXPECT_NEAR(c.eta, 4'915, 1);
  EXPECT_DOUBLE_EQ(c.fi_scale, 2);
  EXPECT_EQ(c.target_delay, 9 * kMicrosecond);
  EXPECT_EQ(c.qa_threshold, 36 * kMicrosecond);
  EXPECT_EQ(c.qa_gate, 3);
  EXPECT_EQ(c.adjust_bytes_threshold, 8 * 4096u);
  EXPECT_EQ(c.adjust_period_threshold, 12 * kMicrosecond);
  EXPECT_DOUBLE_EQ(c.gamma, 0.8);
  EXPECT_DOUBLE_EQ(c.max_md_jump, 0.5);
  EXPECT_FALSE(c.disable_qa);
}

TEST(NsccDefaults, At100GAnd12us) {
  const NsccConfig c = reference();
  EXPECT_EQ(c.max_cwnd, 225'000u);
  EXPECT_DOUBLE_EQ(c.fi, 20'480);
  EXPECT_NEAR(c.eta, 614, 1);
  EXPECT_DOUBLE_EQ(c.fi_scale, 0.25);
}

TEST(NsccDefaults, At25GAnd50usWithoutTrimming) {
  const NsccConfig c = nscc_defaults(25 * kGbps, 50 * kMicrosecond, 4096, false);
  EXPECT_EQ(c.max_cwnd, 234'375u);
  EXPECT_NEAR(nscc_scaling_a(25 * kGbps, 50 * kMicrosecond), 1.04, 0.005);
  EXPECT_EQ(c.target_delay, 50 * kMicrosecond);
  EXPECT_NEAR(nscc_scaling_b(c.target_delay), 4.17, 0.005);
}

TEST(NsccDefaults, At10GAnd100usWithSmallPackets) {
  const NsccConfig c = nscc_defaults(10 * kGbps, 100 * kMicrosecond, 1024, false);
  EXPECT_EQ(c.max_cwnd, 187'500u);
  EXPECT_NEAR(nscc_scaling_a(10 * kGbps, 100 * kMicrosecond), 0.83, 0.005);
  EXPECT_NEAR(nscc_scaling_b(c.target_delay), 8.3, 0.05);
  EXPECT_NEAR(c.fi, 4'267, 1);
  EXPECT_NEAR(c.eta, 128, 1);
}

// ------------------------------------------------------------------------------------------- MRC 5.1, 5.3:
// send

TEST(Nscc, StartsAtItsLargestWindow) {
  EXPECT_EQ(make().cwnd(), 225'000u);
}

TEST(Nscc, MaySendWhileTheWindowIsLargerThanWhatIsInFlight) {  // the MRC form, not UET's
  Nscc nscc = make();
  nscc.on_sent(0, 224'999);
  EXPECT_TRUE(nscc.may_send(0));
  nscc.on_sent(0, kPacket);
  EXPECT_FALSE(nscc.may_send(0));
  EXPECT_EQ(nscc.next_send_at(), kNever);
}

TEST(Nscc, ReceivedBytesLeaveTheNetwork) {
  Nscc nscc = make();
  nscc.on_sent(0, 10 * kPacket);
  nscc.on_sack(sack(kRtt, 4 * kPacket, 0));
  EXPECT_EQ(nscc.inflight(), 6 * kPacket);
}

TEST(Nscc, ALostPacketThatArrivesAfterAllIsCountedOnce) {
  Nscc nscc = make();
  nscc.on_sent(0, kPacket);
  nscc.on_loss(kPacket);
  nscc.on_sack(sack(kRtt, kPacket, 0));  // it was only late
  nscc.on_sent(kRtt, kPacket);           // and is repeated in vain: a duplicate is not counted by the peer
  EXPECT_EQ(nscc.inflight(), 0u);
}

TEST(Nscc, ReceivedCounterWrapsAndIgnoresOldNews) {  // MRC 1.4
  EXPECT_EQ(received_delta(5, 3), 512u);
  EXPECT_EQ(received_delta(1, 0xFFFFFF), 512u);
  EXPECT_EQ(received_delta(3, 5), 0u);
}

TEST(Nscc, BaseRttIsThatOfFullPackets) {  // MRC 5.2
  Nscc nscc = make();
  SackSignal probe = sack(kRtt, 0, 0);
  probe.rtt = kRtt / 2;
  probe.short_packet = true;
  nscc.on_sack(probe);
  EXPECT_EQ(nscc.base_rtt(), kRtt) << "small packets are faster on every wire";
  probe.short_packet = false;
  nscc.on_sack(probe);
  EXPECT_EQ(nscc.base_rtt(), kRtt / 2);
}

TEST(Nscc, NominalSizeIsUdpLengthPlus40) {  // SPEC 8.3.1
  EXPECT_EQ(nominal_bytes(4096 + 40), 4096u + 40 + 8 + 40);
}

// ------------------------------------------------------------------------------------------- MRC 5.3: on
// SACK

TEST(Nscc, FairIncrease) {  // no mark, delay at or above the target: inc += fi * newly
  Nscc nscc = make();
  set_window(nscc, 100'000);
  nscc.on_sack(sack(0, 8 * kPacket, 9 * kMicrosecond));
  EXPECT_EQ(nscc.cwnd(), 100'000u) << "not before the threshold is passed";
  nscc.on_sack(sack(1, kPacket, 9 * kMicrosecond));
  EXPECT_NEAR(static_cast<double>(nscc.cwnd()), 100'000 + 20'480.0 * 9 * kPacket / 100'000, 1);
}

TEST(Nscc,
     ProportionalIncrease) {  // no mark, delay below the target: inc += alpha * newly * (target - delay)
  Nscc nscc = make();
  set_window(nscc, 100'000);
  nscc.on_sack(sack(0, 9 * kPacket, 6 * kMicrosecond));
  // alpha = 4 * 4096 * 1 * 0.75 / 9 us = 1.3653 bytes/ns; 3 us below the target.
  const double alpha = 4.0 * 4096 * 0.75 / 9000;
  EXPECT_NEAR(static_cast<double>(nscc.cwnd()), 100'000 + alpha * 9 * kPacket * 3000 / 100'000, 1);
}

TEST(Nscc, FastIncreaseAfterAWindowWithoutQueue) {
  Nscc nscc = make();
  set_window(nscc, 40'000);
  for (int i = 0; i < 9; ++i) nscc.on_sack(sack(static_cast<Nanoseconds>(i), kPacket, 0));
  EXPECT_GT(nscc.cwnd(), 40'000u) << "proportional so far";
  EXPECT_LT(nscc.cwnd(), 55'000u);
  for (int i = 0; i < 4; ++i) nscc.on_sack(sack(static_cast<Nanoseconds>(9 + i), kPacket, 0));
  const uint64_t before = nscc.cwnd();
  nscc.on_sack(sack(20, kPacket, 0));
  EXPECT_EQ(nscc.cwnd(), before + kPacket / 4);       // newly * fi_scale
  nscc.on_sack(sack(21, kPacket, 3 * kMicrosecond));  // a queue ends it
  EXPECT_EQ(nscc.cwnd(), before + kPacket / 4);
}

TEST(Nscc, MultiplicativeDecreaseFollowsTheAverage) {  // mark and delay at or above the target
  Nscc nscc = make();
  set_window(nscc, 100'000);
  // The average needs some marked SACKs to pass 9 us; the ones before change nothing.
  Nanoseconds now = 0;
  while (nscc.average_delay() <= 9 * kMicrosecond) {
    ASSERT_EQ(nscc.cwnd(), 100'000u);
    nscc.on_sack(sack(now, 0, 18 * kMicrosecond, true));
    ++now;
  }
  const double average = static_cast<double>(nscc.average_delay());
  EXPECT_NEAR(static_cast<double>(nscc.cwnd()), 100'000 * (1 - 0.8 * (average - 9000) / average), 100);
  EXPECT_NEAR(static_cast<double>(now), 56, 2);  // (1 - 0.0125)^56 = 1/2
}

TEST(Nscc, MultiplicativeDecreaseAtMostOncePerBaseRtt) {
  Nscc nscc = make();
  for (int i = 0; i < 200; ++i) nscc.on_sack(sack(0, 0, 11 * kMicrosecond, true));
  const uint64_t once = nscc.cwnd();
  EXPECT_LT(once, 225'000u);
  nscc.on_sack(sack(kRtt - 1, 0, 11 * kMicrosecond, true));
  EXPECT_EQ(nscc.cwnd(), once);
  nscc.on_sack(sack(kRtt, 0, 11 * kMicrosecond, true));
  EXPECT_LT(nscc.cwnd(), once);
}

TEST(Nscc, MultiplicativeDecreaseAtMostOncePerRoundTripWhereQueuesAreLong) {  // [P]
  Nscc nscc = make();
  const Nanoseconds delay = 30 * kMicrosecond;
  for (int i = 0; i < 200; ++i) nscc.on_sack(sack(0, 0, delay, true));
  const uint64_t once = nscc.cwnd();
  nscc.on_sack(sack(delay - 1, 0, delay, true));
  EXPECT_GE(nscc.cwnd(), once);
  nscc.on_sack(sack(delay, 0, delay, true));
  EXPECT_LT(nscc.cwnd(), once);
}

TEST(Nscc, MultiplicativeDecreaseIsBounded) {  // max_md_jump
  NsccConfig config = reference();
  config.gamma = 1000;
  config.eta = 0;
  Nscc nscc = make(config);
  while (nscc.average_delay() <= config.target_delay) nscc.on_sack(sack(0, 0, 30 * kMicrosecond, true));
  const uint64_t before = nscc.cwnd();
  for (int i = 0; i < 100; ++i) nscc.on_sack(sack(30 * kMicrosecond, 0, 30 * kMicrosecond, true));
  EXPECT_EQ(nscc.cwnd(), before / 2);
}

TEST(Nscc, AMarkWithoutDelayOnlyChangesThePath) {
  NsccConfig config = reference();
  config.eta = 0;
  Nscc nscc = make(config);
  set_window(nscc, 100'000);
  for (int i = 0; i < 50; ++i)
    nscc.on_sack(sack(static_cast<Nanoseconds>(i) * kRtt, kPacket, 2 * kMicrosecond, true));
  EXPECT_EQ(nscc.cwnd(), 100'000u);
}

TEST(Nscc, EtaOncePerPeriod) {
  Nscc nscc = make();
  set_window(nscc, 100'000);
  nscc.on_sack(sack(0, 0, 2 * kMicrosecond, true));
  nscc.on_sack(sack(kRtt - 1, 9 * kPacket, 2 * kMicrosecond, true));  // bytes, but no period
  EXPECT_EQ(nscc.cwnd(), 100'000u);
  nscc.on_sack(sack(kRtt, 0, 2 * kMicrosecond, true));
  EXPECT_EQ(nscc.cwnd(), 100'000u) << "an adjustment has just been made";
  nscc.on_sack(sack(2 * kRtt, 0, 2 * kMicrosecond, true));
  EXPECT_EQ(nscc.cwnd(), 100'614u);
}

TEST(Nscc, AdjustsAfterEightMtus) {
  Nscc nscc = make();
  set_window(nscc, 100'000);
  for (int i = 0; i < 8; ++i) nscc.on_sack(sack(static_cast<Nanoseconds>(i), kPacket, 9 * kMicrosecond));
  EXPECT_EQ(nscc.cwnd(), 100'000u);
  nscc.on_sack(sack(8, kPacket, 9 * kMicrosecond));
  EXPECT_GT(nscc.cwnd(), 100'000u);
}

TEST(Nscc, DelayAverage) {
  Nscc nscc = make();
  nscc.on_sack(sack(0, 0, 8 * kMicrosecond));
  EXPECT_EQ(nscc.average_delay(), 100u);  // 0.0125 * 8 us
}

TEST(Nscc, DelayWithoutMarkPullsTheAverageToAQuarterOfTheRtt) {
  Nscc nscc = make();
  nscc.on_sack(sack(0, 0, 30 * kMicrosecond));
  EXPECT_NEAR(static_cast<double>(nscc.average_delay()), 0.0125 * 3000, 1);
}

TEST(Nscc, WithoutASampleTheAverageIsTheDelay) {
  Nscc nscc = make();
  while (nscc.average_delay() < 10 * kMicrosecond) nscc.on_sack(sack(0, 0, 20 * kMicrosecond, true));
  const uint64_t before = nscc.cwnd();
  SackSignal blind = sack(2 * kRtt, 0, 0, true);
  blind.rtt = 0;
  nscc.on_sack(blind);
  EXPECT_LT(nscc.cwnd(), before) << "marked, and late on average";
}

TEST(Nscc, BaseRttIsTheLeastObserved) {
  Nscc nscc = make();
  EXPECT_EQ(nscc.base_rtt(), kRtt);
  SackSignal fast = sack(0, 0, 0);
  fast.rtt = 8 * kMicrosecond;
  nscc.on_sack(fast);
  EXPECT_EQ(nscc.base_rtt(), 8 * kMicrosecond);
  nscc.on_sack(sack(1, 0, 0));
  EXPECT_EQ(nscc.base_rtt(), 8 * kMicrosecond);
}

TEST(Nscc, TheWindowStaysBetweenOneMtuAndTheLargest) {
  Nscc nscc = make();
  for (int i = 0; i < 1000; ++i) nscc.on_sack(sack(static_cast<Nanoseconds>(i) * 1000, 10 * kPacket, 0));
  EXPECT_EQ(nscc.cwnd(), 225'000u);
  for (int i = 0; i < 1000; ++i) nscc.on_loss(kPacket);
  EXPECT_EQ(nscc.cwnd(), 4096u);
}

// --------------------------------------------------------------------------------------- MRC 5.3: quick
// adapt

constexpr Nanoseconds kQaWindow = kRtt + 9 * kMicrosecond;

TEST(NsccQuickAdapt, TheWindowBecomesWhatCameThrough) {
  Nscc nscc = make();
  nscc.on_sent(0, 225'000);
  nscc.on_sack(sack(0, 2 * kPacket, 0));
  nscc.on_trim_nack(1000, kPacket, true);
  const uint64_t before = nscc.cwnd();
  EXPECT_EQ(before, 225'000u - kPacket);
  nscc.on_sack(sack(kQaWindow, kPacket, 0));
  EXPECT_EQ(nscc.cwnd(), 3 * kPacket);
  EXPECT_TRUE(nscc.ignoring());
}

TEST(NsccQuickAdapt, AlsoOnDelayAloneIfNothingIsTrimmed) {  // qa_threshold, 4 x target
  NsccConfig config = reference();
  for (const bool trimming : {false, true}) {
    config.trimming = trimming;
    Nscc nscc = make(config);
    nscc.on_sent(0, 100 * kPacket);
    nscc.on_sack(sack(0, kPacket, 0));
    nscc.on_sack(sack(kQaWindow, kPacket, 37 * kMicrosecond));
    EXPECT_EQ(nscc.cwnd(), trimming ? config.max_cwnd : 2 * kPacket);
  }
}

TEST(NsccQuickAdapt, NotIfMuchCameThrough) {  // achieved < max_cwnd >> qa_gate = 28 125
  Nscc nscc = make();
  nscc.on_sent(0, 50 * kPacket);
  nscc.on_loss(kPacket);
  nscc.on_sack(sack(0, 7 * kPacket, 0));
  nscc.on_sack(sack(kQaWindow, kPacket, 0));
  EXPECT_GT(nscc.cwnd(), 200'000u);
}

TEST(NsccQuickAdapt, NotWithoutTrouble) {
  Nscc nscc = make();
  nscc.on_sack(sack(0, kPacket, 0));
  nscc.on_sack(sack(kQaWindow, kPacket, 0));
  EXPECT_EQ(nscc.cwnd(), 225'000u) << "a sender with little to say";
}

// [P] Who waits for one lost packet, and has nothing else to send, gets little through, too.
TEST(NsccQuickAdapt, NotWhereHardlyAnythingWasLost) {
  constexpr uint64_t kThrough = 24'000;
  for (const uint64_t lost : {kThrough / 10, kThrough / 8}) {
    Nscc nscc = make();
    nscc.on_sent(0, kThrough + lost);
    nscc.on_loss(lost);
    nscc.on_sack(sack(0, kThrough / 2, 0));
    nscc.on_sack(sack(kQaWindow, kThrough / 2, 0));
    if (lost < kThrough / 8)
      EXPECT_GT(nscc.cwnd(), 200'000u);
    else
      EXPECT_EQ(nscc.cwnd(), kThrough);
  }
}

TEST(NsccQuickAdapt, IgnoresWhatWasOnItsWay) {
  NsccConfig config = reference();
  config.eta = 0;
  Nscc nscc = make(config);
  nscc.on_sent(0, 50 * kPacket);
  nscc.on_sack(sack(0, kPacket, 0));
  nscc.on_trim_nack(1, kPacket, true);
  nscc.on_sack(sack(kQaWindow, 3 * kPacket, 0));
  ASSERT_EQ(nscc.cwnd(), 4 * kPacket);
  ASSERT_EQ(nscc.inflight(), 45 * kPacket);
  for (int i = 0; i < 44; ++i) {
    nscc.on_trim_nack(kQaWindow + 10, kPacket, true);
    ASSERT_EQ(nscc.cwnd(), 4 * kPacket) << i;
  }
  nscc.on_sack(sack(kQaWindow + 20, kPacket, 20 * kMicrosecond, true));
  EXPECT_EQ(nscc.cwnd(), 4 * kPacket);
  EXPECT_FALSE(nscc.ignoring()) << "all 45 are accounted for";
  nscc.on_sent(0, kPacket);
  nscc.on_trim_nack(kQaWindow + 30, kPacket, true);
  EXPECT_EQ(nscc.cwnd(), 3 * kPacket) << "a new one counts";
}

TEST(NsccQuickAdapt, EveryWindowIsMeasuredAnew) {
  Nscc nscc = make();
  nscc.on_sack(sack(0, 10 * kPacket, 0));
  nscc.on_sack(sack(kQaWindow, 0, 0));  // ends a window without trouble
  nscc.on_loss(kPacket);
  nscc.on_sack(sack(2 * kQaWindow, kPacket, 0));
  EXPECT_EQ(nscc.cwnd(), kPacket) << "the 10 packets of the first window do not count";
}

TEST(NsccQuickAdapt, CanBeDisabled) {
  NsccConfig config = reference();
  config.disable_qa = true;
  Nscc nscc = make(config);
  nscc.on_sack(sack(0, kPacket, 0));
  nscc.on_trim_nack(kQaWindow, kPacket, true);
  nscc.on_sack(sack(2 * kQaWindow, kPacket, 40 * kMicrosecond));
  EXPECT_GT(nscc.cwnd(), 200'000u);
}

// --------------------------------------------------------------------------------- MRC 5.3: NACK, loss,
// penalty

TEST(Nscc, TrimNackTakesAPacketAndFeedsTheAverage) {
  Nscc nscc = make();
  nscc.on_sent(0, 10 * kPacket);
  nscc.on_trim_nack(0, kPacket, false);
  EXPECT_EQ(nscc.cwnd(), 225'000u - kPacket);
  EXPECT_EQ(nscc.inflight(), 9 * kPacket);
  EXPECT_EQ(nscc.average_delay(), 150u);  // 0.0125 * one network RTT
}

TEST(Nscc, ResourceNackTakesAPacketButNoQuickAdapt) {  // [P]
  Nscc nscc = make();
  nscc.on_sent(0, 10 * kPacket);
  nscc.on_sack(sack(0, kPacket, 0));
  nscc.on_resource_nack(kPacket);
  EXPECT_EQ(nscc.inflight(), 8 * kPacket);
  nscc.on_sack(sack(kQaWindow, kPacket, 0));
  EXPECT_GT(nscc.cwnd(), 200'000u);
}

TEST(Nscc, InferredLossTakesAPacket) {
  Nscc nscc = make();
  nscc.on_sent(0, 10 * kPacket);
  nscc.on_loss(kPacket);
  EXPECT_EQ(nscc.cwnd(), 225'000u - kPacket);
  EXPECT_EQ(nscc.inflight(), 9 * kPacket);
}

TEST(Nscc, TimeoutIsALoss) {
  Nscc nscc = make();
  nscc.on_sent(0, 10 * kPacket);
  nscc.on_timeout(kPacket);
  EXPECT_EQ(nscc.cwnd(), 225'000u - kPacket);
  EXPECT_EQ(nscc.inflight(), 9 * kPacket);
}

// --------------------------------------------------------------------------------- MRC 5.3: receiver's
// penalty

TEST(NsccPenalty, SixtyFourForOneRttHalvesTheWindow) {
  Nscc nscc = make();
  nscc.on_sent(0, 225'000);
  for (int i = 0; i < 50; ++i) {
    SackSignal signal = sack(static_cast<Nanoseconds>(i) * kRtt / 50, 4500, 0);
    signal.penalty = 64;
    nscc.on_sack(signal);
  }
  EXPECT_NEAR(static_cast<double>(nscc.cwnd()), 112'500, 1);
}

TEST(NsccPenalty, LargestLeavesAboutAPacket) {
  Nscc nscc = make();
  SackSignal signal = sack(0, 225'000, 0);
  signal.penalty = 127;
  nscc.on_sack(signal);
  EXPECT_EQ(nscc.cwnd(), 4096u);
}

TEST(NsccPenalty, RestoreBringsTheWindowBack) {
  Nscc nscc = make();
  SackSignal signal = sack(0, 20'000, 0);
  signal.penalty = 64;
  signal.restore = true;
  nscc.on_sack(signal);
  nscc.on_sack(signal);
  EXPECT_EQ(nscc.cwnd(), 205'000u);
  nscc.on_sack(sack(1, 0, 0));
  EXPECT_EQ(nscc.cwnd(), 225'000u);
}

TEST(NsccPenalty, WithoutRestoreItStays) {
  Nscc nscc = make();
  SackSignal signal = sack(0, 20'000, 0);
  signal.penalty = 64;
  nscc.on_sack(signal);
  nscc.on_sack(sack(1, 0, 0));
  EXPECT_EQ(nscc.cwnd(), 215'000u);
}

// ---------------------------------------------------------------------------------------------- in a queue

QueueModel network(CongestionAlgorithm algorithm, bool trimming) {
  QueueModel model;
  model.trimming = trimming;
  model.congestion.algorithm = algorithm;
  model.set_network();
  return model;
}

TEST(NsccQueue, OneFlowFillsTheLinkAndLeavesNoQueue) {
  QueueModel model = network(CongestionAlgorithm::kNscc, true);
  model.add_flow(1'000'000'000);
  model.run(10 * kMillisecond);
  EXPECT_GT(static_cast<double>(model.delivered * model.packet_bytes) * 8 / 10e6, 0.99 * 100);
  EXPECT_LT(model.queue_peak, 3 * model.packet_bytes);
}

TEST(NsccQueue, FlowsThatStartLateGetTheirShare) {
  for (const bool trimming : {true, false}) {
    QueueModel model = network(CongestionAlgorithm::kNscc, trimming);
    for (Nanoseconds i = 0; i < 4; ++i) model.add_flow(1'000'000'000, i * 200 * kMicrosecond);
    model.run(20 * kMillisecond);
    for (QueueModel::Flow& flow : model.flows) flow.at_half = flow.received;
    const uint64_t before = model.delivered;
    const uint64_t trimmed = model.trimmed;
    model.queue_peak = 0;
    model.resume(100 * kMillisecond);
    const auto fair = static_cast<double>(model.delivered - before) / 4;
    for (const QueueModel::Flow& flow : model.flows)
      EXPECT_NEAR(static_cast<double>(flow.received - flow.at_half) / fair, 1, 0.1);
    EXPECT_GT(fair * 4 * model.packet_bytes * 8 / 80e6, 0.99 * 100) << "the link is full";
    // Delay stays near the target: 0.75 (1.0 without trimming) of 150 kB.
    EXPECT_LT(model.queue_peak, (trimming ? 1.3 : 1.2) * 150'000);
    EXPECT_EQ(model.trimmed, trimmed);
  }
}

TEST(NsccQueue, QuickAdaptEndsTheFirstBurstOfAnIncast) {
  QueueModel model = network(CongestionAlgorithm::kNscc, true);
  for (int i = 0; i < 32; ++i) model.add_flow(2'000'000);
  model.run(kMillisecond);
  // 32 windows of 54 packets meet a queue of 54; after the burst hardly anything is trimmed.
  const uint64_t burst = model.trimmed;
  EXPECT_LT(burst, 32 * 54u + 200);
  for (const QueueModel::Flow& flow : model.flows) EXPECT_LT(flow.controller.cwnd(), 8 * kPacket);
  model.resume(kNever);
  EXPECT_LT(model.trimmed - burst, 200u);
  const double ideal = 32.0 * 489 * model.packet_bytes * 8 / 100;
  EXPECT_GT(ideal / static_cast<double>(model.finished), 0.97);
}

}  // namespace
}  // namespace mrc
