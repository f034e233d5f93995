// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/state.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "examples/shared/process_state.h"
#include "examples/shared/stats_pages.h"

namespace mrc {
namespace {

constexpr char kSilent[] =
    "does not answer: it has ended or is stopped, or a thread of it has kept the device to itself for "
    "seconds";

bool show_words(const std::string& run_directory, const ProcessStats& process) {
  std::printf("process %u (%s), slot %u, device %s\n", process.pid, process.command.c_str(), process.slot,
              process.device.c_str());
  std::string text;
  const bool told = ask_for_state(run_directory, process.slot, StateForm::kWords, &text);
  std::fputs(told ? text.c_str() : (std::string("  ") + kSilent + "\n").c_str(), stdout);
  return told;
}

// Who it is, and as "queue_pairs" and so on what it says of itself. False: it says nothing, and "error" tells
// why.
bool ask(const std::string& run_directory, const ProcessStats& process, nlohmann::ordered_json* answer) {
  *answer = {
      {"pid", process.pid}, {"command", process.command}, {"slot", process.slot}, {"device", process.device}};
  std::string text;
  if (ask_for_state(run_directory, process.slot, StateForm::kJson, &text)) {
    const auto said = nlohmann::ordered_json::parse(text, nullptr, false);
    if (said.is_object()) {
      answer->update(said);
      return true;
    }
  }
  (*answer)["error"] = kSilent;
  return false;
}

// Of all programs. False: not all have answered.
bool ask_all(const std::string& run_directory, nlohmann::ordered_json* answers) {
  *answers = nlohmann::ordered_json::array();
  bool all = true;
  for (const ProcessStats& process : StatsPages(run_directory).read()) {
    nlohmann::ordered_json one;
    all = ask(run_directory, process, &one) && all;
    answers->push_back(one);
  }
  return all;
}

// Every path with the queue pair and the process it belongs to.
nlohmann::ordered_json paths_of(const nlohmann::ordered_json& processes) {
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  for (const auto& process : processes) {
    if (!process.contains("queue_pairs")) continue;
    for (const auto& pair : process["queue_pairs"]) {
      if (!pair.contains("evs")) continue;
      for (const auto& ev : pair["evs"]) {
        nlohmann::ordered_json path = {
            {"pid", process["pid"]}, {"device", process["device"]}, {"qpn", pair["qpn"]}};
        path.update(ev);
        paths.push_back(path);
      }
    }
  }
  return paths;
}

void print_paths(const nlohmann::ordered_json& paths) {
  std::printf("%8s %-6s %8s %5s %10s %-12s %6s %10s %8s %9s\n", "PID", "DEVICE", "QPN", "PLANE", "EV",
              "STATE", "IN USE", "SENT", "LOST", "RTT us");
  for (const auto& path : paths)
    std::printf("%8u %-6s 0x%06x %5u 0x%08x %-12s %6s %10u %8u %9.1f\n", path["pid"].get<unsigned>(),
                path["device"].get<std::string>().c_str(), path["qpn"].get<unsigned>(),
                path["plane"].get<unsigned>(), path["ev"].get<unsigned>(),
                path["state"].get<std::string>().c_str(), path["in_use"].get<bool>() ? "yes" : "no",
                path["sent"].get<unsigned>(), path["lost"].get<unsigned>(),
                path["rtt_ns"].get<double>() / 1000);
}

}  // namespace

int show_state(const std::string& run_directory, bool json) {
  if (json) {
    nlohmann::ordered_json answers;
    const bool all = ask_all(run_directory, &answers);
    std::printf("%s\n", nlohmann::ordered_json{{"processes", answers}}.dump(2).c_str());
    return all ? 0 : 1;
  }
  bool all = true;
  const auto processes = StatsPages(run_directory).read();
  for (const ProcessStats& process : processes) all = show_words(run_directory, process) && all;
  if (processes.empty()) std::printf("no program uses the device now\n");
  return all ? 0 : 1;
}

int show_paths(const std::string& run_directory, bool json) {
  nlohmann::ordered_json answers;
  const bool all = ask_all(run_directory, &answers);
  const nlohmann::ordered_json paths = paths_of(answers);
  if (json)
    std::printf("%s\n", nlohmann::ordered_json{{"paths", paths}}.dump(2).c_str());
  else if (paths.empty())
    std::printf("no MRC queue pair is connected now\n");
  else
    print_paths(paths);
  return all ? 0 : 1;
}

}  // namespace mrc
