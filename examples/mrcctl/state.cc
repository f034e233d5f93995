// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/state.h"

#include <cstdio>

#include "examples/shared/process_state.h"
#include "examples/shared/stats_pages.h"

namespace mrc {
namespace {

bool show(const std::string& run_directory, const ProcessStats& process) {
  std::printf("process %u (%s), slot %u, device %s\n", process.pid, process.command.c_str(), process.slot,
              process.device.c_str());
  std::string text;
  const bool told = ask_for_state(run_directory, process.slot, StateForm::kWords, &text);
  if (!told)
    text =
        "  does not answer: it has ended or is stopped, or a thread of it has kept the device to itself for "
        "seconds\n";
  std::fputs(text.c_str(), stdout);
  return told;
}

}  // namespace

int show_state(const std::string& run_directory) {
  bool all = true;
  const auto processes = StatsPages(run_directory).read();
  for (const ProcessStats& process : processes) all = show(run_directory, process) && all;
  if (processes.empty()) std::printf("no program uses the device now\n");
  return all ? 0 : 1;
}

}  // namespace mrc
