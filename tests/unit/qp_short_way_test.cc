// SPDX-License-Identifier: BSD-2-Clause
// Most packets with data go a short way through the responder (libmrc/mrc/responder_writes.cc for WRITEs,
// responder_middles.cc for SENDs and answers to READs). They leave behind what the general way leaves, which
// all take while there is a rule of disorder, even one for a queue pair that is not there.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "libmrc/fault/fault_injector.h"
#include "tests/unit/qp_mixed_work.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kPlaces = 24;  // few, so that WRITEs meet in memory
constexpr uint32_t kApart = 512;
constexpr uint32_t kNobody = 0xABCDEF;
constexpr int kBefore = 8;

void take_general_way(End& end) {
  FaultRule rule;
  rule.id = 1;
  rule.kind = FaultKind::kDisorder;
  rule.qpn = kNobody;
  const FaultInjector::Counted rules[] = {{rule, nullptr}};
  end.engine->set_faults(std::make_unique<FaultInjector>(rules, FaultInjector::Config{}), 0);
}

struct Outcome {
  std::vector<PipePort::Frame> answers;
  std::vector<uint8_t> memory;
  std::vector<uint64_t> counts;
  std::vector<CompletionStatus> statuses;
};

std::vector<uint64_t> counts_of(const Counters& counters) {
  return {counters.frames_sent,      counters.frames_received,  counters.requests_received,
          counters.requests_refused, counters.requests_in_vain, counters.payload_bytes_placed,
          counters.sacks_sent,       counters.acks_sent,        counters.naks_sent,
          counters.nacks_sent,       counters.trimmed_received, counters.duplicates,
          counters.out_of_window,    counters.probes_received,  counters.probes_answered};
}

void expect_same(const Outcome& one, const Outcome& other) {
  EXPECT_EQ(one.answers, other.answers);
  EXPECT_EQ(one.memory, other.memory);
  EXPECT_EQ(one.counts, other.counts);
  EXPECT_EQ(one.statuses, other.statuses);
}

// WRITEs of all sizes, some with what needs order behind them, in order or over two planes that lose, repeat
// and delay.
Outcome carry_out(uint64_t seed, bool short_way) {
  PairOptions options;
  options.seed = seed;
  options.planes = seed % 7 == 0 ? 1 : 2;
  options.jitter = seed % 7 != 0;
  options.copies = seed % 3 == 0 ? 2 : 1;
  if (seed % 2 == 0) options.transport = Transport::kMrcStrict;
  options.tune = [seed](EngineConfig* config) {
    if (seed % 5 != 0) return;
    TransportConfig& transport = config->transport;
    transport.congestion = CongestionAlgorithm::kReceiverAware;
    transport.link_rate_bps = 10'000'000'000;
    transport.nscc = nscc_defaults(transport.link_rate_bps, 60 * kMicrosecond, 1024, true);
  };
  RulePair pair(options, (kPlaces + 16) * kApart);
  if (!short_way) take_general_way(pair.b);
  std::mt19937_64 random(seed);
  std::mt19937_64 chance(~seed);
  Tap to_b(pair.a);
  to_b.drop = [&](const Packet&) { return seed % 7 != 0 && chance() % 20 == 0; };
  Tap answers(pair.b);
  Outcome outcome;
  for (uint64_t id = 0; id < 400; ++id) {
    const auto bytes = static_cast<uint32_t>(random() % 4 == 0 ? random() % (12 * kApart) : random() % 100);
    const auto at = static_cast<uint32_t>(random() % kPlaces) * kApart;
    const bool immediate = random() % 10 == 0;
    if (immediate) pair.post_receive(pair.b, id, {});
    EXPECT_TRUE(pair.run([&] { return pair.a.qp->send_queue().reserve() != nullptr; })) << "seed " << seed;
    if (::testing::Test::HasFailure()) return outcome;
    SendRequest* request = pair.write(id, bytes, at, immediate ? Operation::kWriteImm : Operation::kWrite);
    request->segments()[0].address += random() % (4 * kApart);  // not what another one writes there
    if (random() % 4 != 0) request->flags = 0;
    if (random() % 3 == 0) pair.run_for(random() % 20 * kMicrosecond);
  }
  EXPECT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); })) << "seed " << seed;
  if (random() % 2 == 0) {  // the end: where it must not write
    SendRequest* request = pair.write(1000, 64);
    request->remote_key = MemoryKey{static_cast<uint32_t>(request->remote_key) ^ 1};
    EXPECT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); })) << "seed " << seed;
  }
  for (const Completion& done : WirePair::poll(pair.a.sends)) outcome.statuses.push_back(done.status);
  outcome.answers = answers.frames;
  outcome.memory = pair.target;
  outcome.counts = counts_of(pair.b.engine->counters());
  return outcome;
}

class ShortWay : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ShortWay, LeavesBehindWhatTheGeneralOneLeaves) {
  const Outcome one = carry_out(GetParam(), true);
  const Outcome other = carry_out(GetParam(), false);
  expect_same(one, other);
}

