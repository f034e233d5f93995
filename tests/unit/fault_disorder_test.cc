// SPDX-License-Identifier: BSD-2-Clause
// Disorder: the end of a WRITE is there long before its beginning, completions and immediates are still in
// order and true, and what remains in memory is what it always is.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "libmrc/fault/fault_injector.h"
#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

void disorder(WirePair& pair, End& end, uint64_t seed) {
  FaultRule rule;
  rule.id = 1;
  rule.kind = FaultKind::kDisorder;
  rule.seed = seed;
  const FaultInjector::Counted rules[] = {{rule, nullptr}};
  end.engine->set_faults(std::make_unique<FaultInjector>(rules, FaultInjector::Config{}), pair.now());
}

class DisorderTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kBytes = 5000;

  void write(Operation operation, uint64_t id, std::vector<uint8_t>& from, const Segment& to, uint64_t at,
             uint32_t bytes) {
    SendRequest* request = pair.post(pair.a, operation, id, {pair.segment(pair.a, from.data(), bytes, 0)});
    ASSERT_NE(request, nullptr);
    request->remote_address = to.address + at;
    request->remote_key = to.key;
    request->immediate = static_cast<uint32_t>(id);
    pair.ring(pair.a);
  }

  WirePair pair;
  std::vector<uint8_t> there = std::vector<uint8_t>(kBytes);
  Segment target = pair.segment(pair.b, there.data(), kBytes, kLocalWrite | kRemoteWrite);
};

TEST_F(DisorderTest, TheLastByteComesFirst) {
  for (const bool usual : {true, false}) {
    if (!usual) disorder(pair, pair.b, 1);
    std::fill(there.begin(), there.end(), uint8_t{0});
    std::vector<uint8_t> from(kBytes, 0x11);
    write(Operation::kWrite, 1, from, target, 0, kBytes);
    ASSERT_TRUE(pair.run([&] { return there.back() != 0; }));
    const bool whole = std::count(there.begin(), there.end(), 0x11) == kBytes;
    EXPECT_EQ(whole, usual);
    EXPECT_TRUE(pair.a.sends.empty()) << "who hears that it is done must find it done";
    ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
    EXPECT_EQ(there, from);
    WirePair::poll(pair.a.sends);
  }
  EXPECT_GT(pair.b.engine->counters().faults_injected[static_cast<size_t>(FaultKind::kDisorder)], 0u);
}

TEST_F(DisorderTest, TheFlagComesBeforeTheData) {
  disorder(pair, pair.b, 1);
  std::vector<uint8_t> data(3000, 0x22);
  std::vector<uint8_t> flag(1, 0x33);
  write(Operation::kWrite, 1, data, target, 0, 3000);
  write(Operation::kWrite, 2, flag, target, 4000, 1);
  ASSERT_TRUE(pair.run([&] { return there[4000] == 0x33; }));
  EXPECT_LT(std::count(there.begin(), there.end(), 0x22), 3000);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(std::count(there.begin(), there.end(), 0x22), 3000);
}

TEST_F(DisorderTest, ImmediatesComeWhenEverythingIsThere) {
  disorder(pair, pair.b, 3);
  for (uint64_t i = 1; i <= 8; ++i) {
    pair.post_receive(pair.b, i, {});
    std::vector<uint8_t> data(kBytes, static_cast<uint8_t>(i));
    write(Operation::kWriteImm, i, data, target, 0, kBytes);
    ASSERT_TRUE(pair.run([&] { return there.back() == i; }));
    const bool told = !pair.b.receives.empty();
    EXPECT_FALSE(told) << "the data are there, but not all, and so the immediate is not";
    ASSERT_TRUE(pair.run([&] { return !pair.b.receives.empty(); }));
    EXPECT_EQ(there, data);
    EXPECT_EQ(WirePair::poll(pair.b.receives).at(0).immediate, i);
    ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
    WirePair::poll(pair.a.sends);
  }
}

// What several WRITEs leave behind is what the last one wrote, also with losses.
TEST(Disorder, TheLastWriteWins) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    PairOptions options;
    options.seed = seed;
    options.loss = seed % 2 == 0 ? 0.05 : 0;
    options.jitter = seed % 4 >= 2;
    WirePair pair(options);
    disorder(pair, pair.b, seed);
    if (seed % 3 == 0) disorder(pair, pair.a, seed);
    std::mt19937_64 random(seed);
    constexpr uint32_t kArea = 6000;
    std::vector<uint8_t> there(kArea);
    std::vector<uint8_t> wanted(kArea);
    const Segment target = pair.segment(pair.b, there.data(), kArea, kLocalWrite | kRemoteWrite);
    std::vector<std::vector<uint8_t>> sources;
    for (uint64_t i = 1; i <= 40; ++i) {
      const auto bytes = static_cast<uint32_t>(1 + random() % 4000);
      const uint64_t at = random() % (kArea - bytes);
      sources.emplace_back(bytes, static_cast<uint8_t>(i));
      std::copy(sources.back().begin(), sources.back().end(), wanted.begin() + static_cast<ptrdiff_t>(at));
      SendRequest* request =
          pair.post(pair.a, Operation::kWrite, i, {pair.segment(pair.a, sources.back().data(), bytes, 0)});
      ASSERT_NE(request, nullptr);
      request->remote_address = target.address + at;
      request->remote_key = target.key;
      pair.ring(pair.a);
    }
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 40; })) << "seed " << seed;
    uint64_t next = 1;
    for (const Completion& done : WirePair::poll(pair.a.sends)) {
      EXPECT_EQ(done.status, CompletionStatus::kSuccess) << "seed " << seed;
      EXPECT_EQ(done.work_id, next++) << "seed " << seed;
    }
    EXPECT_EQ(there, wanted) << "seed " << seed;
  }
}

// Memory that is taken away while a part of the WRITE waits is not written to any more.
TEST_F(DisorderTest, MemoryMayGo) {
  disorder(pair, pair.b, 1);
  std::vector<uint8_t> from(kBytes, 0x11);
  write(Operation::kWrite, 1, from, target, 0, kBytes);
  ASSERT_TRUE(pair.run([&] { return there.back() != 0; }));
  pair.b.engine->memory().remove(target.key);
  const std::vector<uint8_t> before = there;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(WirePair::poll(pair.a.sends).at(0).status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(there, before);
}

// When it ends, what was held back is placed.
TEST_F(DisorderTest, Ends) {
  disorder(pair, pair.b, 1);
  std::vector<uint8_t> from(kBytes, 0x11);
  write(Operation::kWrite, 1, from, target, 0, kBytes);
  ASSERT_TRUE(pair.run([&] { return there.back() != 0; }));
  pair.b.engine->set_faults(nullptr, pair.now());
  EXPECT_EQ(there, from);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
}

}  // namespace
}  // namespace mrc::test
