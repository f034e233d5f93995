// SPDX-License-Identifier: BSD-2-Clause
// mrc_lab: multi-plane SRv6 fabrics on one machine, to run verbs programs over and to break under them.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/lab/experiment.h"
#include "examples/lab/fault.h"
#include "examples/lab/lifetime.h"
#include "examples/lab/rpc.h"
#include "examples/lab/show.h"
#include "examples/lab/state.h"
#include "examples/terminal/program_words.h"

namespace mrc::lab {
namespace {

constexpr const char* kUsage =
    R"(usage: mrc_lab [--lab NAME] COMMAND ...
       mrc_lab --help | --version

  up [--hosts N] [--planes P] [--leaves L] [--spines S] [--mtu BYTES] [--foreground]
                             builds a fabric; L leaves and S spines in each plane
  exec NODE -- COMMAND...    runs a program in a host (h1, h2, ...), where it finds the device mrc0, or in a switch
                             (p1l1, p1s1, ...). Hosts know each other by name
  fault [--wait] STEP[, STEP...]   breaks and mends: see below. --wait: returns when the last step is done
  status [--json | --all]    what there is, what is broken, what was counted; --all: every link
  experiment NAME|all [--json] [--output DIR | --docs DIR] [--html FILE]
                             measures what faults do to throughput, in a lab of its own: tables and
                             plots, with --html all of them on one page
  down                       ends the lab and every program in it

A STEP is: [at TIME | after TIME] TARGET FAULT
)";

std::string usage() {
  return std::string(kUsage) + kFaultHelp;
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "mrc_lab: %s; mrc_lab --help shows how it is used\n", why.c_str());
  std::exit(kCalledWrongly);
}

uint32_t number(const std::string& option, const char* text) {
  char* end = nullptr;
  const unsigned long value = text == nullptr ? 0 : std::strtoul(text, &end, 10);
  if (text == nullptr || *text < '0' || *text > '9' || *end != '\0' || value > UINT32_MAX)
    refuse(option + " wants a number");
  return static_cast<uint32_t>(value);
}

int up(const State& state, char** words) {
  Shape shape;
  bool foreground = false;
  for (; *words != nullptr; ++words) {
    const std::string option = *words;
    uint32_t* const field = option == "--hosts"    ? &shape.hosts
                            : option == "--planes" ? &shape.planes
                            : option == "--leaves" ? &shape.leaves
                            : option == "--spines" ? &shape.spines
                            : option == "--mtu"    ? &shape.mtu
                                                   : nullptr;
    if (option == "--foreground") {
      foreground = true;
    } else if (field != nullptr) {
      *field = number(option, words[1]);
      ++words;
    } else {
      refuse("up does not know \"" + option + "\"");
    }
  }
  if (const std::string problem = shape.problem(); !problem.empty()) refuse(problem);
  return bring_up(state, shape, foreground);
}

int exec(const State& state, char** words) {
  if (words[0] == nullptr) refuse("exec wants the name of a host or switch");
  char** command = words + 1;
  if (*command != nullptr && std::strcmp(*command, "--") == 0) ++command;
  if (*command == nullptr) refuse("exec wants a command");
  return run_inside(state, words[0], command);
}

int fault(const State& state, char** words) {
  nlohmann::json question = {{"command", "fault"}, {"words", nlohmann::json::array()}};
  bool wait = false;
  for (; *words != nullptr; ++words) {
    if (std::strcmp(*words, "--wait") == 0)
      wait = true;
    else
      question["words"].push_back(*words);
  }
  nlohmann::json answer;
  std::string error;
  bool done = ask(state, question, &answer, nullptr, &error);
  while (done && wait && answer.value("pending", 0) > 0) {
    ::usleep(10'000);
    done = ask(state, {{"command", "status"}}, &answer, nullptr, &error);
  }
  if (!done) std::fprintf(stderr, "mrc_lab: %s\n", error.c_str());
  return done ? 0 : 1;
}

int status(const State& state, char** words) {
  const std::string option = *words == nullptr ? "" : *words;
  if (!option.empty() && option != "--json" && option != "--all")
    refuse("status does not know \"" + option + "\"");
  if (!option.empty() && words[1] != nullptr)
    refuse(std::string("status does not know \"") + words[1] + "\"");
  return show_status(state, option == "--json", option == "--all");
}

int run(char** words) {
  std::string lab = "lab";
  if (*words != nullptr && std::strcmp(*words, "--lab") == 0) {
    if (words[1] == nullptr || !State::valid_name(words[1]))
      refuse("--lab wants a name of letters, digits, - and _, at most 24");
    lab = words[1];
    words += 2;
  }
  if (*words == nullptr) {
    std::fputs(usage().c_str(), stderr);
    return kCalledWrongly;
  }
  const std::string command = *words++;
  if (answer_word("mrc_lab", usage(), command == "help" ? "--help" : command)) return 0;
  // Further words may be those of a program in the lab.
  if (*words != nullptr && answer_word("mrc_lab", usage(), *words)) return 0;
  const State state(lab);
  if (command == "up") return up(state, words);
  if (command == "exec") return exec(state, words);
  if (command == "fault") return fault(state, words);
  if (command == "status") return status(state, words);
  if (command == "down" && *words != nullptr) refuse(std::string("down does not know \"") + *words + "\"");
  if (command == "down") return take_down(state);
  if (command == "experiment") return run_experiments(words);
  refuse("there is no command \"" + command + "\"");
}

}  // namespace
}  // namespace mrc::lab

int main(int, char** arguments) {
  return mrc::lab::run(arguments + 1);
}
