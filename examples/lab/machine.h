// SPDX-License-Identifier: BSD-2-Clause
// The machine that experiments run on, as far as their numbers depend on it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mrc::lab {

struct Machine {
  std::string system;  // of the distribution
  std::string kernel;
  std::string architecture;
  std::string processor;  // empty: it does not say
  long cpus = 0;
  double memory_gib = 0;
  double load = 0;  // of the last minute: numbers of a busy machine say little
};

// As it is now.
Machine this_machine();
std::string load_text(const Machine& machine);
// For a table.
std::vector<std::pair<std::string, std::string>> facts_of(const Machine& machine);

}  // namespace mrc::lab
