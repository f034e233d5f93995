// SPDX-License-Identifier: BSD-2-Clause
// The planes by which the peer of a connection can be reached, and the headers that are ready for it there.
#pragma once

#include "libmrc/peer/connection.h"
#include "libmrc/work/services.h"

namespace mrc {

// Asks for those that are not known yet. `speaks`: MRC or plain RC.
void resolve_missing_next_hops(Connection& connection, Transport speaks, Services& services);
inline void resolve_next_hops(Connection& connection, Transport speaks, Services& services) {
  if (connection.resolved == services.transmitter.all_planes()) [[likely]]
    return;
  resolve_missing_next_hops(connection, speaks, services);
}
void release_next_hops(Connection& connection, Services& services);

// The class of traffic that the program asked for, or else `otherwise`.
uint8_t data_class(const Connection& connection, const TransportConfig& config, uint8_t otherwise);

}  // namespace mrc
