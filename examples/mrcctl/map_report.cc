// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/map_report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace mrc {
namespace {

constexpr double kDead = 0.999;

std::string loss_text(double loss) {
  char text[32];
  std::snprintf(text, sizeof text, loss >= kDead ? "loses everything" : "loses %.1f %%", loss * 100);
  return text;
}

const char* kind_of(const FabricLink& link) {
  return link.other == 0 ? "switch" : "link";
}

std::string hex_of(uint16_t usid) {
  char text[8];
  std::snprintf(text, sizeof text, "%04x", usid);
  return text;
}

nlohmann::ordered_json bad_in_json(const BadLink& bad, const FabricNames& names) {
  nlohmann::ordered_json usids = {hex_of(bad.link.one)};
  if (bad.link.other != 0) usids.push_back(hex_of(bad.link.other));
  return {{"kind", kind_of(bad.link)}, {"name", names.name(bad.link)}, {"usids", usids}, {"loss", bad.loss}};
}

bool read_route(const nlohmann::json& from, RouteResult* to) {
  if (!from.is_object() || !from.contains("usids") || !from["usids"].is_array()) return false;
  for (const auto& usid : from["usids"]) {
    if (!usid.is_string()) return false;
    to->nodes.push_back(static_cast<uint16_t>(std::strtoul(usid.get<std::string>().c_str(), nullptr, 16)));
  }
  for (const auto& [name, value] : {std::pair{"sent", &to->sent}, {"answered", &to->answered}}) {
    if (!from.contains(name) || !from[name].is_number_unsigned()) return false;
    *value = from[name].get<uint32_t>();
  }
  return to->answered <= to->sent;
}

}  // namespace

std::string verdict_in_words(const FabricVerdict& verdict, const FabricNames& names) {
  std::string text;
  for (const BadLink& bad : verdict.bad)
    text += std::string("bad: ") + kind_of(bad.link) + " " + names.name(bad.link) + " " +
            loss_text(bad.loss) + "\n";
  if (verdict.bad.empty()) text += "all links are good\n";
  text += std::to_string(verdict.good.size()) + " links are good";
  if (!verdict.unknown.empty())
    text += ", of " + std::to_string(verdict.unknown.size()) + " behind bad ones nothing is known from here";
  return text + "\n";
}

std::string verdict_in_json(const FabricVerdict& verdict, const std::vector<RouteResult>& results,
                            const FabricNames& names) {
  nlohmann::ordered_json told = {{"bad", nlohmann::ordered_json::array()},
                                 {"good", verdict.good.size()},
                                 {"unknown", nlohmann::ordered_json::array()},
                                 {"routes", nlohmann::ordered_json::array()}};
  for (const BadLink& bad : verdict.bad) told["bad"].push_back(bad_in_json(bad, names));
  for (const FabricLink& link : verdict.unknown) told["unknown"].push_back(names.name(link));
  for (const RouteResult& result : results) {
    nlohmann::ordered_json usids = nlohmann::ordered_json::array();
    for (const uint16_t usid : result.nodes) usids.push_back(hex_of(usid));
    told["routes"].push_back({{"usids", usids}, {"sent", result.sent}, {"answered", result.answered}});
  }
  return told.dump() + "\n";
}

bool read_results(const std::string& json, std::vector<RouteResult>* results) {
  const auto told = nlohmann::json::parse(json, nullptr, false);
  if (!told.is_object() || !told.contains("routes") || !told["routes"].is_array()) return false;
  for (const auto& route : told["routes"])
    if (!read_route(route, &results->emplace_back())) return false;
  return true;
}

bool write_denylist(const std::string& file, const FabricVerdict& verdict, const FabricNames& names,
                    std::string* error) {
  // By uSIDs: whoever loads it may have other names.
  const FabricNames plain;
  const std::string half = file + "." + std::to_string(getpid());
  std::ofstream to(half);
  to << "# Made by mrcctl map, for mrcctl ev load.\n";
  for (const BadLink& bad : verdict.bad)
    to << plain.name(bad.link) << " # " << names.name(bad.link) << " " << loss_text(bad.loss) << "\n";
  to.close();
  if (to.good() && std::rename(half.c_str(), file.c_str()) == 0) return true;
  *error = file + ": " + std::strerror(errno);
  unlink(half.c_str());
  return false;
}

}  // namespace mrc
