// SPDX-License-Identifier: BSD-2-Clause
// MRC 6: from an EV (plane, uplink) to the uSID list towards one destination, and back.
//
// A template is made once per destination; per path the plane goes into every uSID and the uplink number
// chooses the T1 (and, with three tiers, the T2). uSID = tier(4) | plane(4) | index(8).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/wire/srv6.h"

namespace mrc {

// MRC 6 [P]: the tier nibbles.
inline constexpr uint8_t kTierT1 = 1;
inline constexpr uint8_t kTierT0 = 2;
inline constexpr uint8_t kTierT2 = 3;
inline constexpr uint8_t kTierHost = 9;

class Srv6Template {
 public:
  struct Uplink {
    Plane plane = 0;
    uint32_t uplink = 0;
    friend bool operator==(const Uplink&, const Uplink&) = default;
  };

  // Same leaf: T0, host. No choice but the plane.
  static Srv6Template same_leaf(uint32_t block, uint8_t t0, uint8_t host);
  // T0, T1 (= uplink), T0, host. Nothing if there is no uplink or more than 256.
  static std::optional<Srv6Template> two_tier(uint32_t block, uint8_t source_t0, uint8_t destination_t0,
                                              uint8_t host, uint32_t uplinks);
  // T0, T1, T2, T1, T0, host: all six uSIDs. A T1 is number pod * t1_per_pod + group, a T2 is
  // group * t2_per_group + spine; group and spine are the choice: uplink = group * t2_per_group + spine.
  // Nothing if one of these numbers needs more than 8 bits.
  struct Pods {
    uint32_t t1_per_pod = 1;
    uint32_t t2_per_group = 1;
    uint32_t source_pod = 0;
    uint32_t destination_pod = 0;
  };
  static std::optional<Srv6Template> three_tier(uint32_t block, uint8_t source_t0, uint8_t destination_t0,
                                                uint8_t host, const Pods& pods);

  uint32_t uplinks() const { return uplinks_; }
  IpAddress address(Plane plane, uint32_t uplink) const;
  // The inverse; nothing if the address is not one of this template's.
  std::optional<Uplink> parse(const IpAddress& address) const;
  EvEntry entry(Plane plane, uint32_t uplink) const;
  // Every path on `planes` planes, plane by plane.
  std::vector<EvEntry> entries(uint32_t planes) const;

 private:
  enum class Shape : uint8_t { kSameLeaf, kTwoTier, kThreeTier };
  Shape shape_ = Shape::kSameLeaf;
  uint32_t block_ = 0;
  uint32_t uplinks_ = 1;
  uint8_t source_t0_ = 0;
  uint8_t destination_t0_ = 0;
  uint8_t host_ = 0;
  Pods pods_;
};

}  // namespace mrc
