// SPDX-License-Identifier: BSD-2-Clause
// mrcctl map without a fabric: its routes, what it makes of lost probes, names and files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>

#include "examples/mrcctl/fabric_names.h"
#include "examples/mrcctl/fabric_routes.h"
#include "examples/mrcctl/fabric_verdict.h"
#include "examples/mrcctl/map_report.h"
#include "libmrc/path/usid_plan.h"
#include "libmrc/wire/srv6.h"
#include "tests/unit/golden/seed.h"

namespace mrc {
namespace {

constexpr uint32_t kPlanes = 4;
constexpr uint32_t kLeaves = 4;
constexpr uint32_t kSpines = 4;
constexpr double kTolerated = 0.01;

uint16_t leaf(Plane plane, uint8_t index) {
  return UsidPlan{}.usid(UsidKind::kLeaf, plane, index);
}
uint16_t spine(Plane plane, uint8_t index) {
  return UsidPlan{}.usid(UsidKind::kSpine, plane, index);
}

// Host `host` on leaf `host`; there is one on each.
DeviceConfig host_settings(uint8_t host) {
  DeviceConfig settings;
  Srv6Config& srv6 = settings.network.srv6.emplace();
  srv6.shape.block = 0xFCBBBBBB;
  srv6.shape.spines = kSpines;
  srv6.place = FabricPlace{host, host};
  for (uint32_t plane = 0; plane < kPlanes; ++plane) {
    PortConfig port;
    port.plane = static_cast<Plane>(plane);
    port.backend = PortBackend::kAfPacket;
    settings.network.ports.push_back(port);
  }
  for (uint8_t other = 0; other < kLeaves; ++other) {
    HostConfig config;
    config.leaf = config.host = other;
    settings.network.hosts.push_back(config);
  }
  return settings;
}

// A fabric whose links lose probes at random.
class Losses {
 public:
  std::map<FabricLink, double> links;  // of one passage

  std::vector<RouteResult> survey(uint8_t host, uint32_t count, double background = 0) {
    std::vector<RouteResult> results;
    for (const FabricRoute& route : routes_from_here(host_settings(host).network, {host, host})) {
      double survival = 1 - background;
      for (size_t i = 0; i + 1 < route.nodes.size(); ++i)
        if (const auto found = links.find(FabricLink::between(route.nodes[i], route.nodes[i + 1]));
            found != links.end())
          survival *= 1 - found->second;
      std::binomial_distribution<uint32_t> answered(count, survival);
      results.push_back({route.nodes, count, answered(random_)});
    }
    return results;
  }

