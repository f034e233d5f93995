// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace mrc::bench {
namespace {

// Three digits that count; what was not measured is a dash.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return value > 0 ? text : "-";
}

std::string wanted(const Row& row) {
  if (row.at_least) return ">= " + number(*row.at_least);
  return row.at_most ? "<= " + number(*row.at_most) : "";
}

std::string reference(const Row& row) {
  return row.reference != nullptr ? number(median(row.reference->seen)) : "";
}

std::string ratio(const Row& row) {
  return row.reference != nullptr ? number(ratio_of(row)) : "";
}

std::string percent(double part) {
  return std::to_string(static_cast<int>(part * 100 + 0.5)) + " %";
}

// Where it was measured: the rest of a number's meaning.
std::string machine() {
  utsname name{};
  uname(&name);
  std::string cpu;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && cpu.empty();)
    if (line.rfind("model name", 0) == 0 && line.find(':') != std::string::npos)
      cpu = line.substr(line.find(':') + 2);
  return std::string(name.machine) + (cpu.empty() ? "" : ", " + cpu) + ", " +
         std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " CPUs";
}

size_t rounds(const std::vector<Row>& rows) {
  return rows.empty() ? 0 : rows.front().ours->seen.size();
}

}  // namespace

void print_table(const std::vector<Row>& rows, double seconds) {
  std::printf("\n%s; medians of %zu rounds, taken in turn; spread: of the ratios of the rounds\n\n",
              machine().c_str(), rounds(rows));
  std::printf("%-22s %-6s %9s %9s  %-22s %6s %7s  %-8s\n", "", "", "ours", "reference", "", "ratio", "spread",
              "wanted");
  for (const Row& row : rows)
    std::printf("%-22s %-6s %9s %9s  %-22s %6s %7s  %-8s %s\n", row.name.c_str(), row.unit.c_str(),
                number(median(row.ours->seen)).c_str(), reference(row).c_str(), row.reference_name.c_str(),
                ratio(row).c_str(), percent(spread_of(row)).c_str(), wanted(row).c_str(),
                as_wanted(row) ? "" : "!");
  std::printf("\n");
  for (const Row& row : rows) {
    std::printf("%-22s %s\n", row.name.c_str(), row.ours->command.c_str());
    if (row.reference != nullptr && !row.reference->command.empty())
      std::printf("%-22s %s\n", "", row.reference->command.c_str());
  }
  std::printf("\n%.0f seconds in all\n", seconds);
}

void print_json(const std::vector<Row>& rows, double seconds) {
  nlohmann::ordered_json all;
  all["machine"] = machine();
  all["rounds"] = rounds(rows);
  all["seconds"] = seconds;
  const auto known = [](double value) { return value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr); };
  for (const Row& row : rows) {
    nlohmann::ordered_json one;
    one["name"] = row.name;
    one["unit"] = row.unit;
    one["ours"] = known(median(row.ours->seen));
    one["command"] = row.ours->command;
    if (row.reference != nullptr) {
      one["reference"] = known(median(row.reference->seen));
      one["reference_name"] = row.reference_name;
      if (!row.reference->command.empty()) one["reference_command"] = row.reference->command;
      one["ratio"] = known(ratio_of(row));
    }
    one["spread"] = spread_of(row);
    if (row.at_least) one["at_least"] = *row.at_least;
    if (row.at_most) one["at_most"] = *row.at_most;
    one["as_wanted"] = as_wanted(row);
    all["rows"].push_back(one);
  }
  std::printf("%s\n", all.dump(2).c_str());
}

void print_markdown(const std::vector<Row>& rows, double seconds) {
  std::printf("%s; medians of %zu rounds, taken in turn, in %.0f seconds.\n\n", machine().c_str(),
              rounds(rows), seconds);
  std::printf(
      "| row | ours | reference | ratio | spread | wanted | command |\n|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const std::string beside =
        row.reference != nullptr ? reference(row) + " " + row.unit + " (" + row.reference_name + ")" : "";
    std::printf("| %s | %s %s | %s | %s | %s | %s%s | `%s` |\n", row.name.c_str(),
                number(median(row.ours->seen)).c_str(), row.unit.c_str(), beside.c_str(), ratio(row).c_str(),
                percent(spread_of(row)).c_str(), wanted(row).c_str(), as_wanted(row) ? "" : ", not reached",
                row.ours->command.c_str());
  }
}

}  // namespace mrc::bench
