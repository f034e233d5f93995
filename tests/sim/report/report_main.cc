// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/report_main.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "examples/terminal/progress_line.h"
#include "tests/sim/report/html.h"
#include "tests/sim/report/json.h"
#include "tests/sim/report/run_main.h"
#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

const char* const kReportUsage =
    "mrc_sim report [--out DIR] [--quick] [--seed N] [SCENARIO...]\n"
    "    writes DIR/report.html and DIR/SCENARIO.json (DIR: mrc_report)\n";

namespace {

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "mrc_sim: cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
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
  std::vector<TimedResult> results;
  bool ok = true;
  ProgressLine progress("scenario", chosen.size());
  for (const Scenario* scenario : chosen) {
    progress.begin(results.size() + 1, scenario->name);
    const auto started = std::chrono::steady_clock::now();
    TimedResult timed;
    timed.result = scenario->run(options);
    timed.result.scenario = scenario->name;
    timed.result.seed = options.seed;
    timed.summary = scenario->summary;
    timed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    ok &= timed.result.ok();
    progress.hide();
    std::printf("%-22s %6.1f s  %s\n", scenario->name, timed.seconds, timed.result.ok() ? "ok" : "MISSED");
    std::fflush(stdout);
    if (!write_file(out / (std::string(scenario->name) + ".json"), to_json(timed.result))) return 1;
    results.push_back(std::move(timed));
  }
  if (!write_file(out / "report.html", to_html(results))) return 1;
  std::printf("%s\n", (out / "report.html").c_str());
  return ok ? 0 : 1;
}

}  // namespace mrc::sim
