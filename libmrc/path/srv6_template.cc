// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/srv6_template.h"

#include <algorithm>
#include <array>

namespace mrc {

namespace {
constexpr uint32_t kIndexes = 256;  // 8 bits of uSID

uint16_t usid(uint8_t tier, Plane plane, uint32_t index) {
  return make_usid(tier, plane, static_cast<uint8_t>(index));
}
}  // namespace

Srv6Template Srv6Template::same_leaf(uint32_t block, uint8_t t0, uint8_t host) {
  Srv6Template result;
  result.block_ = block;
  result.source_t0_ = result.destination_t0_ = t0;
  result.host_ = host;
  return result;
}

std::optional<Srv6Template> Srv6Template::two_tier(uint32_t block, uint8_t source_t0, uint8_t destination_t0,
                                                   uint8_t host, uint32_t uplinks) {
  if (uplinks == 0 || uplinks > kIndexes) return std::nullopt;
  Srv6Template result;
  result.shape_ = Shape::kTwoTier;
  result.block_ = block;
  result.source_t0_ = source_t0;
  result.destination_t0_ = destination_t0;
  result.host_ = host;
  result.uplinks_ = uplinks;
  return result;
}

std::optional<Srv6Template> Srv6Template::three_tier(uint32_t block, uint8_t source_t0,
                                                     uint8_t destination_t0, uint8_t host, const Pods& pods) {
  const uint64_t t2 = uint64_t{pods.t1_per_pod} * pods.t2_per_group;
  const uint64_t last_pod = std::max(pods.source_pod, pods.destination_pod);
  if (t2 == 0 || t2 > kIndexes || (last_pod + 1) * pods.t1_per_pod > kIndexes) return std::nullopt;
  Srv6Template result;
  result.shape_ = Shape::kThreeTier;
  result.block_ = block;
  result.source_t0_ = source_t0;
  result.destination_t0_ = destination_t0;
  result.host_ = host;
  result.uplinks_ = static_cast<uint32_t>(t2);
  result.pods_ = pods;
  return result;
}

// MRC 6: the plane goes into every uSID, the uplink into those of the spine.
IpAddress Srv6Template::address(Plane plane, uint32_t uplink) const {
  const uint16_t source = usid(kTierT0, plane, source_t0_);
  const uint16_t leaf = usid(kTierT0, plane, destination_t0_);
  const uint16_t host = usid(kTierHost, plane, host_);
  switch (shape_) {
    case Shape::kSameLeaf:
      return make_usid_address(block_, std::array{source, host});
    case Shape::kTwoTier:
      return make_usid_address(block_, std::array{source, usid(kTierT1, plane, uplink), leaf, host});
    case Shape::kThreeTier:
      break;
  }
  const uint32_t group = uplink / pods_.t2_per_group;
  return make_usid_address(
      block_, std::array{source, usid(kTierT1, plane, pods_.source_pod * pods_.t1_per_pod + group),
                         usid(kTierT2, plane, uplink),
                         usid(kTierT1, plane, pods_.destination_pod * pods_.t1_per_pod + group), leaf, host});
}

std::optional<Srv6Template::Uplink> Srv6Template::parse(const IpAddress& address) const {
  Uplink found;
  found.plane = static_cast<Plane>(usid_at(address, 0) >> 8 & 0xF);
  if (shape_ != Shape::kSameLeaf)
    found.uplink = usid_at(address, shape_ == Shape::kTwoTier ? 1 : 2) & (kIndexes - 1);
  if (found.uplink >= uplinks_ || this->address(found.plane, found.uplink) != address) return std::nullopt;
  return found;
}

EvEntry Srv6Template::entry(Plane plane, uint32_t uplink) const {
  return {.entropy = make_entropy(plane, uplink),
          .plane = plane,
          .has_outer = true,
          .outer_destination = address(plane, uplink)};
}

std::vector<EvEntry> Srv6Template::entries(uint32_t planes) const {
  std::vector<EvEntry> all;
  all.reserve(size_t{planes} * uplinks_);
  for (uint32_t plane = 0; plane < planes; ++plane)
    for (uint32_t uplink = 0; uplink < uplinks_; ++uplink)
      all.push_back(entry(static_cast<Plane>(plane), uplink));
  return all;
}

}  // namespace mrc
