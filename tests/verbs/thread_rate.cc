// SPDX-License-Identifier: BSD-2-Clause
// A benchmark: how much threads move that have nothing in common but the device. Each makes a completion
// queue and queue pairs that are connected to themselves, and writes.
//
//   thread_rate [--threads 1,2] [--size 65536] [--qps 1] [--seconds 1] [--rounds 5] [--device mrc0]
//
// Takes the counts of --threads in turn, and prints medians.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/shared/self_writer.h"
#include "examples/shared/verbs_peer.h"

namespace {

using verbs_test::fail;

double number(int argc, char** argv, const char* name, double otherwise) {
  const char* text = verbs_test::option(argc, argv, name);
  return text != nullptr ? std::atof(text) : otherwise;
}

std::vector<size_t> counts(const char* text) {
  std::vector<size_t> result;
  for (char* next = nullptr; *text != '\0'; text = *next == ',' ? next + 1 : next) {
    result.push_back(std::strtoull(text, &next, 10));
    if (next == text || result.back() == 0) fail("--threads: numbers, with commas between them");
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = verbs_test::option(argc, argv, "--device");
  const char* threads = verbs_test::option(argc, argv, "--threads");
  const auto bytes = static_cast<size_t>(number(argc, argv, "--size", 65536));
  const auto pairs = static_cast<size_t>(number(argc, argv, "--qps", 1));
  const double seconds = number(argc, argv, "--seconds", 1);
  const auto rounds = static_cast<size_t>(number(argc, argv, "--rounds", 5));
  const std::vector<size_t> wanted = counts(threads != nullptr ? threads : "1,2");
  if (bytes == 0 || pairs == 0 || rounds == 0 || seconds <= 0) fail("all numbers must be above 0");
  const mrc::bench::OpenDevice device(name != nullptr ? name : "mrc0");
  std::vector<std::vector<double>> rates(wanted.size());
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < wanted.size(); ++i)
      rates[i].push_back(mrc::bench::measure_threads(device, wanted[i], bytes, pairs, seconds));
  std::printf("%8s %12s %10s %8s\n", "threads", "messages/s", "MiB/s", "ratio");
  std::vector<double> medians;
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::sort(rates[i].begin(), rates[i].end());
    medians.push_back(rates[i][rounds / 2]);
    std::printf("%8zu %12.0f %10.0f %8.2f\n", wanted[i], medians[i],
                medians[i] * static_cast<double>(bytes) / (1 << 20), medians[i] / medians[0]);
  }
  return 0;
}
