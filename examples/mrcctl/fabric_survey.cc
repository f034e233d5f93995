// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/fabric_survey.h"

#include <time.h>

#include <algorithm>

namespace mrc {
namespace {

// Who shares CPUs with others answers late now and then; what is lost costs this for every round.
constexpr Nanoseconds kPatienceLeast = 60 * kMillisecond;
constexpr Nanoseconds kPatienceMost = 400 * kMillisecond;
constexpr uint64_t kRoundTrips = 8;
constexpr uint32_t kFirstLook = 8;  // a route that loses all of these is silent
constexpr uint32_t kEachRound = 4;
constexpr uint32_t kEachOfFew = 32;
constexpr uint32_t kLossyFactor = 4;

Nanoseconds clock_of_survey() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * kSecond + static_cast<Nanoseconds>(now.tv_nsec);
}

}  // namespace

FabricSurvey::FabricSurvey(OpenDevice& device, const SurveyOrder& order)
    : device_(device), order_(order), patience_(kPatienceMost) {
  const auto own = own_address(device);
  const auto& srv6 = device.settings().network.srv6;
  if (!own || !srv6) return;
  const auto place = own_place(device.settings().network, *own);
  if (!place) return;
  for (const FabricRoute& route : routes_from_here(device.settings().network, *place))
    routes_.push_back({route, {*own, *own, route.plane, address_of(srv6->shape.block, route), 0}, 0, 0});
}

int FabricSurvey::run() {
  const Nanoseconds start = clock_of_survey();
  const Nanoseconds end = start + order_.time;
  const auto all = [](const Surveyed&) { return true; };
  const auto whole = [](const Surveyed& route) { return !route.lossy(); };
  const auto silent = [](const Surveyed& route) { return route.silent(); };
  const auto lossy = [](const Surveyed& route) { return route.lossy() && !route.silent(); };
  // Rounds in which nothing is lost are short: those that lose something wait for the end.
  const Nanoseconds middle = start + order_.time / 2;
  if (const int error = ask_until(all, kFirstLook, kEachRound, middle); error != 0) return error;
  if (const int error = ask_until(whole, order_.count, kEachRound, middle); error != 0) return error;
  if (const int error = ask_until(silent, 3 * kFirstLook, kFirstLook, end); error != 0) return error;
  return ask_until(lossy, kLossyFactor * order_.count, kEachOfFew, end);
}

int FabricSurvey::ask_until(bool (*wanted)(const Surveyed&), uint32_t count, uint32_t each,
                            Nanoseconds until) {
  for (bool first = true; first || clock_of_survey() + patience_ < until; first = false) {
    std::vector<Surveyed*> which;
    for (Surveyed& route : routes_)
      if (route.sent < count && wanted(route)) which.push_back(&route);
    if (which.empty()) return 0;
    // As many as are asked at a time: each such round may cost all our patience.
    const auto room = static_cast<uint32_t>(kWaysAtATime / which.size());
    if (const int error = ask(which, std::clamp(room, 1u, each)); error != 0) return error;
  }
  return 0;
}

int FabricSurvey::ask(const std::vector<Surveyed*>& which, uint32_t each) {
  std::vector<ProbeWay> ways;
  ways.reserve(which.size() * each);
  // In turn, so that those of one link are not a burst on it.
  for (uint32_t i = 0; i < each; ++i)
    for (const Surveyed* route : which) ways.push_back(route->way);
  std::vector<std::optional<Nanoseconds>> answers;
  if (const int error = ask_ways(device_, ways, patience_, &answers); error != 0) return error;
  Nanoseconds slowest = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    Surveyed& route = *which[i % which.size()];
    ++route.sent;
    if (!answers[i]) continue;
    ++route.answered;
    slowest = std::max(slowest, *answers[i]);
  }
  if (slowest > 0) patience_ = std::clamp(kRoundTrips * slowest, kPatienceLeast, kPatienceMost);
  return 0;
}

std::vector<RouteResult> FabricSurvey::results() const {
  std::vector<RouteResult> all;
  all.reserve(routes_.size());
  for (const Surveyed& route : routes_) all.push_back({route.route.nodes, route.sent, route.answered});
  return all;
}

}  // namespace mrc
