// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/seed_runs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sstream>
#include <stdexcept>
#include <string>

#include "examples/terminal/progress_line.h"

namespace mrc::sim {

namespace {

// What a child says: a row per line, its parts with a tab between them, and the end; or why it refuses.
constexpr const char* kEnd = "end";
constexpr const char* kRefused = "refused";

std::string to_lines(const ScenarioResult& result) {
  std::string out;
  for (const Row& row : result.rows) {
    char numbers[120];  // hexadecimal, so that nothing is rounded
    std::snprintf(numbers, sizeof numbers, "%a\t%d\t%a\t%d", row.value, row.target ? 1 : 0,
                  row.target.value_or(0), row.at_least ? 1 : 0);
    out += row.name + "\t" + row.unit + "\t" + row.published + "\t" + numbers + "\n";
  }
  return out + kEnd + "\n";
}

Row row_of(const std::string& line) {
  std::istringstream parts(line);
  const auto next = [&parts] {
    std::string part;
    std::getline(parts, part, '\t');
    return part;
  };
  Row row;
  row.name = next();
  row.unit = next();
  row.published = next();
  row.value = std::strtod(next().c_str(), nullptr);
  const bool has_target = next() == "1";
  const double target = std::strtod(next().c_str(), nullptr);
  if (has_target) row.target = target;
  row.at_least = next() == "1";
  return row;
}

void write_all(int to, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(to, text.data() + done, text.size() - done);
    if (written <= 0) _exit(1);
    done += static_cast<size_t>(written);
  }
}

[[noreturn]] void run_in_child(const Scenario& scenario, const ScenarioOptions& options, int to) {
  try {
    write_all(to, to_lines(scenario.run(options)));
  } catch (const std::invalid_argument& impossible) {
    write_all(to, std::string(kRefused) + "\t" + impossible.what() + "\n");
  }
  _exit(0);
}

struct Child {
  uint64_t seed;
  pid_t process;
  int from;
};

Child start(const Scenario& scenario, ScenarioOptions options, uint64_t seed) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  options.seed = seed;
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (process == 0) {
    close(ends[0]);
    run_in_child(scenario, options, ends[1]);
  }
  close(ends[1]);
  return {seed, process, ends[0]};
}

// All that it says.
std::string wait_for(const Child& child) {
  std::string said;
  char part[4096];
  for (ssize_t got; (got = read(child.from, part, sizeof part)) > 0;)
    said.append(part, static_cast<size_t>(got));
  close(child.from);
  waitpid(child.process, nullptr, 0);
  return said;
}

void add(SeedSummary* summary, uint64_t seed, const std::string& said) {
  ScenarioResult result;
  result.scenario = summary->scenario;
  result.seed = seed;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line == kEnd) return summary->add(result);
    if (line.rfind(kRefused, 0) == 0) throw std::invalid_argument(line.substr(std::strlen(kRefused) + 1));
    result.rows.push_back(row_of(line));
  }
  summary->add_crash(seed);
}

}  // namespace

SeedSummary run_seeds(const Scenario& scenario, const ScenarioOptions& options, const SeedRange& seeds,
                      unsigned jobs) {
  SeedSummary summary;
  summary.scenario = scenario.name;
  std::deque<Child> running;
  ProgressLine progress("seed", seeds.count());
  uint64_t next = seeds.first;
  for (uint64_t i = 0; i < seeds.count(); ++i) {
    for (; running.size() < jobs && next - seeds.first < seeds.count(); ++next)
      running.push_back(start(scenario, options, next));
    progress.begin(i + 1, scenario.name);
    const Child oldest = running.front();
    running.pop_front();
    add(&summary, oldest.seed, wait_for(oldest));
  }
  return summary;
}

}  // namespace mrc::sim