// SENDs and READs between WRITEs, into one or several segments, some of which do not fit.
struct Exchange {
  Outcome at_a;
  Outcome at_b;
};

Exchange exchange(uint64_t seed, bool short_way) {
  PairOptions options;
  options.seed = seed;
  options.transport = Transport::kMrc;
  options.planes = seed % 7 == 0 ? 1 : 2;
  options.jitter = seed % 7 != 0;
  options.copies = seed % 3 == 0 ? 2 : 1;
  if (seed % 4 == 0) options.shared_entries = 64;
  if (seed % 11 == 0) options.lossy = true;
  RulePair pair(options, 64 * kApart);
  if (!short_way)
    for (End* end : {&pair.a, &pair.b}) take_general_way(*end);
  std::mt19937_64 random(seed);
  std::mt19937_64 chance(~seed);
  Tap to_b(pair.a);
  Tap to_a(pair.b);
  const auto drop = [&](const Packet&) { return seed % 7 != 0 && chance() % 20 == 0; };
  to_b.drop = drop;
  to_a.drop = drop;
  std::vector<uint8_t> received(32 * kApart);
  const Segment into = pair.segment(pair.b, received.data(), 32 * kApart, kLocalWrite);
  const Segment read_into = pair.segment(pair.a, pair.data.data(), 64 * kApart, kLocalWrite);
  const auto place = [&] { return random() % 16 * kApart; };
  // In two parts, neither of which begins with a packet.
  const auto halves = [&](const Segment& all, uint32_t bytes) {
    const uint64_t at = all.address + place();
    const auto first = static_cast<uint32_t>(random() % (bytes + 1));
    if (random() % 2 == 0) return std::vector<Segment>{{at, bytes, all.key}};
    return std::vector<Segment>{{at, first, all.key}, {at + first, bytes - first, all.key}};
  };
  const auto post = [&](uint64_t id, uint32_t bytes, Operation operation) {
    EXPECT_TRUE(pair.run([&] { return pair.a.qp->send_queue().reserve() != nullptr; })) << "seed " << seed;
    const bool reads = operation == Operation::kRead;
    SendRequest* request = pair.post(pair.a, operation, id, halves(reads ? read_into : pair.from, bytes));
    if (request == nullptr) return;
    request->remote_address = pair.to.address + place();
    request->remote_key = pair.to.key;
    if (reads && random() % 8 != 0) request->flags |= kFence;
    pair.ring(pair.a);
  };
  for (uint64_t id = 0; id < 200; ++id) {
    const auto bytes = static_cast<uint32_t>(random() % 3 == 0 ? random() % (16 * kApart) : random() % 100);
    const uint64_t kind = random() % 5;
    if (kind < 2) pair.post_receive(pair.b, id, halves(into, static_cast<uint32_t>(bytes + random() % 2)));
    post(id, bytes, kind < 2 ? Operation::kSend : kind < 4 ? Operation::kRead : Operation::kWrite);
    if (random() % 3 == 0) pair.run_for(random() % 20 * kMicrosecond);
    if (::testing::Test::HasFailure()) return {};
  }
  EXPECT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); })) << "seed " << seed;
  if (random() % 2 == 0) {  // the end: more than fits
    pair.post_receive(pair.b, 1000, halves(into, 3000));
    post(1000, 3001, Operation::kSend);
    EXPECT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); })) << "seed " << seed;
  }
  Exchange both;
  const auto take = [](Outcome& outcome, End& end, CompletionQueue& queue, const Tap& sent) {
    for (const Completion& done : WirePair::poll(queue)) outcome.statuses.push_back(done.status);
    outcome.counts = counts_of(end.engine->counters());
    for (const Packet& packet : sent.packets)  // their addresses are other ones each time
      outcome.counts.push_back(uint64_t{packet.bth.psn.value()} << 8 |
                               static_cast<uint64_t>(packet.bth.opcode));
  };
  take(both.at_a, pair.a, pair.a.sends, to_b);
  take(both.at_b, pair.b, pair.b.receives, to_a);
  both.at_a.memory = pair.data;
  both.at_b.memory = pair.target;
  both.at_b.memory.insert(both.at_b.memory.end(), received.begin(), received.end());
  return both;
}

TEST_P(ShortWay, LeavesBehindTheSameOfSendsAndAnswers) {
  const Exchange one = exchange(GetParam(), true);
  const Exchange other = exchange(GetParam(), false);
  expect_same(one.at_a, other.at_a);
  expect_same(one.at_b, other.at_b);
}

