// SPDX-License-Identifier: BSD-2-Clause
// What the hosts, switches and links of an SRv6 fabric are called: by their uSIDs, and by the names that a
// file of the operator gives them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libmrc/path/usid_plan.h"

namespace mrc {

// A link in either direction; `other` 0: a switch, with all its links.
struct FabricLink {
  uint16_t one = 0;
  uint16_t other = 0;
  // The same link has one form only.
  static FabricLink between(uint16_t a, uint16_t b) {
    return b != 0 && b < a ? FabricLink{b, a} : FabricLink{a, b};
  }
  friend bool operator==(const FabricLink&, const FabricLink&) = default;
  friend bool operator<(const FabricLink& a, const FabricLink& b) {
    return a.one != b.one ? a.one < b.one : a.other < b.other;
  }
};

class FabricNames {
 public:
  FabricNames() = default;
  explicit FabricNames(const UsidPlan& plan) : plan_(plan) {}

  // Lines of a uSID (four hexadecimal digits) and a name; what follows a # does not count. False: `error`
  // says what is wrong.
  bool load(const std::string& file, std::string* error);

  // Without a name of its own: l2000, s1002, h9000, by its tier.
  std::string name(uint16_t usid) const;
  std::string name(const FabricLink& link) const;
  // By a name, by 2000 or by l2000; a link has a '-' between its ends, which are on the same plane.
  std::optional<FabricLink> find(const std::string& text) const;

 private:
  std::vector<uint16_t> find_nodes(const std::string& text) const;
  char letter_of(uint16_t usid) const;
  int height_of(uint16_t usid) const;

  UsidPlan plan_;
  std::map<uint16_t, std::string> names_;
  std::map<std::string, std::vector<uint16_t>> usids_;  // a host has one on every plane
};

}  // namespace mrc
