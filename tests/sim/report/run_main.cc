// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/run_main.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "examples/terminal/progress_line.h"
#include "libmrc/wire/identifiers.h"
#include "tests/sim/report/json.h"
#include "tests/sim/report/seed_runs.h"

namespace mrc::sim {

const char* const kRunUsage =
    "mrc_sim run SCENARIO [--json] [--quick] [--seeds A..B [--jobs N]] [options]\n"
    "    --seeds   runs it with each of them: how far the numbers spread, and who missed a target\n"
    "    options: --seed N --hosts N --tiers 2|3 (of permutation) --planes N --paths N (per plane)\n"
    "             --size BYTES --messages N --loss SHARE\n"
    "             --rate GBPS (per plane) --rtt US --controller none|nscc|receiver_aware\n"
    "             --trimming on|off --ecn-last-hop on|off --srv6 on|off\n"
    "             --rc on|off (beside MRC)\n";

const char* const kUnknownOption = "an option";

namespace {

// A number from `least` to `most`; without a fraction if T has none.
template <typename T>
bool parse_number(const char* text, T* out, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != 0 || !(value >= least && value <= most)) return false;
  if (std::is_integral_v<T> && value != std::floor(value)) return false;
  *out = static_cast<T>(value);
  return true;
}

template <typename T>
bool parse_optional(const char* text, std::optional<T>* out, double least, double most) {
  T value{};
  if (!parse_number(text, &value, least, most)) return false;
  *out = value;
  return true;
}

bool parse_switch(const char* text, std::optional<bool>* out) {
  if (std::strcmp(text, "on") != 0 && std::strcmp(text, "off") != 0) return false;
  *out = std::strcmp(text, "on") == 0;
  return true;
}

void list_scenarios() {
  std::fprintf(stderr, "scenarios:\n");
  for (const Scenario& scenario : all_scenarios())
    std::fprintf(stderr, "    %-22s %s\n", scenario.name, scenario.summary);
}

}  // namespace

const char* parse_scenario_option(const std::string& word, const char* value, ScenarioOptions* options) {
  if (word == "--seed") return parse_number(value, &options->seed, 0, 1e15) ? nullptr : "a whole number";
  if (word == "--hosts") return parse_optional(value, &options->hosts, 2, 131072) ? nullptr : "2 to 131072";
  if (word == "--tiers") return parse_optional(value, &options->tiers, 2, 3) ? nullptr : "2 or 3";
  if (word == "--planes") return parse_optional(value, &options->planes, 1, kPlanesMax) ? nullptr : "1 to 16";
  if (word == "--paths") return parse_optional(value, &options->paths, 1, 1024) ? nullptr : "1 to 1024";
  if (word == "--size")
    return parse_optional(value, &options->size, 1, 1u << 30) ? nullptr : "1 to 1073741824 bytes";
  if (word == "--messages")
    return parse_optional(value, &options->messages, 1, 1e6) ? nullptr : "1 to 1000000";
  if (word == "--loss") return parse_optional(value, &options->loss, 0, 1) ? nullptr : "a share, 0 to 1";
  if (word == "--rate") return parse_optional(value, &options->rate, 0.1, 10000) ? nullptr : "0.1 to 10000";
  if (word == "--rtt") return parse_optional(value, &options->rtt, 1, 1e6) ? nullptr : "1 to 1000000";
  if (word == "--trimming") return parse_switch(value, &options->trimming) ? nullptr : "on or off";
  if (word == "--ecn-last-hop") return parse_switch(value, &options->ecn_last_hop) ? nullptr : "on or off";
  if (word == "--srv6") return parse_switch(value, &options->srv6) ? nullptr : "on or off";
  if (word == "--rc") return parse_switch(value, &options->rc) ? nullptr : "on or off";
  if (word == "--controller") {
    options->controller = value;
    for (const char* known : {"none", "nscc", "receiver_aware"})
      if (*options->controller == known) return nullptr;
    return "none, nscc or receiver_aware";
  }
  return kUnknownOption;
}

namespace {

int refuse(const std::string& why) {
  std::fprintf(stderr, "mrc_sim: %s\nusage: %s", why.c_str(), kRunUsage);
  list_scenarios();
  return 2;
}

int run_with(const Scenario& scenario, const ScenarioOptions& options, const SeedRange& seeds, unsigned jobs,
             bool json) {
  try {
    const SeedSummary summary = run_seeds(scenario, options, seeds, jobs);
    std::fputs((json ? to_json(summary) : to_table(summary)).c_str(), stdout);
    return summary.ok() ? 0 : 1;
  } catch (const std::invalid_argument& impossible) {
    return refuse(impossible.what());
  } catch (const std::runtime_error& failed) {
    std::fprintf(stderr, "mrc_sim: %s\n", failed.what());
    return 1;
  }
}

}  // namespace

int run_main(int count, char** words) {
  if (count == 0) return refuse("which scenario?");
  const Scenario* scenario = find_scenario(words[0]);
  if (scenario == nullptr) return refuse(std::string("there is no scenario '") + words[0] + "'");
  ScenarioOptions options;
  SeedRange seeds;
  unsigned jobs = 1;
  bool json = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json") {
      json = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--seeds") {
      if (i + 1 >= count || !parse_seeds(words[++i], &seeds)) return refuse("--seeds should be N or A..B");
    } else if (word == "--jobs") {
      if (i + 1 >= count || !parse_number(words[++i], &jobs, 1, 64))
        return refuse("--jobs should be 1 to 64");
    } else {
      const char* value = i + 1 < count ? words[++i] : "";
      const char* wanted = parse_scenario_option(word, value, &options);
      if (wanted == kUnknownOption) return refuse("there is no option '" + word + "'");
      if (wanted != nullptr) return refuse(word + " '" + value + "': should be " + wanted);
    }
  }
  if (!seeds.empty()) return run_with(*scenario, options, seeds, jobs, json);
  ScenarioResult result;
  try {
    ProgressLine progress("scenario", 1);
    progress.begin(1, scenario->name);
    result = scenario->run(options);
  } catch (const std::invalid_argument& impossible) {
    return refuse(impossible.what());
  }
  result.scenario = scenario->name;
  result.seed = options.seed;
  std::fputs((json ? to_json(result) : to_table(result)).c_str(), stdout);
  return result.ok() ? 0 : 1;
}

}  // namespace mrc::sim
