// SPDX-License-Identifier: BSD-2-Clause
// An experiment (mrc-protocol.md section 8, R1-R9): options in, measured rows and plots out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/report/measure.h"

namespace mrc::sim {

// What the command line may override; a scenario has its own values for the rest.
struct ScenarioOptions {
  uint64_t seed = 1;
  bool quick = false;  // a smaller form, for the tests
  std::optional<uint32_t> hosts;
  std::optional<uint32_t> tiers;  // of permutation: 2 or 3
  std::optional<uint32_t> planes;
  std::optional<uint32_t> paths;  // per plane
  std::optional<uint64_t> size;   // bytes of a message
  std::optional<uint32_t> messages;
  std::optional<double> loss;
  std::optional<double> rate;             // Gb/s per plane
  std::optional<double> rtt;              // microseconds
  std::optional<std::string> controller;  // none, nscc, receiver_aware
  std::optional<bool> trimming;
  std::optional<bool> ecn_last_hop;
  std::optional<bool> srv6;
  std::optional<bool> rc;  // RC beside MRC, as long as nobody says no
};

using report::Plot;
using report::Row;
using report::Series;

struct ScenarioResult {
  std::string scenario;
  uint64_t seed = 0;
  std::string setting;  // for people
  std::vector<Row> rows;
  std::vector<Plot> plots;

  Row& add(const std::string& name, double value, const std::string& unit = "") {
    rows.push_back({name, value, unit, std::nullopt, true});
    return rows.back();
  }
  void add_at_least(const std::string& name, double value, double target, const std::string& unit = "") {
    rows.push_back({name, value, unit, target, true});
  }
  void add_at_most(const std::string& name, double value, double target, const std::string& unit = "") {
    rows.push_back({name, value, unit, target, false});
  }
  // The same number as others found it, of the row that was added last.
  void published(const std::string& what, const std::string& source) {
    rows.back().published = what + " (" + source + ")";
  }
  bool ok() const {
    for (const Row& row : rows)
      if (!row.ok()) return false;
    return true;
  }
};

struct Scenario {
  const char* name;
  const char* summary;
  ScenarioResult (*run)(const ScenarioOptions& options);
};

const std::vector<Scenario>& all_scenarios();
const Scenario* find_scenario(const std::string& name);

// The scenarios, by file.
ScenarioResult run_loss_sweep(const ScenarioOptions& options);
ScenarioResult run_bad_ev(const ScenarioOptions& options);
ScenarioResult run_black_hole(const ScenarioOptions& options);
ScenarioResult run_link_cuts(const ScenarioOptions& options);
ScenarioResult run_plane_cut(const ScenarioOptions& options);
ScenarioResult run_spine_reboot(const ScenarioOptions& options);
ScenarioResult run_permutation(const ScenarioOptions& options);
ScenarioResult run_permutation_degraded(const ScenarioOptions& options);
ScenarioResult run_incast(const ScenarioOptions& options);
ScenarioResult run_incast_victim(const ScenarioOptions& options);
ScenarioResult run_two_flows(const ScenarioOptions& options);
ScenarioResult run_collective(const ScenarioOptions& options);
ScenarioResult run_collective_sweep(const ScenarioOptions& options);
ScenarioResult run_sharing(const ScenarioOptions& options);
ScenarioResult run_uplinks_lost(const ScenarioOptions& options);
ScenarioResult run_incast15(const ScenarioOptions& options);
ScenarioResult run_first_minute(const ScenarioOptions& options);
ScenarioResult run_cold_start(const ScenarioOptions& options);

}  // namespace mrc::sim
