// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mrc::sim {

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string json_target(const Row& row) {
  std::string out = ",\"target\":" + (row.target ? json_number(*row.target) : "null");
  if (row.target) out += std::string(",\"bound\":") + (row.at_least ? "\"at_least\"" : "\"at_most\"");
  if (!row.published.empty()) out += ",\"published\":" + json_text(row.published);
  return out;
}

std::string to_json(const ScenarioResult& result) {
  std::string out = "{\"scenario\":" + json_text(result.scenario) +
                    ",\"seed\":" + std::to_string(result.seed) +
                    ",\"ok\":" + (result.ok() ? "true" : "false") + ",\"rows\":[";
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const Row& row = result.rows[i];
    out += i == 0 ? "\n" : ",\n";
    out += "{\"name\":" + json_text(row.name) + ",\"value\":" + json_number(row.value);
    if (!row.unit.empty()) out += ",\"unit\":" + json_text(row.unit);
    out += json_target(row) + ",\"ok\":" + (row.ok() ? "true" : "false") + "}";
  }
  return out + "]}\n";
}

std::string to_table(const ScenarioResult& result) {
  size_t width = 10;
  for (const Row& row : result.rows) width = std::max(width, row.name.size());
  std::string out = result.scenario + " (seed " + std::to_string(result.seed) + ")\n";
  for (const Row& row : result.rows) {
    char line[300];
    std::snprintf(line, sizeof line, "  %-*s %14s %-5s %-12s %-6s", static_cast<int>(width), row.name.c_str(),
                  report::format_value(row.value).c_str(), row.unit.c_str(),
                  report::format_target(row).c_str(),
                  !row.target ? ""
                  : row.ok()  ? "ok"
                              : "MISSED");
    out += line;
    if (!row.published.empty()) out += " published: " + row.published;
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  return out;
}

}  // namespace mrc::sim
