// SPDX-License-Identifier: BSD-2-Clause
// The receiver-aware controller, what the receiver says, and both in incasts.
#include <gtest/gtest.h>

#include <set>

#include "libmrc/congestion/receiver_aware.h"
#include "tests/unit/congestion_queue_model.h"

namespace mrc {
namespace {

constexpr Nanoseconds kRtt = 12 * kMicrosecond;
constexpr uint64_t kPacket = 4096 + 88;

NsccConfig reference() {
  return nscc_defaults(100'000'000'000, kRtt, 4096, true);
}

SackSignal told(Nanoseconds now, uint32_t senders, uint64_t newly = 0) {
  SackSignal signal;
  signal.now = now;
  signal.newly_bytes = newly;
  signal.rtt = kRtt * 3 / 2;
  signal.penalty = encode_incast_degree(senders);
  return signal;
}

TEST(IncastDegree, FitsSevenBitsAndNeverSaysLess) {
  EXPECT_EQ(encode_incast_degree(1), 1);
  EXPECT_EQ(decode_incast_degree(0), 1) << "nothing said";
  for (uint32_t senders = 1; senders < 50'000; ++senders) {
    const uint8_t code = encode_incast_degree(senders);
    ASSERT_LE(code, 127);
    ASSERT_GE(decode_incast_degree(code), senders * 0.9999);
    ASSERT_LE(decode_incast_degree(code), senders * 1.0906);
  }
  EXPECT_EQ(decode_incast_degree(255), decode_incast_degree(127)) << "more cannot be said";
}

TEST(ReceiverAware, AloneItIsNscc) {
  ReceiverAware aware;
  aware.reset(reference(), 0, 1);
  EXPECT_EQ(aware.cwnd(), 225'000u);
  aware.on_sack(told(0, 1));
  EXPECT_EQ(aware.cwnd(), 225'000u);
  EXPECT_EQ(aware.next_send_at(), 0u);
}

TEST(ReceiverAware, KeepsToItsShareOfOneWindow) {
  ReceiverAware aware;
  aware.reset(reference(), 0, 1);
  aware.on_sack(told(0, 4));
  EXPECT_EQ(aware.cwnd(), 225'000u / 4);
  aware.on_sack(told(1, 1));
  EXPECT_EQ(aware.cwnd(), 225'000u) << "and takes it back";
}

TEST(ReceiverAware, BelowAPacketItWaits) {
  ReceiverAware aware;
  aware.reset(reference(), 0, 1);
  aware.on_sack(told(0, 1024));
  // The first gap is a part of one.
  aware.on_sent(kMillisecond, kPacket);
  aware.on_sack(told(kMillisecond + kRtt, 1024, kPacket));
  const Nanoseconds second = aware.next_send_at();
  EXPECT_LE(second, kMillisecond + 1024 * kPacket * 8 / 100);
  EXPECT_FALSE(aware.may_send(second - 1));
  ASSERT_TRUE(aware.may_send(second));
  // From then on one packet in the time that 1024 of them take.
  aware.on_sent(second, kPacket);
  aware.on_sack(told(second + kRtt, 1024, kPacket));
  EXPECT_NEAR(static_cast<double>(aware.next_send_at() - second), 1024.0 * kPacket * 8 / 100, 1000);
}

// The peer says how many there are, and need not be right.
TEST(ReceiverAware, ItSendsNowAndThenWhateverItIsTold) {
  constexpr Nanoseconds kLongest = 250 * kMillisecond;
  NsccConfig slow = nscc_defaults(10'000'000, kRtt, kPacket, true);
  ReceiverAware aware;
  aware.reset(slow, 0, 1);
  aware.on_sent(0, kPacket);
  aware.forget(kPacket);
  for (Nanoseconds now = kRtt; now < kLongest; now += kMillisecond) {
    aware.on_degree(now, 127);
    ASSERT_LE(aware.next_send_at(), kLongest) << now;
    EXPECT_GE(aware.cwnd(), kPacket);
    aware.on_degree(now, 1);
  }
}

TEST(ReceiverAware, APollThatComesLateCatchesUp) {
  ReceiverAware aware;
  aware.reset(reference(), 8, 1);
  Nanoseconds now = kMillisecond;
  aware.on_sent(now, kPacket);
  now = aware.next_send_at();
  aware.on_sent(now, kPacket);
  const Nanoseconds gap = aware.next_send_at() - now;
  now += gap + 1000;  // a microsecond late
  ASSERT_TRUE(aware.may_send(now));
  aware.on_sent(now, kPacket);
  EXPECT_EQ(aware.next_send_at(), now - 1000 + gap);
}

TEST(ReceiverAware, TheHintRulesUntilTheReceiverHasCounted) {
  ReceiverAware aware;
  aware.reset(reference(), 64, 1);
  EXPECT_EQ(aware.degree(), 64);
  aware.on_sack(told(0, 2));
  EXPECT_EQ(aware.degree(), 64) << "it has not seen all of them yet";
  aware.on_sack(told(kMillisecond, 2));
  EXPECT_NEAR(aware.degree(), 2, 0.2);
}

TEST(ReceiverAware, LastHopTrimsAreTheReceiversAffairOnceItSpeaks) {
  ReceiverAware aware;
  aware.reset(reference(), 0, 1);
  aware.on_sent(0, 3 * kPacket);
  aware.on_trim_nack(0, kPacket, true);
  EXPECT_LT(aware.nscc().cwnd(), 225'000u);
  aware.on_sack(told(1, 2));
  const uint64_t before = aware.nscc().cwnd();
  aware.on_trim_nack(2, kPacket, true);
  EXPECT_EQ(aware.nscc().cwnd(), before);
  aware.on_trim_nack(3, kPacket, false);
  EXPECT_LT(aware.nscc().cwnd(), before) << "the core is not";
}

TEST(ReceiverAware, FailingOverAndOverItBacksOff) {
  ReceiverAware aware;
  aware.reset(reference(), 0, 1);
  Nanoseconds now = 0;
  for (int i = 0; i < 60; ++i) aware.on_loss(4096);  // NSCC is at its end
  double last = aware.degree();
  for (int i = 0; i < 4; ++i) {
    now = std::max(now, aware.next_send_at());
    aware.on_sent(now, kPacket);
    aware.on_trim_nack(now + kRtt, kPacket, true);
    EXPECT_GE(aware.degree(), 2 * last);
    last = aware.degree();
  }
  aware.on_sack(told(now, 200));
  EXPECT_NEAR(aware.degree(), 200, 18) << "the receiver knows better";
}

TEST(ReceiverAware, ANackTellsHowManyThereAre) {
  ReceiverAware aware;
  aware.reset(reference(), 0, 1);
  for (int i = 0; i < 20; ++i) aware.on_sent(0, kPacket);
  aware.on_degree(kRtt, encode_incast_degree(1000));
  aware.on_trim_nack(kRtt, kPacket, true);
  EXPECT_NEAR(aware.degree(), 1000, 90);
  EXPECT_EQ(aware.excuses_losses_before(), kRtt) << "what was sent before that was too much for the receiver";
  // What was lost without a word does not keep it from its turn, which is within one of a thousand packets.
  const Nanoseconds turn = 1100 * kRtt * 3 / 2 * kPacket / 225'000;
  EXPECT_GE(aware.next_send_at(), kRtt);
  EXPECT_LE(aware.next_send_at(), kRtt + turn);
  EXPECT_TRUE(aware.may_send(kRtt + turn));
}

TEST(ReceiverAware, WhoMeetsACrowdTakesAnotherTurn) {
  std::set<Nanoseconds> next;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    ReceiverAware aware;
    aware.reset(reference(), 0, seed);
    aware.on_sack(told(0, 1000));
    Nanoseconds now = kMillisecond;
    for (int i = 0; i < 2; ++i) {  // behind the first packet gaps are equal
      aware.on_sent(now, kPacket);
      aware.on_sack(told(now + kRtt, 1000));
      now = aware.next_send_at();
    }
    aware.on_sent(now, kPacket);
    const Nanoseconds kept = aware.next_send_at();
    aware.on_trim_nack(now + kRtt, kPacket, true);
    const Nanoseconds changed = aware.next_send_at();
    EXPECT_NE(changed, kept);
    EXPECT_GE(2 * (changed - now) + 2, kept - now);
    EXPECT_LE(changed - now, (kept - now) * 3 / 2 + 2);
    next.insert((changed - now) * 1000 / (kept - now));
  }
  EXPECT_GT(next.size(), 4u) << "not all the same one";
}

// ------------------------------------------------------------------------------------------- what it is told

ReceiverShare make_share(uint32_t senders = 16) {
  ReceiverShare::Config config;
  config.link_rate_bps = 100'000'000'000;
  config.base_rtt = kRtt;
  config.target_delay = 9 * kMicrosecond;
  config.packet_bytes = kPacket;
  config.senders_max = senders;
  ReceiverShare share;
  share.reset(config);
  return share;
}

TEST(ReceiverShare, CountsWhoSends) {
  ReceiverShare share = make_share();
  for (uint32_t i = 0; i < 5; ++i) share.on_data(i, 100);
  share.on_data(2, 200);
  EXPECT_EQ(share.active(200), 5u);
  share.on_done(1);
  share.on_done(1);
  EXPECT_EQ(share.active(200), 4u);
  EXPECT_EQ(share.degree(200), encode_incast_degree(4));
}

TEST(ReceiverShare, MoreSendersThanSlotsAreNotCounted) {
  ReceiverShare share = make_share(2);
  for (uint32_t i = 0; i < 5; ++i) share.on_data(i, 0);
  EXPECT_EQ(share.active(0), 2u);
  share.on_done(4);
  EXPECT_EQ(share.penalty(4, 0), 0);
  EXPECT_EQ(share.degree(0), encode_incast_degree(2));
}

TEST(ReceiverShare, ForgetsTheSilent) {
  ReceiverShare share = make_share();
  for (uint32_t i = 0; i < 5; ++i) share.on_data(i, 0);
  share.on_data(3, 50 * kMicrosecond);
  EXPECT_EQ(share.active(84 * kMicrosecond), 5u);
  EXPECT_EQ(share.active(85 * kMicrosecond), 1u);  // four times 21 us
}

TEST(ReceiverShare, ManySendersMaySpeakRarely) {  // each has its turn only every 1024 packet times
  ReceiverShare share = make_share(1024);
  for (uint32_t i = 0; i < 1024; ++i) share.on_data(i, i * 300);
  EXPECT_EQ(share.active(kMillisecond), 1024u);
  EXPECT_LT(share.active(10 * kMillisecond), 1024u);
}

TEST(ReceiverShare, PenaltyCutsByAsMuchAsTheCrowdGrows) {  // MRC 5.3, for any NSCC sender
  ReceiverShare share = make_share();
  share.on_data(0, 0);
  EXPECT_EQ(share.penalty(0, 0), 0);
  share.on_data(1, 10);
  EXPECT_EQ(share.penalty(0, 10), 64);
  EXPECT_EQ(share.penalty(0, 20'000), 64) << "in every SACK of a round trip";
  EXPECT_EQ(share.penalty(0, 21'011), 0) << "and not longer";
  share.on_data(2, 21'020);
  share.on_data(3, 21'020);
  EXPECT_EQ(share.penalty(0, 21'030), 64) << "from two to four";
}

TEST(ReceiverShare, NoPenaltyWhenTheCrowdShrinks) {
  ReceiverShare share = make_share();
  for (uint32_t i = 0; i < 8; ++i) share.on_data(i, 0);
  EXPECT_EQ(share.penalty(0, 0), 112);
  for (uint32_t i = 4; i < 8; ++i) share.on_done(i);
  EXPECT_EQ(share.penalty(0, 30'000), 0);
  for (uint32_t i = 4; i < 8; ++i) share.on_data(i, 30'000);
  EXPECT_EQ(share.penalty(0, 30'000), 64) << "from four to eight again";
}

// ------------------------------------------------------------------------------------------------- incasts

struct Outcome {
  double efficiency;  // of the ideal: all bytes at line rate
  double first;       // when the first flow ends, as a part of the whole
  uint64_t trimmed;
  double queue_mean;
};

Outcome incast(CongestionAlgorithm algorithm, uint32_t senders, uint64_t bytes, bool trimming, bool ecn,
               uint32_t hint) {
  QueueModel model;
  model.trimming = trimming;
  model.ecn = ecn;
  model.share = algorithm == CongestionAlgorithm::kReceiverAware;
  model.hint = hint;
  model.congestion.algorithm = algorithm;
  model.set_network();
  for (uint32_t i = 0; i < senders; ++i) model.add_flow(bytes);
  model.run(kSecond);
  Nanoseconds first = kNever;
  uint64_t packets = 0;
  for (const QueueModel::Flow& flow : model.flows) {
    EXPECT_EQ(flow.remaining, 0u);
    first = std::min(first, flow.finished);
    packets += flow.received;
  }
  const double ideal = static_cast<double>(packets * model.packet_bytes * 8 / 100);
  return {ideal / static_cast<double>(model.finished),
          static_cast<double>(first) / static_cast<double>(model.finished), model.trimmed,
          model.queue_sum / static_cast<double>(model.queue_samples)};
}

TEST(ReceiverAwareIncast, SevenToOneIsFair) {
  const Outcome outcome = incast(CongestionAlgorithm::kReceiverAware, 7, 4'000'000, true, true, 0);
  EXPECT_GE(outcome.efficiency, 0.98);
  EXPECT_GE(outcome.first, 0.95) << "equal shares end together";
}

TEST(ReceiverAwareIncast, Hundred27ToOneOf2MB) {
  for (const bool trimming : {true, false}) {
    const Outcome blind = incast(CongestionAlgorithm::kReceiverAware, 127, 2'000'000, trimming, true, 0);
    EXPECT_GE(blind.efficiency, 0.966);
    const Outcome hinted = incast(CongestionAlgorithm::kReceiverAware, 127, 2'000'000, trimming, true, 127);
    EXPECT_GE(hinted.efficiency, 0.99);
    EXPECT_GE(hinted.first, 0.98);
    EXPECT_LT(hinted.queue_mean, 0.6 * 150'000);
  }
}

TEST(ReceiverAwareIncast, Thousand23ToOneOf100KB) {
  for (const bool ecn : {true, false}) {
    const Outcome blind = incast(CongestionAlgorithm::kReceiverAware, 1023, 100'000, true, ecn, 0);
    EXPECT_GE(blind.efficiency, 0.87);
    const Outcome hinted = incast(CongestionAlgorithm::kReceiverAware, 1023, 100'000, true, ecn, 1023);
    EXPECT_GE(hinted.efficiency, 0.97);
    EXPECT_LT(hinted.trimmed, 2000u);
  }
}

// Nobody tells it how many there are, but it takes turns as soon as a packet is too much.
TEST(NsccIncast, TakesTurns) {
  for (const bool ecn : {true, false}) {
    const Outcome many = incast(CongestionAlgorithm::kNscc, 127, 2'000'000, true, ecn, 0);
    EXPECT_GE(many.efficiency, 0.96);
    EXPECT_LT(many.trimmed, 20'000u);
  }
  const Outcome more = incast(CongestionAlgorithm::kNscc, 1023, 100'000, true, true, 0);
  EXPECT_GE(more.efficiency, 0.79);
  EXPECT_LT(more.trimmed, 100'000u);  // a window of at least a packet had ten times as many
}

}  // namespace
}  // namespace mrc