 private:
  std::mt19937_64 random_ = golden::seeded_random();
};

std::vector<FabricLink> named(const FabricVerdict& verdict) {
  std::vector<FabricLink> links;
  for (const BadLink& bad : verdict.bad) links.push_back(bad.link);
  std::sort(links.begin(), links.end());
  return links;
}

TEST(FabricRoutes, GoToEveryLeafAndSpineAndBack) {
  const auto routes = routes_from_here(host_settings(1).network, {1, 1});
  ASSERT_EQ(routes.size(), kPlanes * (1 + kSpines * kLeaves));
  EXPECT_EQ(routes[0].nodes, (std::vector<uint16_t>{0x9001, 0x2001, 0x9001}));
  EXPECT_EQ(routes[1].nodes, (std::vector<uint16_t>{0x9001, 0x2001, 0x1000, 0x2001, 0x9001}));
  EXPECT_EQ(routes[2].nodes, (std::vector<uint16_t>{0x9001, 0x2001, 0x1000, 0x2000, 0x1000, 0x2001, 0x9001}));
  EXPECT_EQ(
      address_of(0xFCBBBBBB, routes[2]),
      make_usid_address(0xFCBBBBBB, std::vector<uint16_t>{0x2001, 0x1000, 0x2000, 0x1000, 0x2001, 0x9001}));
  EXPECT_TRUE(routes_from_here(NetworkConfig{}, {1, 1}).empty());
  EXPECT_EQ(own_place(host_settings(3).network, {}), (FabricPlace{3, 3}));
}

// Of three tiers: the own pod, and the cores above it.
TEST(FabricRoutes, GoToTheCoresAbovePods) {
  NetworkConfig network = host_settings(2).network;
  network.srv6->shape.leaves_per_pod = 2;
  network.srv6->shape.cores_per_spine = 2;
  const auto routes = routes_from_here(network, {2, 2});
  ASSERT_EQ(routes.size(), kPlanes * (1 + kSpines * (1 + 1 + 2)));
  EXPECT_EQ(routes[1].nodes, (std::vector<uint16_t>{0x9002, 0x2002, 0x1004, 0x2002, 0x9002}));
  EXPECT_EQ(routes[2].nodes, (std::vector<uint16_t>{0x9002, 0x2002, 0x1004, 0x2003, 0x1004, 0x2002, 0x9002}));
  EXPECT_EQ(routes[4].nodes, (std::vector<uint16_t>{0x9002, 0x2002, 0x1004, 0x3001, 0x1004, 0x2002, 0x9002}));
}

TEST(FabricVerdict, AHealthyFabricHasNothingBad) {
  Losses losses;
  const FabricVerdict verdict = judge_fabric(losses.survey(0, 100, 0.002), kTolerated);
  EXPECT_TRUE(verdict.bad.empty());
  EXPECT_TRUE(verdict.unknown.empty());
  EXPECT_EQ(verdict.good.size(), kPlanes * (1 + kSpines * kLeaves));
}

TEST(FabricVerdict, ThreeBadLinksAreNamedAndNothingElse) {
  Losses losses;
  const FabricLink cut = FabricLink::between(leaf(0, 0), spine(0, 1));
  const FabricLink lossy = FabricLink::between(leaf(1, 2), spine(1, 3));
  const FabricLink hole = FabricLink::between(leaf(3, 1), spine(3, 0));
  losses.links = {{cut, 1}, {lossy, 0.05}, {hole, 1}};
  const FabricVerdict verdict = judge_fabric(losses.survey(0, 400), kTolerated);
  std::vector<FabricLink> wanted = {cut, lossy, hole};
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(named(verdict), wanted);
  EXPECT_EQ(verdict.unknown.size(), kLeaves - 1) << "those of the spine behind the cut";
  for (const BadLink& bad : verdict.bad) EXPECT_NEAR(bad.loss, losses.links[bad.link], 0.05);
}

// One behind the other, which loses only some: that is seen all the same.
TEST(FabricVerdict, ADeadLinkBehindALossyOneIsFound) {
  Losses losses;
  const FabricLink lossy = FabricLink::between(leaf(0, 0), spine(0, 1));
  const FabricLink hole = FabricLink::between(leaf(0, 2), spine(0, 1));
  losses.links = {{lossy, 0.1}, {hole, 1}};
  const auto found = named(judge_fabric(losses.survey(0, 400), kTolerated));
  EXPECT_EQ(found, (std::vector<FabricLink>{std::min(lossy, hole), std::max(lossy, hole)}));
}

TEST(FabricVerdict, ABadLinkOfTheHostIsNotTakenForAllOthers) {
  Losses losses;
  const FabricLink own = FabricLink::between(UsidPlan{}.usid(UsidKind::kHost, 2, 0), leaf(2, 0));
  for (const double loss : {0.05, 1.0}) {
    losses.links = {{own, loss}};
    EXPECT_EQ(named(judge_fabric(losses.survey(0, 400), kTolerated)), std::vector<FabricLink>{own}) << loss;
  }
}

TEST(FabricVerdict, SwitchesAreNamedWhereAllTheirLinksAreBad) {
  Losses losses;
  for (uint8_t i = 0; i < kSpines; ++i) losses.links[FabricLink::between(leaf(1, 2), spine(1, i))] = 1;
  EXPECT_EQ(named(judge_fabric(losses.survey(0, 100), kTolerated)),
            (std::vector<FabricLink>{{leaf(1, 2), 0}}));
}

TEST(FabricVerdict, SeveralHostsSeeWhatOneCannot) {
  Losses losses;
  // A dead spine: host 0 sees its own link to it and nothing behind.
  for (uint8_t i = 0; i < kLeaves; ++i) losses.links[FabricLink::between(leaf(0, i), spine(0, 2))] = 1;
  std::vector<RouteResult> results = losses.survey(0, 100);
  EXPECT_EQ(named(judge_fabric(results, kTolerated)),
            std::vector<FabricLink>{FabricLink::between(leaf(0, 0), spine(0, 2))});
  for (uint8_t host = 1; host < kLeaves; ++host)
    for (const RouteResult& result : losses.survey(host, 100)) results.push_back(result);
  EXPECT_EQ(named(judge_fabric(results, kTolerated)), (std::vector<FabricLink>{{spine(0, 2), 0}}));
}

TEST(FabricNames, AreReadAndWritten) {
  FabricNames names;
  EXPECT_EQ(names.name(0x2000), "l2000");
  EXPECT_EQ(names.name(FabricLink::between(0x2000, 0x1002)), "l2000-s1002");
  EXPECT_EQ(names.name(FabricLink::between(0x2000, 0x9001)), "h9001-l2000");
  EXPECT_EQ(names.find("1002-2000"), FabricLink::between(0x2000, 0x1002));
  EXPECT_EQ(names.find("s1002"), (FabricLink{0x1002, 0}));
  for (const char* wrong : {"", "-", "l1002", "2000-", "0000", "20000", "2000-2102", "p1l1"})
    EXPECT_FALSE(names.find(wrong)) << wrong;
  const std::string file = testing::TempDir() + "mrc_names." + std::to_string(getpid());
  std::ofstream(file) << "9000 h1\n9100 h1 # on the second plane\n\n2100 tor-7\n1102 s-3\n";
  std::string error;
  ASSERT_TRUE(names.load(file, &error)) << error;
  EXPECT_EQ(names.find("h1-tor-7"), FabricLink::between(0x9100, 0x2100));
  EXPECT_EQ(names.find("tor-7-s-3"), FabricLink::between(0x1102, 0x2100));
  EXPECT_EQ(names.name(FabricLink::between(0x1102, 0x2100)), "tor-7-s-3");
  EXPECT_FALSE(names.find("h1")) << "which of its links?";
  std::ofstream(file) << "2100\n";
  EXPECT_FALSE(names.load(file, &error));
  EXPECT_NE(error.find(":1: "), std::string::npos) << error;
  std::remove(file.c_str());
}

TEST(MapReport, JsonIsReadAgain) {
  Losses losses;
  losses.links = {{FabricLink::between(leaf(0, 0), spine(0, 1)), 1}};
  const auto results = losses.survey(0, 100);
  const std::string text = verdict_in_json(judge_fabric(results, kTolerated), results, {});
  std::vector<RouteResult> again;
  ASSERT_TRUE(read_results(text, &again));
  ASSERT_EQ(again.size(), results.size());
  EXPECT_EQ(again[5].nodes, results[5].nodes);
  EXPECT_EQ(again[5].answered, results[5].answered);
  EXPECT_FALSE(read_results("{}", &again));
  EXPECT_FALSE(read_results("{\"routes\": [{\"usids\": [7]}]}", &again));
  EXPECT_FALSE(read_results("{\"routes\": [{\"usids\": [], \"sent\": 1, \"answered\": 2}]}", &again));
}

}  // namespace
}  // namespace mrc
