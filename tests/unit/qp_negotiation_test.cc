// SPDX-License-Identifier: BSD-2-Clause
// Asking a peer what it speaks, and what waits for the answer.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "libmrc/peer/known_speakers.h"
#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

// A SEND waits until it is known what the peer speaks. The two seconds in which a peer must have answered
// begin when it can be asked, be it that the next hop or the link to the other process is late.
TEST(Negotiation, APeerIsAskedFromWhenItCanBeReached) {
  for (const bool next_hop_known : {false, true}) {
    PairOptions options;
    options.b_reaches_a = next_hop_known;
    WirePair pair(options);
    pair.set_step(kMillisecond);
    for (auto& port : pair.b.ports) port->linked = !next_hop_known;
    uint64_t word = 0;
    pair.post_receive(pair.a, 1, {pair.segment(pair.a, &word, 8, kLocalWrite)});
    uint64_t data = 7;
    pair.post(pair.b, Operation::kSend, 1, {pair.segment(pair.b, &data, 8, 0)});
    pair.ring(pair.b);
    pair.run_for(5 * kSecond);
    EXPECT_TRUE(pair.b.sends.empty());
    EXPECT_EQ(pair.b.engine->counters().capability_requests_sent, 0u);
    pair.set_step(50 * kMicrosecond);
    for (auto& port : pair.b.ports) port->linked = port->reachable = true;
    ASSERT_TRUE(pair.run([&] { return !pair.b.sends.empty(); }));
    EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(word, 7u);
  }
}

// It was stopped, or had no CPU: that says nothing about what it speaks.
TEST(Negotiation, APeerThatIsSilentAtFirstIsAskedOn) {
  WirePair pair;
  pair.set_step(50 * kMicrosecond);
  bool silent = true;
  for (auto& port : pair.a.ports) port->drop = [&](const PipePort::Frame&) { return silent; };
  pair.run_for(10 * kSecond);
  EXPECT_LT(pair.a.engine->counters().capability_requests_sent, 80u) << "ever less often";
  silent = false;
  uint64_t word = 0;
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, &word, 8, kLocalWrite)});
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 10 * kMillisecond)) << "asked at once";
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(word, 7u);
}

TEST(Negotiation, ARequestWaitsAsLongAsItsRetriesWould) {
  PairOptions options;
  options.timeout = kSecond;
  WirePair pair(options);
  pair.set_step(50 * kMicrosecond);
  bool silent = true;
  for (auto& port : pair.a.ports) port->drop = [&](const PipePort::Frame&) { return silent; };
  uint64_t data = 7;
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, &data, 8, kLocalWrite)});
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  pair.run_for(6 * kSecond);
  silent = false;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
}

// A second queue pair between the same engines, from now on the one of the pair.
void add_queue_pair(WirePair* pair) {
  for (End* end : {&pair->a, &pair->b}) end->qp = end->engine->create(end->qp->config());
  pair->reconnect({});
}

bool send_a_word(WirePair* pair) {
  uint64_t word = 0;
  pair->post_receive(pair->b, 1, {pair->segment(pair->b, &word, 8, kLocalWrite)});
  uint64_t data = 7;
  pair->post(pair->a, Operation::kSend, 1, {pair->segment(pair->a, &data, 8, 0)});
  pair->ring(pair->a);
  if (!pair->run([&] { return !pair->a.sends.empty(); }, 3 * kSecond)) return false;
  return pair->poll(pair->a.sends)[0].status == CompletionStatus::kSuccess && word == 7;
}

TEST(Negotiation, WhatOneQueuePairWasToldTheNextNeedsNotAsk) {
  WirePair pair;
  ASSERT_TRUE(send_a_word(&pair));
  const uint64_t asked = pair.a.engine->counters().capability_requests_sent;
  add_queue_pair(&pair);
  ASSERT_TRUE(send_a_word(&pair));
  EXPECT_EQ(pair.a.engine->counters().capability_requests_sent, asked);
  pair.set_step(50 * kMicrosecond);
  pair.run_for(11 * kSecond);
  add_queue_pair(&pair);
  ASSERT_TRUE(send_a_word(&pair));
  EXPECT_GT(pair.a.engine->counters().capability_requests_sent, asked) << "that was long ago";
}

