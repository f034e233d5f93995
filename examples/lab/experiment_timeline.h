// SPDX-License-Identifier: BSD-2-Clause
// Watches throughput from the statistics pages of the hosts' processes while faults come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/lab/experiment.h"
#include "examples/lab/experiment_lab.h"
#include "examples/shared/stats_pages.h"

namespace mrc::lab {

// A total at a moment.
struct Point {
  double seconds;
  double value;
};

// What a host has received or sent.
struct Watched {
  std::string name;
  std::string host;
  bool sent = false;  // else: received
};

class Timeline {
 public:
  Timeline(ExperimentLab* lab, const std::vector<Watched>& watched);

  // Watches for so long.
  void watch(double seconds);
  // Waits until every watched host moves data, so that no start-up is measured. False: one does not.
  bool wait_for_traffic(double seconds_max);
  // Breaks or mends something now; `label` appears in the plot.
  void fault(const std::string& steps, const std::string& label);
  void mark(const std::string& label) { marks_.push_back({now(), label}); }

  double now() const;
  // Mean of a curve, in Gb/s.
  double mean(size_t curve, double from, double to) const;
  // Seconds from `since` until a stretch of half a second has at least `level`; -1: never.
  double time_to_reach(size_t curve, double since, double level) const;
  void put_into(Result* result) const;

 private:
  struct Source {
    Watched what;
    std::unique_ptr<StatsPages> pages;
    uint64_t bytes = 0;
    std::vector<Point> totals;  // bytes over time
  };
  void sample();
  static uint64_t total(Source* source);

  ExperimentLab* lab_;
  double start_;
  std::vector<Source> sources_;
  std::vector<report::Mark> marks_;
};

}  // namespace mrc::lab
