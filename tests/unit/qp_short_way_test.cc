// SPDX-License-Identifier: BSD-2-Clause
// Most WRITEs' packets go a short way through the responder (libmrc/mrc/responder_writes.cc). They leave
// behind what the general way leaves, which all take while there is a rule of disorder, even one that
// never strikes.
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

void take_general_way(End& end) {
  FaultRule rule;
  rule.id = 1;
  rule.kind = FaultKind::kDisorder;
  rule.rate = 0;
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
  EXPECT_EQ(one.answers, other.answers);
  EXPECT_EQ(one.memory, other.memory);
  EXPECT_EQ(one.counts, other.counts);
  EXPECT_EQ(one.statuses, other.statuses);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ShortWay, ::testing::ValuesIn(seeds(30)));

}  // namespace
}  // namespace mrc::test
