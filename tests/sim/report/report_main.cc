// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/report_main.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "examples/report/page.h"
#include "examples/terminal/progress_line.h"
#include "tests/sim/report/json.h"
#include "tests/sim/report/run_main.h"
#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

const char* const kReportUsage =
    "mrc_sim report [--out DIR] [--quick] [--seed N] [SCENARIO...]\n"
    "    writes DIR/report.html and DIR/SCENARIO.json (DIR: mrc_report)\n";

namespace {

constexpr const char* kIntroduction =
    "The shipped engine, unchanged, in a simulated network. Every number comes back with the command below "
    "it "
    "and the same seed.";

report::Section section_of(const Scenario& scenario, const ScenarioResult& result, double seconds) {
  return {.name = scenario.name,
          .title = scenario.name,
          .summary = scenario.summary,
          .command = std::string("mrc_sim run ") + scenario.name + " --seed " + std::to_string(result.seed),
          .seconds = seconds,
          .rows = result.rows,
          .plots = result.plots};
}

}  // namespace

int report_main(int count, char** words) {
  std::filesystem::path out = "mrc_report";
  ScenarioOptions options;
  std::vector<const Scenario*> chosen;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--out" && i + 1 < count) {
      out = words[++i];
    } else if (word == "--seed" && i + 1 < count) {
      const char* wanted = parse_scenario_option(word, words[++i], &options);
      if (wanted != nullptr) {
        std::fprintf(stderr, "mrc_sim: --seed '%s': should be %s\n", words[i], wanted);
        return 2;
      }
    } else if (const Scenario* scenario = find_scenario(word); scenario != nullptr) {
      chosen.push_back(scenario);
    } else {
      std::fprintf(stderr, "mrc_sim: there is no option or scenario '%s'\nusage: %s", words[i], kReportUsage);
      return 2;
    }
  }
  if (chosen.empty())
    for (const Scenario& scenario : all_scenarios()) chosen.push_back(&scenario);
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) {
    std::fprintf(stderr, "mrc_sim: cannot make the folder %s: %s\n", out.c_str(), error.message().c_str());
    return 1;
  }
  report::Page page{"Soft-MRC in simulation", kIntroduction, {}, {}};
  bool ok = true;
  ProgressLine progress("scenario", chosen.size());
  for (const Scenario* scenario : chosen) {
    progress.begin(page.sections.size() + 1, scenario->name);
    const auto started = std::chrono::steady_clock::now();
    ScenarioResult result = scenario->run(options);
    result.scenario = scenario->name;
    result.seed = options.seed;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    ok &= result.ok();
    progress.hide();
    std::printf("%-22s %6.1f s  %s\n", scenario->name, seconds, result.ok() ? "ok" : "MISSED");
    std::fflush(stdout);
    if (!report::write_text("mrc_sim", out / (result.scenario + ".json"), to_json(result))) return 1;
    page.sections.push_back(section_of(*scenario, result, seconds));
  }
  if (!report::write_text("mrc_sim", out / "report.html", report::to_html(page))) return 1;
  std::printf("%s\n", (out / "report.html").c_str());
  return ok ? 0 : 1;
}

}  // namespace mrc::sim