// Another program may have its number now, which does not speak it.
TEST(Negotiation, APeerThatWasTrustedAndIsSilentIsAsked) {
  WirePair pair;
  ASSERT_TRUE(send_a_word(&pair));
  add_queue_pair(&pair);
  const uint64_t asked = pair.a.engine->counters().capability_requests_sent;
  pair.set_step(50 * kMicrosecond);
  for (auto& port : pair.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 3 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
  EXPECT_GT(pair.a.engine->counters().capability_requests_sent, asked);
}

// To a program that is what it is with any other request: nobody has answered.
TEST(Negotiation, APeerThatNeverAnswersIsGivenUpInTime) {
  WirePair pair;
  pair.set_step(50 * kMicrosecond);
  for (auto& port : pair.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
  pair.run_for(5 * kSecond);
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 3 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
}

TEST(Negotiation, APeerThatIsNeverReachedIsGivenUp) {
  WirePair pair;
  pair.set_step(kMillisecond);
  for (auto& port : pair.a.ports) port->linked = false;
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 31 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
  EXPECT_GT(pair.now(), 29 * kSecond);
}

// The program at end b, of which another one can take the place, with the same numbers.
class Replaced {
 public:
  // At first it speaks MRC 1.0 and nothing else.
  explicit Replaced(bool strict = true) {
    options_.tune = [this, strict](EngineConfig* config) {
      const bool is_b = made_++ == 1;
      config->transport.strict = strict && is_b;
      if (is_b) config_ = *config;
    };
    pair_.emplace(options_);
    pair_->set_step(50 * kMicrosecond);
    pair_->run_for(kMillisecond);  // what it speaks is known
    add_queue_pair(&*pair_);       // the first one stays, so that end a has something to do with the peer
  }
  WirePair& pair() { return *pair_; }
  uint64_t asked() const { return pair_->a.engine->counters().capability_requests_sent; }

  void replace_by_one_that_speaks() {
    End& b = pair_->b;
    QueuePairConfig config = b.qp->config();
    config.transport.reset();
    const Qpn number = b.qp->qpn();
    std::vector<Port*> ports;
    for (auto& port : b.ports) ports.push_back(port.get());
    config_.transport.strict = false;
    b.engine = std::make_unique<Engine>(config_, ports, &b.seen);
    do {
      b.qp = b.engine->create(config);
    } while (b.qp->qpn() != number);
    pair_->reconnect(options_, &b);
  }
  // End a begins anew with the same queue pair.
  void reconnect_a() {
    QueuePairAttributes reset;
    reset.state = QueuePairState::kReset;
    pair_->a.engine->modify(*pair_->a.qp, reset, pair_->now());
    pair_->poll(pair_->a.sends);
    pair_->reconnect(options_, &pair_->a);
  }
  // What becomes of a SEND, and how long that takes.
  std::pair<CompletionStatus, Nanoseconds> send() {
    if (pair_->b.qp->receive_queue().empty())
      pair_->post_receive(pair_->b, 1, {pair_->segment(pair_->b, &word_, 8, kLocalWrite)});
    pair_->post(pair_->a, Operation::kSend, 1, {pair_->segment(pair_->a, &data_, 8, 0)});
    pair_->ring(pair_->a);
    const Nanoseconds from = pair_->now();
    if (!pair_->run([&] { return !pair_->a.sends.empty(); }, 40 * kSecond))
      return {CompletionStatus::kGeneralError, kNever};
    return {pair_->poll(pair_->a.sends)[0].status, pair_->now() - from};
  }

 private:
  int made_ = 0;
  EngineConfig config_;
  PairOptions options_;
  std::optional<WirePair> pair_;
  uint64_t word_ = 0;
  uint64_t data_ = 7;
};

TEST(Refusal, ARequestFailsAtOnce) {
  Replaced peer;
  peer.pair().run_for(10 * kMillisecond);
  EXPECT_EQ(peer.asked(), 1u);
  const auto [status, took] = peer.send();
  EXPECT_EQ(status, CompletionStatus::kLocalQpOperationError);
  EXPECT_LE(took, kMillisecond);
  EXPECT_EQ(peer.asked(), 1u);
}

TEST(Refusal, ARequestThatComesLaterAsksOnceMore) {
  Replaced peer;
  peer.pair().run_for(5 * kSecond);
  EXPECT_EQ(peer.asked(), 1u) << "nobody wants to know";
  const auto [status, took] = peer.send();
  EXPECT_EQ(status, CompletionStatus::kLocalQpOperationError);
  EXPECT_LE(took, kMillisecond);
  EXPECT_EQ(peer.asked(), 2u);
}

TEST(Refusal, IsNotThatOfTheProgramWhichHasTakenItsPlace) {
  Replaced peer;
  peer.pair().run_for(2 * kSecond);
  peer.replace_by_one_that_speaks();
  EXPECT_EQ(peer.send().first, CompletionStatus::kSuccess);
  EXPECT_EQ(peer.asked(), 2u);
  EXPECT_EQ(peer.send().first, CompletionStatus::kSuccess);
  add_queue_pair(&peer.pair());
  EXPECT_EQ(peer.send().first, CompletionStatus::kSuccess);
  EXPECT_EQ(peer.asked(), 2u) << "what it says now is believed like any other word";
}

TEST(Refusal, WhoSpeaksTheExtensionAfterAllNeedsNotBeAsked) {
  Replaced peer;
  peer.pair().run_for(10 * kMillisecond);
  peer.replace_by_one_that_speaks();
  WirePair& pair = peer.pair();
  uint64_t word = 0;
  uint64_t data = 7;
  pair.post_receive(pair.a, 1, {pair.segment(pair.a, &word, 8, kLocalWrite)});
  pair.post(pair.b, Operation::kSend, 1, {pair.segment(pair.b, &data, 8, 0)});
  pair.ring(pair.b);
  ASSERT_TRUE(pair.run([&] { return !pair.b.sends.empty(); }, kSecond));
  EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(peer.send().first, CompletionStatus::kSuccess);
  EXPECT_EQ(peer.asked(), 1u);
}

TEST(Refusal, NewQueuePairsNeitherAskNeedlesslyNorInheritAnOldOne) {
  Replaced peer;
  peer.pair().run_for(10 * kMillisecond);
  for (int i = 0; i < 5; ++i) {
    peer.reconnect_a();
    peer.pair().run_for(10 * kMillisecond);
  }
  EXPECT_EQ(peer.asked(), 1u);
  EXPECT_EQ(peer.send().first, CompletionStatus::kLocalQpOperationError);
  peer.pair().run_for(2 * kSecond);
  peer.replace_by_one_that_speaks();
  peer.reconnect_a();
  peer.pair().run_for(10 * kMillisecond);
  EXPECT_EQ(peer.asked(), 2u) << "that was long ago";
  EXPECT_EQ(peer.send().first, CompletionStatus::kSuccess);
}

// A program that tries again and again: after 1, 2, 4 and then every 8 seconds.
TEST(Refusal, AStrictPeerIsAskedLessAndLessOften) {
  Replaced peer;
  for (const Nanoseconds end = peer.pair().now() + 60 * kSecond; peer.pair().now() < end;) {
    peer.pair().run_for(100 * kMillisecond);
    EXPECT_EQ(peer.send().first, CompletionStatus::kLocalQpOperationError);
    peer.reconnect_a();
  }
  EXPECT_GE(peer.asked(), 8u);
  EXPECT_LE(peer.asked(), 12u);
}

// Its silence ends one queue pair. It is asked again for the others, and by those that come later.
TEST(Silence, IsAskedAgain) {
  WirePair pair;
  pair.set_step(50 * kMicrosecond);
  bool silent = true;
  for (auto& port : pair.b.ports) port->drop = [&](const PipePort::Frame&) { return silent; };
  QueuePair* const first[] = {pair.a.qp, pair.b.qp};
  add_queue_pair(&pair);
  EXPECT_FALSE(send_a_word(&pair));
  silent = false;
  add_queue_pair(&pair);
  EXPECT_TRUE(send_a_word(&pair)) << "as anew";
  pair.a.qp = first[0];
  pair.b.qp = first[1];
  EXPECT_TRUE(send_a_word(&pair)) << "it was there before";
}

// The program speaks it, but not the queue pair that is asked for something: it tells that the packet is
// missing as often as it is asked, and never takes it.
TEST(Refusal, AStrictQueuePairOfAProgramThatSpeaksIsGivenUp) {
  WirePair pair;
  pair.b.engine->destroy(pair.b.qp);
  QueuePairConfig config = pair.a.qp->config();
  config.send_completions = &pair.b.sends;
  config.receive_completions = &pair.b.receives;
  config.transport = Transport::kMrcStrict;
  pair.b.qp = pair.b.engine->create(config);
  QueuePairAttributes reset;
  reset.state = QueuePairState::kReset;
  pair.a.engine->modify(*pair.a.qp, reset, 0);
  pair.reconnect({});
  pair.set_step(50 * kMicrosecond);
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 2 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
}

TEST(Refusal, AStrictQueuePairNeverAsks) {
  PairOptions options;
  options.transport = Transport::kMrcStrict;
  WirePair pair(options);
  pair.set_step(kMillisecond);
  pair.run_for(100 * kSecond);
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 2 * kMillisecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kLocalQpOperationError);
  EXPECT_EQ(pair.a.engine->counters().capability_requests_sent, 0u);
  EXPECT_EQ(pair.b.engine->counters().capability_requests_sent, 0u);
}

TEST(KnownSpeakers, BelievesWhoRefusesAgainForLonger) {
  KnownSpeakers speakers;
  const Qpn qpn{1 << kQpnGroupBits};
  const Qpn same_program{(1 << kQpnGroupBits) + 1};
  const Qpn another{2 << kQpnGroupBits};
  Nanoseconds now = kSecond;
  for (const Nanoseconds believed : {1, 2, 4, 8, 8}) {
    speakers.hear(qpn, PeerExtension::kRefused, now);
    speakers.hear(same_program, PeerExtension::kRefused, now + kMillisecond);  // two have asked at once
    EXPECT_EQ(speakers.believed_until(qpn), now + believed * kSecond);
    now += believed * kSecond;
    EXPECT_EQ(speakers.word_of(same_program, now - 1), PeerExtension::kRefused);
    EXPECT_EQ(speakers.word_of(qpn, now), PeerExtension::kUnknown);
    EXPECT_EQ(speakers.word_of(another, now - 1), PeerExtension::kUnknown);
  }
  speakers.hear(qpn, PeerExtension::kSupported, now);
  EXPECT_EQ(speakers.word_of(same_program, now + 9 * kSecond), PeerExtension::kSupported);
  speakers.hear(qpn, PeerExtension::kRefused, now + kSecond);
  EXPECT_EQ(speakers.word_of(qpn, now + kSecond), PeerExtension::kRefused);
  EXPECT_EQ(speakers.believed_until(qpn), now + 2 * kSecond) << "as the first time";
}

// More programs than it remembers: those whose word is over first make place.
TEST(KnownSpeakers, ForgetsTheOldest) {
  KnownSpeakers speakers;
  for (uint32_t i = 0; i < 20; ++i)
    speakers.hear(Qpn(i << kQpnGroupBits), PeerExtension::kSupported, i * kMillisecond);
  EXPECT_EQ(speakers.word_of(Qpn(3 << kQpnGroupBits), 20 * kMillisecond), PeerExtension::kUnknown);
  for (uint32_t i = 12; i < 20; ++i)
    EXPECT_EQ(speakers.word_of(Qpn(i << kQpnGroupBits), 20 * kMillisecond), PeerExtension::kSupported) << i;
  speakers.forget(Qpn(15 << kQpnGroupBits));
  EXPECT_EQ(speakers.word_of(Qpn(15 << kQpnGroupBits), 20 * kMillisecond), PeerExtension::kUnknown);
}

// The other process was stopped: first the ring to it fills, then nothing can be repeated any more. That must
// end like any other silence; and so must a request that comes when the ring is full already.
TEST(FullPorts, APeerThatTakesNothingIsGivenUpInTime) {
  for (const bool sent_before : {true, false}) {
    WirePair pair;
    pair.set_step(50 * kMicrosecond);
    uint64_t data = 7;
    uint64_t there = 0;
    const Segment target = pair.segment(pair.b, &there, 8, kLocalWrite | kRemoteWrite);
    const auto write = [&](uint64_t id) {
      SendRequest* request = pair.post(pair.a, Operation::kWrite, id, {pair.segment(pair.a, &data, 8, 0)});
      request->remote_address = target.address;
      request->remote_key = target.key;
      pair.ring(pair.a);
    };
    write(1);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 1; }));
    for (auto& port : pair.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
    if (sent_before) {
      write(2);
      pair.run_for(5 * kMillisecond);
    }
    for (auto& port : pair.a.ports) port->linked = false;
    if (!sent_before) write(2);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond)) << sent_before;
    EXPECT_EQ(pair.poll(pair.a.sends).back().status, CompletionStatus::kRetryExceeded);
  }
}

}  // namespace
}  // namespace mrc::test
