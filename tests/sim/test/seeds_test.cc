// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim run --seeds: ranges, what is made of many results, and that a seed alone gives the same numbers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/sim/report/seed_runs.h"

namespace mrc::sim {
namespace {

TEST(Seeds, ARangeIsOneNumberOrTwo) {
  SeedRange range;
  ASSERT_TRUE(parse_seeds("3..20", &range));
  EXPECT_EQ(range.first, 3u);
  EXPECT_EQ(range.last, 20u);
  EXPECT_EQ(range.count(), 18u);
  ASSERT_TRUE(parse_seeds("7", &range));
  EXPECT_EQ(range.count(), 1u);
  for (const char* bad : {"", "x", "-1", "1..", "..2", "5..4", "1..2x", "1-2", " 1", "1.. 2"})
    EXPECT_FALSE(parse_seeds(bad, &range)) << bad;
  EXPECT_EQ(range.first, 7u) << "what is refused changes nothing";
}

ScenarioResult result_of(uint64_t seed, double rate) {
  ScenarioResult result;
  result.scenario = "made_up";
  result.seed = seed;
  result.add_at_least("rate", rate, 0.9);
  result.published("0.95", "somebody");
  if (seed == 2) result.add("unfinished", 4);
  result.add_at_most("errors", seed == 3 ? 1 : 0, 0);
  return result;
}

TEST(Seeds, ManyResultsAreOneSummary) {
  SeedSummary summary;
  summary.add(result_of(1, 0.95));
  summary.add(result_of(2, 0.99));
  EXPECT_TRUE(summary.ok());
  summary.add(result_of(3, 0.91));
  summary.add(result_of(4, 0.5));
  EXPECT_FALSE(summary.ok());
  ASSERT_EQ(summary.rows.size(), 3u);
  const SummaryRow& rate = summary.rows[0];
  EXPECT_EQ(rate.least(), 0.5);
  EXPECT_DOUBLE_EQ(rate.median(), 0.93);
  EXPECT_DOUBLE_EQ(rate.mean(), 0.8375);
  EXPECT_EQ(rate.most(), 0.99);
  EXPECT_EQ(rate.missed, std::vector<uint64_t>{4});
  EXPECT_EQ(rate.row.published, "0.95 (somebody)");
  EXPECT_EQ(summary.rows[1].missed, std::vector<uint64_t>{3}) << "errors";
  EXPECT_EQ(summary.rows[2].values.size(), 1u) << "unfinished";
  const std::string json = to_json(summary);
  EXPECT_NE(json.find("\"seeds\":[1,2,3,4],\"crashed\":[],\"ok\":false"), std::string::npos) << json;
  EXPECT_NE(json.find("\"missed\":[4],\"values\":[0.95,0.99,0.91,0.5]"), std::string::npos) << json;
  EXPECT_NE(json.find("\"values\":[null,4,null,null]"), std::string::npos) << json;
  const std::string table = to_table(summary);
  EXPECT_NE(table.find(">= 0.9"), std::string::npos) << table;
  EXPECT_NE(table.find("MISSED by 4 "), std::string::npos) << table;
  EXPECT_NE(table.find("(in 1 seeds)"), std::string::npos) << table;
}

ScenarioResult draw(const ScenarioOptions& options) {
  if (options.loss) throw std::invalid_argument("no loss here");
  if (options.quick && options.seed == 5) std::abort();
  ScenarioResult result;
  result.add_at_most("third_of_seed", static_cast<double>(options.seed) / 3, 2, "us");
  result.published("nobody knows", "a paper");
  result.add("process", getpid());
  return result;
}

constexpr Scenario kDrawn{"drawn", "", draw};

TEST(Seeds, EveryOneHasAProcessAndNothingIsRounded) {
  for (const unsigned jobs : {1u, 3u}) {
    const SeedSummary summary = run_seeds(kDrawn, {}, {4, 8}, jobs);
    EXPECT_EQ(summary.seeds, (std::vector<uint64_t>{4, 5, 6, 7, 8}));
    ASSERT_EQ(summary.rows.size(), 2u);
    for (uint64_t seed = 4; seed <= 8; ++seed) {
      EXPECT_EQ(summary.rows[0].values.at(seed), static_cast<double>(seed) / 3);
      EXPECT_NE(summary.rows[1].values.at(seed), getpid());
    }
    EXPECT_EQ(summary.rows[0].row.unit, "us");
    EXPECT_EQ(summary.rows[0].missed, (std::vector<uint64_t>{7, 8}));
    EXPECT_NE(summary.rows[1].least(), summary.rows[1].most()) << "each in its own";
  }
}

TEST(Seeds, OneThatCrashesIsNamedAndTheOthersCount) {
  ScenarioOptions options;
  options.quick = true;
  const SeedSummary summary = run_seeds(kDrawn, options, {4, 6}, 2);
  EXPECT_FALSE(summary.ok());
  EXPECT_EQ(summary.crashed, std::vector<uint64_t>{5});
  EXPECT_EQ(summary.rows[0].values.size(), 2u);
  EXPECT_NE(to_table(summary).find("did not come to an end: seeds 5"), std::string::npos);
}

TEST(Seeds, WhatAScenarioRefusesIsSaid) {
  ScenarioOptions options;
  options.loss = 0.1;
  EXPECT_THROW(run_seeds(kDrawn, options, {1, 2}, 2), std::invalid_argument);
}

TEST(Seeds, AScenarioGivesTheSameAsAlone) {
  ScenarioOptions options;
  options.quick = true;
  options.rc = false;
  const Scenario* scenario = find_scenario("two_flows");
  ASSERT_NE(scenario, nullptr);
  const SeedSummary summary = run_seeds(*scenario, options, {2, 3}, 2);
  for (options.seed = 2; options.seed <= 3; ++options.seed) {
    const ScenarioResult alone = scenario->run(options);
    ASSERT_EQ(alone.rows.size(), summary.rows.size());
    for (size_t i = 0; i < alone.rows.size(); ++i) {
      EXPECT_EQ(alone.rows[i].name, summary.rows[i].row.name);
      EXPECT_EQ(alone.rows[i].name.find("rc_1qp"), std::string::npos) << "no RC was wanted";
      EXPECT_EQ(alone.rows[i].value, summary.rows[i].values.at(options.seed)) << alone.rows[i].name;
    }
  }
}

}  // namespace
}  // namespace mrc::sim
