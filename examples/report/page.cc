// SPDX-License-Identifier: BSD-2-Clause
#include "examples/report/page.h"

#include <cstdio>
#include <fstream>

#include "examples/report/svg.h"

namespace mrc::report {

namespace {

constexpr const char* kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#222}\n"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid #ddd}\n"
    "table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.15rem .7rem;text-align:left;"
    "border-bottom:1px solid #eee}td.n,th.n{text-align:right}td.n{font-variant-numeric:tabular-nums}\n"
    "td.t{white-space:nowrap}.ok{color:#1d7a3a}.missed{color:#b3261e;font-weight:600}.note{color:#666}\n"
    "figure{margin:1rem 0}svg{max-width:100%;height:auto}summary{cursor:pointer}\n";

// So many rows are shown at once; more are folded.
constexpr size_t kShownRows = 20;

std::string cell(const std::string& text, const char* kind = nullptr) {
  return std::string("<td") + (kind != nullptr ? std::string(" class='") + kind + "'" : "") + ">" + text +
         "</td>";
}

std::string row_of(const Row& row, const std::string& first) {
  std::string out = "<tr>" + first + cell(escape(row.name)) + cell(format_value(row.value), "n");
  out += cell(escape(row.unit)) + cell(escape(format_target(row)), "t");
  out += !row.target ? cell("") : row.ok() ? cell("ok", "ok") : cell("missed", "missed");
  if (!row.published.empty()) out += cell(escape(row.published), "note");
  return out + "</tr>\n";
}

std::string targets(const std::vector<Section>& sections) {
  size_t all = 0;
  size_t met = 0;
  for (const Section& section : sections) {
    for (const Row& row : section.rows) {
      all += row.target ? 1 : 0;
      met += row.target && row.ok() ? 1 : 0;
    }
  }
  std::string out =
      "<h2>Targets</h2>\n<p>" + std::to_string(met) + " of " + std::to_string(all) + " are met.</p>\n";
  out +=
      "<table><tr><th>experiment</th><th>measure</th><th class='n'>value</th><th></th>"
      "<th>target</th><th></th></tr>\n";
  for (const Section& section : sections) {
    const std::string link = cell("<a href='#" + section.name + "'>" + section.name + "</a>", "t");
    if (!section.trouble.empty())
      out +=
          "<tr>" + link + cell("could not be done", "missed") + "<td></td><td></td><td></td><td></td></tr>\n";
    for (const Row& row : section.rows)
      if (row.target) out += row_of(row, link);
  }
  return out + "</table>\n";
}

std::string facts(const Page& page) {
  if (page.facts.empty()) return {};
  std::string out = "<h2>The machine</h2>\n<table>\n";
  for (const auto& [name, value] : page.facts)
    out += "<tr>" + cell(escape(name)) + cell(escape(value)) + "</tr>\n";
  return out + "</table>\n";
}

std::string to_html(const Section& section) {
  std::string out = "<h2 id='" + section.name + "'>" + escape(section.title) + "</h2>\n<p>" +
                    escape(section.summary) + "</p>\n";
  char took[40];
  std::snprintf(took, sizeof took, "%.1f s", section.seconds);
  out += "<p class='note'><code>" + escape(section.command) + "</code>, " + took + "</p>\n";
  if (!section.trouble.empty())
    return out + "<p class='missed'>It could not be done: " + escape(section.trouble) + "</p>\n";
  for (const Plot& plot : section.plots) out += "<figure>" + to_svg(plot) + "</figure>\n";
  const bool shown = section.rows.size() <= kShownRows;
  out += std::string(shown ? "<details open>" : "<details>") + "<summary>all " +
         std::to_string(section.rows.size()) + " values</summary><table>\n";
  for (const Row& row : section.rows) out += row_of(row, "");
  return out + "</table></details>\n";
}

}  // namespace

std::string to_html(const Page& page) {
  std::string out = "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>";
  out += "<meta name='viewport' content='width=device-width'><title>" + escape(page.title) +
         "</title>\n<style>\n" + kStyle + "</style></head><body>\n";
  out += "<h1>" + escape(page.title) + "</h1>\n<p>" + escape(page.introduction) + "</p>\n";
  out += facts(page) + targets(page.sections);
  for (const Section& section : page.sections) out += to_html(section);
  return out + "</body></html>\n";
}

bool write_text(const char* program, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "%s: cannot write %s\n", program, path.c_str());
  return static_cast<bool>(file);
}

}  // namespace mrc::report
