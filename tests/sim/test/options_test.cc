// SPDX-License-Identifier: BSD-2-Clause
// The options of mrc_sim run: what is taken, and what is refused with a reason.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/report/run_main.h"
#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

int run_words(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return run_main(static_cast<int>(pointers.size()), pointers.data());
}

TEST(RunOptions, TakesWhatIsInRange) {
  ScenarioOptions options;
  const std::pair<const char*, const char*> good[] = {
      {"--seed", "7"},   {"--hosts", "64"},     {"--planes", "16"},       {"--paths", "3"},
      {"--size", "1e6"}, {"--messages", "2"},   {"--loss", "0.25"},       {"--rate", "400"},
      {"--rtt", "50.5"}, {"--trimming", "off"}, {"--srv6", "on"},         {"--controller", "nscc"},
      {"--loss", "0"},   {"--loss", "1"},       {"--ecn-last-hop", "on"}, {"--hosts", "131072"},
      {"--tiers", "2"},  {"--hosts", "64"},     {"--rc", "off"}};
  for (const auto& [word, value] : good)
    EXPECT_EQ(parse_scenario_option(word, value, &options), nullptr) << word;
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(options.hosts, 64u);
  EXPECT_EQ(options.size, 1'000'000u);
  EXPECT_EQ(options.rtt, 50.5);
  EXPECT_EQ(options.trimming, false);
}

TEST(RunOptions, RefusesWhatIsNot) {
  ScenarioOptions options;
  const std::pair<const char*, const char*> bad[] = {
      {"--seed", "-1"},      {"--seed", "x"},       {"--hosts", "1"},  {"--hosts", "2.5"},
      {"--planes", "17"},    {"--planes", "0"},     {"--paths", "0"},  {"--paths", "nan"},
      {"--size", "0"},       {"--size", "1e12"},    {"--loss", "1.1"}, {"--loss", "-0.1"},
      {"--loss", "10%"},     {"--rate", "0"},       {"--rtt", ""},     {"--trimming", "yes"},
      {"--srv6", ""},        {"--controller", "x"}, {"--tiers", "1"},  {"--tiers", "4"},
      {"--hosts", "131073"}, {"--rc", "1"}};
  for (const auto& [word, value] : bad) {
    const char* wanted = parse_scenario_option(word, value, &options);
    EXPECT_NE(wanted, nullptr) << word << " " << value;
    EXPECT_NE(wanted, kUnknownOption) << word << " " << value;
  }
  EXPECT_EQ(parse_scenario_option("--host", "3", &options), kUnknownOption);
}

TEST(RunOptions, WrongUsageIsAnExitStatus) {
  EXPECT_EQ(run_words({}), 2);
  EXPECT_EQ(run_words({"no_such_scenario"}), 2);
  EXPECT_EQ(run_words({"two_flows", "--paths"}), 2) << "no value";
  EXPECT_EQ(run_words({"two_flows", "--colour", "red"}), 2);
  EXPECT_EQ(run_words({"two_flows", "--rtt", "1"}), 2) << "shorter than the wires take";
  EXPECT_EQ(run_words({"two_flows", "--rtt", "1", "--seeds", "1..2"}), 2) << "the same of several seeds";
  EXPECT_EQ(run_words({"two_flows", "--seeds", "2..1"}), 2);
  EXPECT_EQ(run_words({"two_flows", "--seeds"}), 2);
  EXPECT_EQ(run_words({"two_flows", "--seeds", "1..2", "--jobs", "0"}), 2);
}

TEST(RunOptions, OneSeedThatMissesATargetIsAnExitStatus) {
  const std::vector<std::string> run = {"two_flows", "--quick", "--rc",   "off",
                                        "--seeds",   "1..2",    "--jobs", "2"};
  EXPECT_EQ(run_words(run), 0);
  std::vector<std::string> slow = run;
  slow.insert(slow.end(), {"--size", "1000"});  // too short to fill a path
  EXPECT_EQ(run_words(slow), 1);
}

TEST(RunOptions, ANetworkThatCannotBeIsRefusedWithAReason) {
  WorldConfig config;
  ScenarioOptions options;
  options.rate = 1;
  EXPECT_THROW(config.apply(options), std::invalid_argument);
  options.rtt = 1000;
  EXPECT_NO_THROW(config.apply(options));
}

}  // namespace
}  // namespace mrc::sim
