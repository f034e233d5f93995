// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/scenarios/run_main.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libmrc/wire/identifiers.h"
#include "tests/sim/report/json.h"

namespace mrc::sim {

const char* const kRunUsage =
    "mrc_sim run SCENARIO [--json] [--quick] [options]\n"
    "    options: --seed N --hosts N --planes N --paths N (per plane) --size BYTES --messages N --loss "
    "SHARE\n"
    "             --rate GBPS (per plane) --rtt US --controller none|nscc|receiver_aware\n"
    "             --trimming on|off --ecn-last-hop on|off --srv6 on|off\n";

namespace {

template <typename T>
bool parse_number(const char* text, T* out, double least) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != 0 || value < least) return false;
  *out = static_cast<T>(value);
  return true;
}

template <typename T>
bool parse_optional(const char* text, std::optional<T>* out, double least) {
  T value{};
  if (!parse_number(text, &value, least)) return false;
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

bool parse_scenario_option(const std::string& word, const char* value, ScenarioOptions* options) {
  if (word == "--seed") return parse_number(value, &options->seed, 0);
  if (word == "--hosts") return parse_optional(value, &options->hosts, 2);
  if (word == "--planes") return parse_optional(value, &options->planes, 1) && *options->planes <= kPlanesMax;
  if (word == "--paths") return parse_optional(value, &options->paths, 1);
  if (word == "--size") return parse_optional(value, &options->size, 1);
  if (word == "--messages") return parse_optional(value, &options->messages, 1);
  if (word == "--loss") return parse_optional(value, &options->loss, 0) && *options->loss <= 1;
  if (word == "--rate") return parse_optional(value, &options->rate, 0.001);
  if (word == "--rtt") return parse_optional(value, &options->rtt, 0.1);
  if (word == "--trimming") return parse_switch(value, &options->trimming);
  if (word == "--ecn-last-hop") return parse_switch(value, &options->ecn_last_hop);
  if (word == "--srv6") return parse_switch(value, &options->srv6);
  if (word == "--controller") {
    options->controller = value;
    return *options->controller == "none" || *options->controller == "nscc" ||
           *options->controller == "receiver_aware";
  }
  return false;
}

int run_main(int count, char** words) {
  const Scenario* scenario = count > 0 ? find_scenario(words[0]) : nullptr;
  ScenarioOptions options;
  bool json = false;
  bool good = scenario != nullptr;
  for (int i = 1; good && i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json") {
      json = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else {
      good = i + 1 < count && parse_scenario_option(word, words[i + 1], &options);
      ++i;
    }
  }
  if (!good) {
    std::fprintf(stderr, "usage: %s", kRunUsage);
    list_scenarios();
    return 2;
  }
  ScenarioResult result = scenario->run(options);
  result.scenario = scenario->name;
  result.seed = options.seed;
  std::fputs((json ? to_json(result) : to_table(result)).c_str(), stdout);
  return result.ok() ? 0 : 1;
}

}  // namespace mrc::sim
