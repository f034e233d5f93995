// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/html.h"

#include <cmath>

#include "tests/sim/report/json.h"
#include "tests/sim/report/svg.h"

namespace mrc::sim {

namespace {

constexpr const char* kHead =
    "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Soft-MRC in "
    "simulation</title>\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#222}\n"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid #ddd}\n"
    "table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.15rem .7rem;text-align:left;"
    "border-bottom:1px solid #eee}td.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".ok{color:#1d7a3a}.missed{color:#b3261e;font-weight:600}figure{margin:1rem "
    "0}figcaption{font-weight:600}\n"
    "svg text{font-size:11px;fill:#444}svg .grid{stroke:#e4e4e4}svg .middle{text-anchor:middle}"
    "svg .right{text-anchor:end}.legend{font-size:13px}.note{color:#666}\n"
    "</style></head><body>\n";

std::string cell(const std::string& text, const char* kind = nullptr) {
  return std::string("<td") + (kind != nullptr ? std::string(" class='") + kind + "'" : "") + ">" + text +
         "</td>";
}

std::string row_of(const Row& row, const std::string& first) {
  const std::string target =
      row.target ? (row.at_least ? "&ge; " : "&le; ") + format_value(*row.target) : std::string();
  std::string out = "<tr>" + first + cell(escape(row.name)) + cell(format_value(row.value), "n");
  out += cell(escape(row.unit)) + cell(target);
  if (!row.target) return out + cell("") + "</tr>\n";
  return out + (row.ok() ? cell("ok", "ok") : cell("missed", "missed")) + "</tr>\n";
}

std::string targets(const std::vector<TimedResult>& results) {
  std::string out =
      "<table><tr><th>scenario</th><th>measure</th><th>value</th><th></th><th>target</th><th></th></tr>\n";
  for (const TimedResult& timed : results) {
    const std::string link = "<a href='#" + timed.result.scenario + "'>" + timed.result.scenario + "</a>";
    for (const Row& row : timed.result.rows)
      if (row.target) out += row_of(row, cell(link));
  }
  return out + "</table>\n";
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string to_html(const std::vector<TimedResult>& results) {
  std::string out = kHead;
  out +=
      "<h1>Soft-MRC in simulation</h1>\n<p>The shipped engine, unchanged, in a simulated network. Every "
      "number "
      "comes back with the command below it and the same seed.</p>\n<h2>Targets</h2>\n";
  out += targets(results);
  for (const TimedResult& timed : results) {
    const ScenarioResult& result = timed.result;
    out += "<h2 id='" + result.scenario + "'>" + result.scenario + "</h2>\n<p>" + escape(timed.summary) +
           "</p>\n";
    out += "<p class='note'><code>mrc_sim run " + result.scenario + " --seed " + std::to_string(result.seed) +
           "</code>, " + format_value(std::round(timed.seconds * 10) / 10) + " s</p>\n";
    for (const Plot& plot : result.plots) out += to_svg(plot);
    out += "<details><summary>all " + std::to_string(result.rows.size()) + " values</summary><table>\n";
    for (const Row& row : result.rows) out += row_of(row, "");
    out += "</table></details>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace mrc::sim
