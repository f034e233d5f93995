// SPDX-License-Identifier: BSD-2-Clause
// Hosts whose addresses and places follow from their number: [[hosts]] of the settings. Nothing is kept per
// host, so that a list of a hundred thousand is a line of arithmetic in every process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libmrc/path/fabric_shape.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

struct HostRange {
  uint32_t count = 0;
  std::vector<IpAddress> gids;   // of the first host
  uint64_t gid_step = 1;         // from host to host
  std::optional<uint32_t> leaf;  // of the first host
  uint32_t host = 0;             // number of the first host at every leaf
  uint32_t hosts_per_leaf = 0;
  std::vector<IpAddress> addresses;  // of the first host, one per plane, or none
  uint64_t address_step = 1;
  std::string where;  // "FILE:LINE: "

  // Which host of the range has this GID, if one has.
  std::optional<uint32_t> number_of(const IpAddress& gid) const;
  // Only with a leaf.
  FabricPlace place_of(uint32_t number) const;
  IpAddress gid_of(uint32_t number, size_t which) const { return *advance(gids[which], number, gid_step); }
  IpAddress address_of(uint32_t number, size_t plane) const {
    return *advance(addresses[plane], number, address_step);
  }

  // first + number * step, in the last 64 bits. Nothing: there is no such address, or no IPv4 one.
  static std::optional<IpAddress> advance(const IpAddress& first, uint64_t number, uint64_t step);
};

// A GID that hosts of both have, if there is one.
std::optional<IpAddress> common_gid(const HostRange& one, const HostRange& other);

}  // namespace mrc