// Packets of SENDs and answers that somebody has made up: most could be real, some contradict what came
// before.
Outcome invent(uint64_t seed, bool short_way) {
  PairOptions options;
  options.seed = seed;
  options.transport = Transport::kMrc;
  options.planes = 1;
  options.lossy = seed % 4 == 0;
  RulePair pair(options, 64 * kApart);
  Tap from_a(pair.a);
  std::vector<uint8_t> received(4 * 8192);
  const Segment into = pair.segment(pair.b, received.data(), 4 * 8192, kLocalWrite);
  // Each hears the other speak MRC, and all places for messages have been used before.
  for (int i = 0; i < kBefore; ++i) {
    pair.post_receive(pair.b, 0, {into});
    EXPECT_NE(pair.post(pair.a, Operation::kSend, 0, {}), nullptr);
    pair.ring(pair.a);
  }
  EXPECT_TRUE(
      pair.run([&] { return pair.b.receives.pushed() == kBefore && pair.a.qp->send_queue().empty(); }));
  if (!short_way) take_general_way(pair.b);
  Tap said(pair.b);
  said.drop = [](const Packet&) { return true; };

  std::mt19937_64 random(seed);
  const uint32_t sizes[] = {3000, 2048, 5000, 4096};
  const Segment read_into = pair.segment(pair.b, pair.target.data(), 64 * kApart, kLocalWrite);
  for (uint32_t i = 0; i < 4; ++i) {
    if (!options.lossy || random() % 3 != 0)
      pair.post_receive(pair.b, i,
                        {{into.address + i * 8192, sizes[i] + (random() % 2 == 0 ? 0 : 2048), into.key}});
    SendRequest* asks = pair.post(pair.b, i == 3 ? Operation::kFetchAdd : Operation::kRead, i,
                                  {{read_into.address + i * 8192, i == 3 ? 8 : sizes[i], read_into.key}});
    asks->remote_address = pair.from.address;
    asks->remote_key = pair.from.key;
    pair.ring(pair.b);
  }
  pair.run_for(2 * kMicrosecond);
  std::vector<uint16_t> asked;
  for (const Packet& packet : said.packets)
    if (packet.bth.opcode == Opcode::kReadRequest || packet.bth.opcode == Opcode::kFetchAdd)
      asked.push_back(packet.meth.msn);
  EXPECT_EQ(asked.size(), 4u);
  if (::testing::Test::HasFailure()) return {};

  const Opcode kinds[] = {
      Opcode::kSendFirst,         Opcode::kSendMiddle,         Opcode::kSendMiddle,
      Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle, Opcode::kReadResponseMiddle,
      Opcode::kSendLast,          Opcode::kReadResponseLast,   Opcode::kWriteMiddle};
  const auto seldom = [&] { return random() % 60 == 0; };
  const uint32_t expected = from_a.last(Opcode::kSendOnly).bth.psn.value() + 1;
  for (uint32_t i = 0; i < 40; ++i) {
    Bth bth;
    bth.opcode = kinds[random() % std::size(kinds)];
    bth.destination = pair.b.qp->qpn();
    bth.psn = Psn(expected + (random() % 2 == 0 ? i / 2 : static_cast<uint32_t>(random() % 24)));
    bth.ack_request = random() % 4 == 0;
    bth.has_timestamp = true;
    const uint64_t which = random() % 4;
    Reth reth{random() % (sizes[which] / 1024) * 1024, MemoryKey{0}, sizes[which]};
    if (bth.opcode == Opcode::kWriteMiddle) reth = {pair.to.address + 1024, pair.to.key, 3000};
    if (seldom()) reth.address = random() % 6000;
    if (seldom()) reth.key = MemoryKey{ResponseQueue::kDoneFlag | (said.packets[0].bth.psn.value() + 2)};
    if (seldom()) reth.message_bytes = sizes[random() % 4];
    Craft craft;
    craft.payload.assign(seldom() ? random() % 1025 : 1024, static_cast<uint8_t>(i + 1));
    if (which == 3 && random() % 8 == 0) {
      reth = {0, MemoryKey{}, 8};
      craft.payload.resize(4);
    }
    const auto receive_msn = static_cast<uint16_t>(kBefore + which + (seldom() ? random() % 4 : 0));
    inject(pair, pair.b, craft, bth, Meth{receive_msn, asked[which]}, Tseth{0x1234, true}, reth);
    pair.run_for(random() % 3 * 3 * kMicrosecond);
  }
  pair.run_for(200 * kMicrosecond);
  Outcome outcome;
  outcome.memory = pair.target;
  outcome.memory.insert(outcome.memory.end(), received.begin(), received.end());
  outcome.counts = counts_of(pair.b.engine->counters());
  outcome.counts.push_back(static_cast<uint64_t>(pair.b.qp->state()));
  for (const Packet& packet : said.packets)
    outcome.counts.push_back(uint64_t{packet.bth.psn.value()} << 8 |
                             static_cast<uint64_t>(packet.bth.opcode));
  for (const Completion& done : WirePair::poll(pair.b.receives)) outcome.statuses.push_back(done.status);
  return outcome;
}

TEST_P(ShortWay, LeavesBehindTheSameOfWhatContradictsItself) {
  for (uint64_t seed = 100 * GetParam(); seed < 100 * GetParam() + 40; ++seed) {
    SCOPED_TRACE(seed);
    expect_same(invent(seed, true), invent(seed, false));
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShortWay, ::testing::ValuesIn(seeds(30)));

}  // namespace
}  // namespace mrc::test
