// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "examples/report/measure.h"

namespace mrc::lab {
namespace {

// What stands behind the first `key` and its sign in a file of such lines.
std::string value_in(const char* file, const std::string& key, char sign) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    const size_t at = line.find(sign);
    if (line.rfind(key, 0) != 0 || at == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const size_t end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end + 1 - begin);
  }
  return {};
}

// ARM's have numbers instead of names.
std::string processor() {
  constexpr const char* kFile = "/proc/cpuinfo";
  if (std::string name = value_in(kFile, "model name", ':'); !name.empty()) return name;
  const std::string part = value_in(kFile, "CPU part", ':');
  return part.empty() ? "" : "implementer " + value_in(kFile, "CPU implementer", ':') + ", part " + part;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  utsname system{};
  if (::uname(&system) == 0) {
    machine.kernel = system.release;
    machine.architecture = system.machine;
  }
  machine.system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  machine.processor = processor();
  machine.cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  machine.memory_gib = std::strtod(value_in("/proc/meminfo", "MemTotal", ':').c_str(), nullptr) / (1 << 20);
  if (::getloadavg(&machine.load, 1) != 1) machine.load = -1;
  return machine;
}

std::string load_text(const Machine& machine) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", machine.load);
  return machine.load < 0 ? "unknown" : text;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Machine& machine) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"system", machine.system},
      {"kernel", "Linux " + machine.kernel + ", " + machine.architecture},
      {"CPUs", std::to_string(machine.cpus)},
  };
  if (!machine.processor.empty()) facts.back().second += ", " + machine.processor;
  facts.emplace_back("memory", report::format_value(machine.memory_gib) + " GiB");
  facts.emplace_back("load average before", load_text(machine));
  return facts;
}

}  // namespace mrc::lab
