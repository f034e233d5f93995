// SPDX-License-Identifier: BSD-2-Clause
// MRC 1.6, SPEC 7.4.7: asks whoever is at an address whether a path leads there. The answer goes to `asker`.
#pragma once

#include <cstdint>
#include <optional>

#include "libmrc/path/ev_entry.h"
#include "libmrc/peer/endpoint_requests.h"
#include "libmrc/wire/frame.h"
#include "libmrc/work/services.h"

namespace mrc {

struct EndpointQuestion {
  std::optional<uint8_t> dscp;          // none: that of control packets
  std::optional<uint32_t> port_status;  // PORT_STATUS_UPDATE with this mask, instead of EV_PROBE
};

// `network` has the next hop and both addresses. False: it could not be sent.
bool send_ev_probe(Services& services, NetworkHeader network, const EvEntry& path,
                   const EndpointRequests::Asker& asker, Nanoseconds now,
                   const EndpointQuestion& question = {});

}  // namespace mrc
