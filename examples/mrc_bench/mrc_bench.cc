// SPDX-License-Identifier: BSD-2-Clause
// mrc_bench: how much of what the bare ports can do is left when verbs and the transport stand on top of
// them. Both are measured in the same run, in turn, because machines have slow minutes; medians and ratios
// count.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "examples/mrc_bench/bare.h"
#include "examples/mrc_bench/perftest.h"
#include "examples/shared/child_process.h"
#include "examples/terminal/program_words.h"

namespace mrc::bench {
namespace {

struct Options {
  bool json = false;
  bool bare_only = false;
  double seconds = 2;
  int rounds = 5;
  double budget_seconds = 1e9;  // nothing is begun that would probably end later
};

struct Row {
  const char* name;
  const char* unit;
  const char* what;  // for the table
  std::function<double()> ours;
  std::function<double()> reference;
  std::vector<double> ours_seen;
  std::vector<double> reference_seen;
};

double median(std::vector<double> values) {
  std::erase(values, 0.0);  // failed runs
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<size_t>(bytes)) : "mrc_bench";
}

// The CPUs that this process may use; at least one.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::string count_for(double seconds, double per_second) {
  return std::to_string(std::max(1000L, static_cast<long>(seconds * per_second)));
}

std::vector<Row> make_rows(const Options& options) {
  constexpr size_t kBandwidthAverage = 3;
  constexpr size_t kTypicalLatency = 4;
  const std::string program = own_path();
  const std::string mrcrun = program.substr(0, program.rfind('/') + 1) + "mrcrun";
  const std::vector<int> cpus = allowed_cpus();
  const double limit = options.seconds * 20 + 6;
  const PerftestRun write_bw{mrcrun,
                             {"ib_write_bw", "--report_gbits", "-n", count_for(options.seconds, 20'000)},
                             kBandwidthAverage,
                             "65536",
                             -1,
                             limit};
  PerftestRun write_lat{
      mrcrun, {"ib_write_lat", "-n", count_for(options.seconds, 50'000)}, kTypicalLatency, "8", -1, limit};
  PerftestRun write_lat_one = write_lat;
  write_lat_one.cpu = cpus.front();
  // perftest, too, writes the same 64 KiB again and again.
  const BareRun stream{program, options.seconds, 64 << 10};
  const BareRun cold_stream{program, options.seconds, 64 << 20};
  const BareRun ping{program, options.seconds, 0, cpus.front(), cpus.back()};
  const BareRun ping_one{program, options.seconds, 0, cpus.front(), cpus.front()};
  std::vector<Row> rows = {
      {"write_bw_64k",
       "Gb/s",
       "ib_write_bw -s 65536, against a copied stream of 4 KiB frames",
       [=] { return run_perftest(write_bw); },
       [=] { return bare_gigabits(stream); },
       {},
       {}},
      {"write_lat_8",
       "us",
       "ib_write_lat -s 8, against half a round trip of a 64 B frame",
       [=] { return run_perftest(write_lat); },
       [=] { return bare_half_round_trip_us(ping); },
       {},
       {}},
      {"write_lat_8_one_cpu",
       "us",
       "the same with both processes on one CPU",
       [=] { return run_perftest(write_lat_one); },
       [=] { return bare_half_round_trip_us(ping_one); },
       {},
       {}},
  };
  if (options.bare_only)
    rows.push_back({"bare_bw_64m",
                    "Gb/s",
                    "a copied stream out of and into 64 MiB",
                    {},
                    [=] { return bare_gigabits(cold_stream); },
                    {},
                    {}});
  return rows;
}

void measure(const Options& options, std::vector<Row>* rows) {
  const double start = seconds_now();
  double longest = 0;
  for (int round = 0; round < options.rounds; ++round) {
    for (Row& row : *rows) {
      const double begun = seconds_now();
      if (begun - start + longest > options.budget_seconds) return;
      row.reference_seen.push_back(row.reference());
      if (!options.bare_only) row.ours_seen.push_back(row.ours());
      longest = std::max(longest, seconds_now() - begun);
      if (!options.json) std::fputc('.', stderr);
    }
  }
}

// Numbers that were not measured are null.
std::string number(double value, const char* missing) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return value > 0 ? text : missing;
}

double ratio(const Row& row) {
  const double reference = median(row.reference_seen);
  return reference > 0 ? median(row.ours_seen) / reference : 0;
}

void print_json(const std::vector<Row>& rows) {
  std::printf("{\"rows\":[");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    std::printf("%s{\"name\":\"%s\",\"unit\":\"%s\",\"ours\":%s,\"reference\":%s,\"ratio\":%s}",
                i > 0 ? "," : "", row.name, row.unit, number(median(row.ours_seen), "null").c_str(),
                number(median(row.reference_seen), "null").c_str(), number(ratio(row), "null").c_str());
  }
  std::printf("]}\n");
}

void print_table(const Options& options, const std::vector<Row>& rows) {
  std::printf("\nmedian of %d rounds, in turn\n\n%-20s %5s %10s %10s %7s   %s\n", options.rounds, "", "",
              "ours", "bare port", "ratio", "what");
  for (const Row& row : rows)
    std::printf("%-20s %5s %10s %10s %7s   %s\n", row.name, row.unit,
                number(median(row.ours_seen), "-").c_str(), number(median(row.reference_seen), "-").c_str(),
                number(ratio(row), "-").c_str(), row.what);
}

constexpr char kUsage[] =
    "usage: mrc_bench [--quick] [--bare] [--json] [--seconds N]\n"
    "       mrc_bench --help | --version\n"
    "  --quick      shorter: three rounds, less than 40 s in all\n"
    "  --bare       only the bare ports, without verbs and perftest\n"
    "  --json       the result as JSON\n"
    "  --seconds N  of measuring, for each number\n";

}  // namespace
}  // namespace mrc::bench

int main(int count, char** words) {
  using namespace mrc::bench;
  if (is_bare_role(count, words)) return run_bare_role(count, words);
  if (mrc::answer_words("mrc_bench", kUsage, count, words)) return 0;
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--quick") {
      options.seconds = 0.3;
      options.rounds = 3;
      options.budget_seconds = 36;
    } else if (word == "--bare") {
      options.bare_only = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--seconds" && i + 1 < count && std::atof(words[i + 1]) > 0) {
      options.seconds = std::atof(words[++i]);
    } else {
      return mrc::refuse_word("mrc_bench", word);
    }
  }
  std::vector<Row> rows = make_rows(options);
  measure(options, &rows);
  if (options.json)
    print_json(rows);
  else
    print_table(options, rows);
  for (const Row& row : rows)
    if (median(row.reference_seen) == 0 || (!options.bare_only && median(row.ours_seen) == 0)) return 1;
  return 0;
}
