// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/experiment_report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace mrc::lab {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value == static_cast<int>(value) ? "%.0f" : "%.3f", value);
  return text;
}

std::string target(const Row& row) {
  return row.target ? (row.at_most ? "<= " : ">= ") + number(*row.target) : "";
}

std::string verdict(const Row& row) {
  return !row.target ? "" : row.ok() ? "ok" : "NOT OK";
}

std::string with_unit(const Row& row) {
  return row.unit.empty() ? number(row.value) : number(row.value) + " " + row.unit;
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
                  target(row).c_str(), verdict(row).c_str());
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
    out += "| " + row.name + " | " + with_unit(row) + " | " + target(row) + " | " + verdict(row) + " |\n";
  return out;
}

// Of the last minute: numbers of a busy machine say little.
std::string load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? number(load) : "unknown";
}

std::string markdown_head() {
  utsname system{};
  ::uname(&system);
  return std::string("# Experiments\n\nWritten by `build/bin/mrc_lab experiment all --docs docs` on Linux ") +
         system.release + ", " + system.machine + ", " + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) +
         " CPUs. Load average before: " + load_average() +
         ", so much of what those CPUs had to do was not ours.\n\nDebian's unmodified `ib_write_bw` (64 KiB "
         "messages) runs over fabrics of "
         "[mrc_lab](lab.md); the "
         "throughput is what the receiver's device placed\nin memory. The links down to the hosts are "
         "limited so far that "
         "they are the bottleneck and not the CPUs, on which hosts and switches run\ntogether. A second "
         "round of each "
         "fault moves data with `write_check`, which compares every byte.\n";
}

}  // namespace mrc::lab
