// SPDX-License-Identifier: BSD-2-Clause
// Asks by many ways at a time whether they lead somewhere (mrc_ctl_ep_batch_send_wait).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "examples/mrcctl/open_device.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

struct ProbeWay {
  IpAddress source;  // of this device
  IpAddress destination;
  Plane plane = 0;
  std::optional<IpAddress> route;  // SRv6
  uint32_t ev = 0;                 // without
};

// An address of this device that `destination` can answer to. Nothing: there is none of its kind.
std::optional<IpAddress> own_address_for(OpenDevice& device, const IpAddress& destination);
// The first address of the device.
std::optional<IpAddress> own_address(OpenDevice& device);

// Few enough that no queue of the kernel on the way is too short for a burst of them.
inline constexpr size_t kWaysAtATime = 512;

// One question by each way, so many at a time, each time with this patience. For each the round trip, or
// nothing if no answer came in time. 0 or an errno.
int ask_ways(OpenDevice& device, const std::vector<ProbeWay>& ways, Nanoseconds patience,
             std::vector<std::optional<Nanoseconds>>* answers);

}  // namespace mrc
