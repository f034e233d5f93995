// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/experiment_timeline.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace mrc::lab {
namespace {

constexpr double kSampleSeconds = 0.05;
constexpr double kPlotSeconds = 0.2;  // a point of the curve: the published plots have this too
constexpr double kStretchSeconds = 0.5;

// Bytes at a moment, between the samples around it.
double total_at(const std::vector<Point>& totals, double seconds) {
  if (totals.empty()) return 0;
  const auto after = std::lower_bound(totals.begin(), totals.end(), seconds,
                                      [](const Point& point, double at) { return point.seconds < at; });
  if (after == totals.begin()) return after->value;
  if (after == totals.end()) return totals.back().value;
  const Point& before = *(after - 1);
  const double share = (seconds - before.seconds) / (after->seconds - before.seconds);
  return before.value + (after->value - before.value) * share;
}

double rate(const std::vector<Point>& totals, double from, double to) {
  return to <= from ? 0 : (total_at(totals, to) - total_at(totals, from)) * 8e-9 / (to - from);
}

}  // namespace

Timeline::Timeline(ExperimentLab* lab, const std::vector<Watched>& watched)
    : lab_(lab), start_(bench::seconds_now()) {
  for (const Watched& what : watched)
    sources_.push_back(
        {what,
         std::make_unique<StatsPages>(lab->state().run_directory(what.host), StatsPages::Show::kAny),
         0,
         {}});
}

double Timeline::now() const {
  return bench::seconds_now() - start_;
}

uint64_t Timeline::total(Source* source) {
  uint64_t sum = 0;
  for (const ProcessStats& stats : source->pages->read())
    sum += source->what.sent ? stats.payload_bytes_sent : stats.payload_bytes_placed;
  // A process that ends takes its numbers along.
  source->bytes = std::max(source->bytes, sum);
  return source->bytes;
}

void Timeline::sample() {
  for (Source& source : sources_) source.totals.push_back({now(), static_cast<double>(total(&source))});
}

void Timeline::watch(double seconds) {
  const double end = now() + seconds;
  while (now() < end) {
    sample();
    ::usleep(static_cast<useconds_t>(std::min(kSampleSeconds, std::max(0.0, end - now())) * 1e6));
  }
  sample();
}

bool Timeline::wait_for_traffic(double seconds_max) {
  const double end = now() + seconds_max;
  std::vector<uint64_t> first;
  for (Source& source : sources_) first.push_back(total(&source));
  const auto all_move = [&] {
    for (size_t i = 0; i < sources_.size(); ++i)
      if (total(&sources_[i]) <= first[i] + (1 << 20)) return false;
    return true;
  };
  while (!all_move()) {
    if (now() > end) return false;
    ::usleep(20'000);
  }
  return true;
}

void Timeline::fault(const std::string& steps, const std::string& label) {
  sample();
  mark(label);
  lab_->fault(steps);
}

double Timeline::mean(size_t curve, double from, double to) const {
  return rate(sources_[curve].totals, from, to);
}

double Timeline::time_to_reach(size_t curve, double since, double level) const {
  const std::vector<Point>& totals = sources_[curve].totals;
  if (totals.empty()) return -1;
  for (double at = since; at + kStretchSeconds <= totals.back().seconds; at += kSampleSeconds)
    if (rate(totals, at, at + kStretchSeconds) >= level) return at - since;
  return -1;
}

void Timeline::put_into(Result* result) const {
  for (const Source& source : sources_) {
    report::Series curve{source.what.name, {}};
    const double end = source.totals.empty() ? 0 : source.totals.back().seconds;
    const double begin = source.totals.empty() ? 0 : source.totals.front().seconds;
    for (double at = begin; at + kPlotSeconds <= end; at += kPlotSeconds)
      curve.points.emplace_back(at + kPlotSeconds / 2, rate(source.totals, at, at + kPlotSeconds));
    result->plot.series.push_back(std::move(curve));
  }
  result->plot.marks = marks_;
}

}  // namespace mrc::lab
