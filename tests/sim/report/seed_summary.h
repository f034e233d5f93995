// SPDX-License-Identifier: BSD-2-Clause
// One scenario with many seeds: how far every number spreads, and which seeds missed a target.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

struct SummaryRow {
  Row row;                            // its name, unit, target and what was published; no value
  std::map<uint64_t, double> values;  // by seed; some rows are not in every result
  std::vector<uint64_t> missed;       // seeds

  double least() const;
  double median() const;  // of an even number: between the two in the middle
  double mean() const;
  double most() const;
};

struct SeedSummary {
  std::string scenario;
  std::vector<uint64_t> seeds;
  std::vector<uint64_t> crashed;  // they did not come to their end
  std::vector<SummaryRow> rows;   // in the order in which they first came

  void add(const ScenarioResult& result);
  void add_crash(uint64_t seed);
  bool ok() const;
};

// {"scenario","seeds":[],"crashed":[],"ok","rows":[{"name","unit","least","median","mean","most","target","bound",
// "published","missed":[],"values":[],"ok"}]}; values are in the order of the seeds, null where a seed has
// none.
std::string to_json(const SeedSummary& summary);
std::string to_table(const SeedSummary& summary);

}  // namespace mrc::sim
