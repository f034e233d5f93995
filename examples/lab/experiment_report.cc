// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/experiment_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace mrc::lab {
namespace {

using report::format_target;
using report::format_value;

std::string verdict(const Row& row) {
  return !row.target ? "" : row.ok() ? "ok" : "NOT OK";
}

std::string with_unit(const Row& row) {
  return row.unit.empty() ? format_value(row.value) : format_value(row.value) + " " + row.unit;
}

}  // namespace

bool all_ok(const Result& result) {
  return result.trouble.empty() && !result.rows.empty() &&
         std::all_of(result.rows.begin(), result.rows.end(), [](const Row& row) { return row.ok(); });
}

std::string table(const Experiment& experiment, const Result& result) {
  std::string out = experiment.name + ": " + experiment.title + "\n";
  if (!result.trouble.empty()) return out + "  could not be done: " + result.trouble + "\n";
  char line[256];
  for (const Row& row : result.rows) {
    std::snprintf(line, sizeof line, "  %-62s %12s  %-9s %s\n", row.name.c_str(), with_unit(row).c_str(),
                  format_target(row).c_str(), verdict(row).c_str());
    out += line;
  }
  return out;
}

std::string json_line(const Experiment& experiment, const Result& result) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : result.rows) {
    nlohmann::ordered_json one = {{"name", row.name}, {"value", row.value}};
    one["target"] = row.target ? nlohmann::ordered_json(*row.target) : nlohmann::ordered_json(nullptr);
    one["ok"] = row.ok();
    rows.push_back(std::move(one));
  }
  // What could not be done is not a success with nothing to tell.
  if (!result.trouble.empty())
    rows.push_back(
        {{"name", "could not be done: " + result.trouble}, {"value", 0}, {"target", 1}, {"ok", false}});
  return nlohmann::ordered_json{{"experiment", experiment.name}, {"rows", std::move(rows)}}.dump();
}

std::string markdown(const Experiment& experiment, const Result& result, const std::string& picture) {
  std::string out = "\n## " + experiment.title + "\n\n`mrc_lab experiment " + experiment.name + "`. " +
                    experiment.description + "\n\n";
  if (!result.trouble.empty()) return out + "It could not be done: " + result.trouble + "\n";
  out += "![" + experiment.title + "](" + picture + ")\n\n| | value | target | |\n|---|---|---|---|\n";
  for (const Row& row : result.rows)
    out +=
        "| " + row.name + " | " + with_unit(row) + " | " + format_target(row) + " | " + verdict(row) + " |\n";
  return out;
}

std::string markdown_head(const Machine& machine) {
  return std::string("# Experiments\n\nWritten by `build/bin/mrc_lab experiment all --docs docs` on Linux ") +
         machine.kernel + ", " + machine.architecture + ", " + std::to_string(machine.cpus) +
         " CPUs. Load average before: " + load_text(machine) +
         ", so much of what those CPUs had to do was not ours.\n\nDebian's unmodified `ib_write_bw` (64 KiB "
         "messages) runs over fabrics of "
         "[mrc_lab](lab.md); the "
         "throughput is what the receiver's device placed\nin memory. The links down to the hosts are "
         "limited so far that "
         "they are the bottleneck and not the CPUs, on which hosts and switches run\ntogether. A second "
         "round of each "
         "fault moves data with `write_check`, which compares every byte.\n";
}

report::Section section(const Experiment& experiment, const Result& result, double seconds) {
  return {.name = experiment.name,
          .title = experiment.title,
          .summary = experiment.description,
          .command = "mrc_lab experiment " + experiment.name,
          .seconds = seconds,
          .rows = result.rows,
          .plots = {result.plot},
          .trouble = result.trouble};
}

report::Page page(const Machine& machine) {
  return {
      "Soft-MRC in the lab",
      "Debian's unmodified ib_write_bw (64 KiB messages) runs over multi-plane SRv6 fabrics of mrc_lab while "
      "something breaks. The throughput is what the receiver's device placed in memory. The links down to "
      "the "
      "hosts are limited so far that they are the bottleneck and not the CPUs, on which hosts and switches "
      "run together; where the row \"before, of what the links carry\" is not near 1, programs waited for a "
      "CPU and the other rows say little. A second round of each fault moves data with write_check, which "
      "compares every byte.",
      facts_of(machine),
      {}};
}

}  // namespace mrc::lab
