// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/fabric_names.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace mrc {
namespace {

std::optional<uint16_t> usid_in(std::string_view text) {
  uint16_t usid = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), usid, 16);
  if (wrong != std::errc() || end != text.data() + text.size() || text.size() != 4 || usid == 0)
    return std::nullopt;
  return usid;
}

}  // namespace

char FabricNames::letter_of(uint16_t usid) const {
  constexpr std::array<char, kUsidKinds> kLetters{'s', 'l', 'c', 'h'};
  const auto kind = plan_.kind_of(usid);
  return kind ? kLetters[static_cast<size_t>(*kind)] : 'n';
}

// From the hosts upwards.
int FabricNames::height_of(uint16_t usid) const {
  constexpr std::array<int, kUsidKinds> kHeights{2, 1, 3, 0};
  const auto kind = plan_.kind_of(usid);
  return kind ? kHeights[static_cast<size_t>(*kind)] : 4;
}

bool FabricNames::load(const std::string& file, std::string* error) {
  std::ifstream lines(file);
  if (!lines) {
    *error = file + ": cannot be read";
    return false;
  }
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string usid;
    std::string name;
    std::string more;
    if (!(words >> usid)) continue;
    const auto found = usid_in(usid);
    if (!found || !(words >> name) || words >> more) {
      *error =
          file + ":" + std::to_string(number) + ": a uSID of four hexadecimal digits and a name are wanted";
      return false;
    }
    names_[*found] = name;
    usids_[name].push_back(*found);
  }
  return true;
}

std::string FabricNames::name(uint16_t usid) const {
  if (const auto found = names_.find(usid); found != names_.end()) return found->second;
  char text[8];
  std::snprintf(text, sizeof text, "%c%04x", letter_of(usid), usid);
  return text;
}

std::string FabricNames::name(const FabricLink& link) const {
  if (link.other == 0) return name(link.one);
  // The end that is nearer to the hosts first: hosts, leaves, spines, cores.
  const bool turned = height_of(link.other) < height_of(link.one);
  return name(turned ? link.other : link.one) + "-" + name(turned ? link.one : link.other);
}

std::vector<uint16_t> FabricNames::find_nodes(const std::string& text) const {
  if (const auto found = usids_.find(text); found != usids_.end()) return found->second;
  if (const auto plain = usid_in(text)) return {*plain};
  const auto usid = text.empty() ? std::nullopt : usid_in(std::string_view(text).substr(1));
  if (!usid || text[0] != letter_of(*usid)) return {};
  return {*usid};
}

std::optional<FabricLink> FabricNames::find(const std::string& text) const {
  if (const auto nodes = find_nodes(text); nodes.size() == 1) return FabricLink{nodes[0], 0};
  // Names may have such a stroke in them, too.
  for (size_t at = text.find('-'); at != std::string::npos; at = text.find('-', at + 1))
    for (const uint16_t one : find_nodes(text.substr(0, at)))
      for (const uint16_t other : find_nodes(text.substr(at + 1)))
        if (plan_.plane_of(one) == plan_.plane_of(other)) return FabricLink::between(one, other);
  return std::nullopt;
}

}  // namespace mrc
