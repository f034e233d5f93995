// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/fabric_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace mrc {
namespace {

// How far from what is to be expected a count may be by chance, in standard deviations; further where what is
// expected was itself counted.
constexpr double kChance = 3;
constexpr double kChanceOfEstimates = 4.5;
// A route that loses more than this by links that are known to be bad tells little about its other links.
constexpr double kTellsSurvival = 0.5;

struct Route {
  std::map<FabricLink, int> links;  // how often each is passed
  double sent = 0;
  double answered = 0;
};

class Judge {
 public:
  Judge(const std::vector<RouteResult>& results, double tolerated) : tolerated_(tolerated) {
    for (const RouteResult& result : results) {
      if (result.sent == 0) continue;
      Route route;
      if (!result.nodes.empty()) hosts_.insert(result.nodes.front());
      for (size_t i = 0; i + 1 < result.nodes.size(); ++i)
        ++route.links[FabricLink::between(result.nodes[i], result.nodes[i + 1])];
      route.sent = result.sent;
      route.answered = result.answered;
      routes_.push_back(std::move(route));
    }
  }

  FabricVerdict judge() {
    for (;;) {
      look_for_good_links();
      const std::optional<FabricLink> worst = most_suspicious();
      if (!worst) break;
      survival_[*worst] = survival_of(*worst);
    }
    FabricVerdict verdict;
    for (const auto& [link, survival] : survival_) verdict.bad.push_back({link, 1 - survival});
    verdict.good = good_;
    for (const Route& route : routes_)
      for (const auto& [link, times] : route.links)
        if (!good_.contains(link) && !survival_.contains(link)) verdict.unknown.insert(link);
    name_switches(&verdict);
    return verdict;
  }

 private:
  // Which part of the probes should come back, as far as bad links are known.
  double expected(const Route& route) const {
    double part = 1;
    for (const auto& [link, times] : route.links)
      if (const auto bad = survival_.find(link); bad != survival_.end()) part *= std::pow(bad->second, times);
    return part;
  }

  bool loses_more(const Route& route) const { return loses_more(route, expected(route)); }
  // More than what is tolerated, if this part of its probes should come back.
  bool loses_more(const Route& route, double part) const {
    const double loss = 1 - part * (1 - tolerated_);
    const double chance = part < 1 ? kChanceOfEstimates : kChance;
    return route.sent - route.answered >
           route.sent * loss + chance * std::sqrt(route.sent * loss * (1 - loss)) + 1;
  }

  void look_for_good_links() {
    good_.clear();
    for (const Route& route : routes_) {
      if (loses_more(route) || expected(route) < kTellsSurvival) continue;
      for (const auto& [link, times] : route.links)
        if (!survival_.contains(link)) good_.insert(link);
    }
  }

  std::optional<FabricLink> most_suspicious() const {
    std::map<FabricLink, int> explains;
    for (const Route& route : routes_) {
      if (!loses_more(route)) continue;
      for (const auto& [link, times] : route.links)
        if (!good_.contains(link) && !survival_.contains(link)) ++explains[link];
    }
    if (explains.empty()) return std::nullopt;
    return std::max_element(explains.begin(), explains.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  // Of one passage, as its routes say; but not those that further bad links make much worse than the best.
  double survival_of(const FabricLink& link) const {
    double best = 0;
    for (const Route& route : routes_) best = std::max(best, survival_of(link, route).value_or(0));
    double sum = 0;
    double probes = 0;
    for (const Route& route : routes_) {
      const auto here = survival_of(link, route);
      if (!here || loses_more(route, expected(route) * std::pow(best, route.links.at(link)))) continue;
      sum += *here * route.sent;
      probes += route.sent;
    }
    return probes > 0 ? sum / probes : 0;
  }

  std::optional<double> survival_of(const FabricLink& link, const Route& route) const {
    const auto found = route.links.find(link);
    if (found == route.links.end() || expected(route) <= 0 || !loses_more(route)) return std::nullopt;
    const double part = std::min(1.0, route.answered / route.sent / expected(route));
    return std::pow(part, 1.0 / found->second);
  }

  static bool is_at(const FabricLink& link, uint16_t node) { return link.one == node || link.other == node; }

  void name_switches(FabricVerdict* verdict) const {
    std::set<uint16_t> nodes;
    for (const BadLink& bad : verdict->bad) nodes.insert({bad.link.one, bad.link.other});
    for (const uint16_t node : nodes) {
      if (hosts_.contains(node)) continue;
      const auto here = [node](const FabricLink& link) { return is_at(link, node); };
      const auto bad_here = [&](const BadLink& bad) { return bad.link.other != 0 && here(bad.link); };
      if (std::any_of(good_.begin(), good_.end(), here)) continue;
      if (std::count_if(verdict->bad.begin(), verdict->bad.end(), bad_here) < 2) continue;
      double least = 1;
      for (const BadLink& bad : verdict->bad)
        if (bad_here(bad)) least = std::min(least, bad.loss);
      std::erase_if(verdict->bad, bad_here);
      verdict->bad.push_back({{node, 0}, least});
    }
  }

  const double tolerated_;
  std::vector<Route> routes_;
  std::map<FabricLink, double> survival_;  // of those that are bad
  std::set<FabricLink> good_;
  std::set<uint16_t> hosts_;  // where routes begin
};

}  // namespace

FabricVerdict judge_fabric(const std::vector<RouteResult>& results, double tolerated) {
  return Judge(results, tolerated).judge();
}

}  // namespace mrc
