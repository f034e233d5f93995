// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/seed_summary.h"

#include <algorithm>
#include <cstdio>

#include "tests/sim/report/json.h"

namespace mrc::sim {

namespace {

std::vector<double> sorted(const std::map<uint64_t, double>& values) {
  std::vector<double> all;
  for (const auto& [seed, value] : values) all.push_back(value);
  std::sort(all.begin(), all.end());
  return all;
}

std::string list(const std::vector<uint64_t>& seeds, const char* between) {
  std::string out;
  for (const uint64_t seed : seeds) out += (out.empty() ? "" : between) + std::to_string(seed);
  return out;
}

std::string json_list(const std::vector<uint64_t>& seeds) {
  return "[" + list(seeds, ",") + "]";
}

std::string json_values(const SeedSummary& summary, const SummaryRow& row) {
  std::string out;
  for (const uint64_t seed : summary.seeds) {
    const auto found = row.values.find(seed);
    out += out.empty() ? "[" : ",";
    out += found == row.values.end() ? "null" : json_number(found->second);
  }
  return out + "]";
}

}  // namespace

double SummaryRow::least() const {
  return sorted(values).front();
}

double SummaryRow::most() const {
  return sorted(values).back();
}

double SummaryRow::median() const {
  const std::vector<double> all = sorted(values);
  const size_t middle = all.size() / 2;
  return all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

double SummaryRow::mean() const {
  double sum = 0;
  for (const auto& [seed, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void SeedSummary::add(const ScenarioResult& result) {
  scenario = result.scenario;
  seeds.push_back(result.seed);
  for (const Row& row : result.rows) {
    auto at = std::find_if(rows.begin(), rows.end(),
                           [&](const SummaryRow& known) { return known.row.name == row.name; });
    if (at == rows.end()) at = rows.insert(at, SummaryRow{row, {}, {}});
    at->values[result.seed] = row.value;
    if (!row.ok()) at->missed.push_back(result.seed);
  }
}

void SeedSummary::add_crash(uint64_t seed) {
  seeds.push_back(seed);
  crashed.push_back(seed);
}

bool SeedSummary::ok() const {
  return crashed.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const SummaryRow& row) { return row.missed.empty(); });
}

std::string to_json(const SeedSummary& summary) {
  std::string out = "{\"scenario\":" + json_text(summary.scenario) +
                    ",\"seeds\":" + json_list(summary.seeds) + ",\"crashed\":" + json_list(summary.crashed) +
                    ",\"ok\":" + (summary.ok() ? "true" : "false") + ",\"rows\":[";
  bool first = true;
  for (const SummaryRow& each : summary.rows) {
    out += first ? "\n" : ",\n";
    first = false;
    out += "{\"name\":" + json_text(each.row.name);
    if (!each.row.unit.empty()) out += ",\"unit\":" + json_text(each.row.unit);
    out += ",\"least\":" + json_number(each.least()) + ",\"median\":" + json_number(each.median()) +
           ",\"mean\":" + json_number(each.mean()) + ",\"most\":" + json_number(each.most()) +
           json_target(each.row) + ",\"missed\":" + json_list(each.missed) +
           ",\"values\":" + json_values(summary, each) +
           ",\"ok\":" + (each.missed.empty() ? "true" : "false") + "}";
  }
  return out + "]}\n";
}

std::string to_table(const SeedSummary& summary) {
  size_t width = 10;
  for (const SummaryRow& each : summary.rows) width = std::max(width, each.row.name.size());
  const int names = static_cast<int>(width);
  char line[400];
  std::snprintf(line, sizeof line, "%s (%zu seeds, %s to %s)\n  %-*s %12s %12s %12s %12s\n",
                summary.scenario.c_str(), summary.seeds.size(), std::to_string(summary.seeds.front()).c_str(),
                std::to_string(summary.seeds.back()).c_str(), names, "", "least", "median", "mean", "most");
  std::string out = line;
  for (const SummaryRow& each : summary.rows) {
    std::snprintf(line, sizeof line, "  %-*s %12s %12s %12s %12s %-5s %-12s", names, each.row.name.c_str(),
                  report::format_value(each.least()).c_str(), report::format_value(each.median()).c_str(),
                  report::format_value(each.mean()).c_str(), report::format_value(each.most()).c_str(),
                  each.row.unit.c_str(), report::format_target(each.row).c_str());
    out += line;
    if (!each.missed.empty())
      out += " MISSED by " + list(each.missed, ", ");
    else if (each.row.target)
      out += " ok";
    if (each.values.size() < summary.seeds.size())
      out += " (in " + std::to_string(each.values.size()) + " seeds)";
    if (!each.row.published.empty()) out += " published: " + each.row.published;
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  if (!summary.crashed.empty())
    out += "  did not come to an end: seeds " + list(summary.crashed, ", ") + "\n";
  return out;
}

}  // namespace mrc::sim
