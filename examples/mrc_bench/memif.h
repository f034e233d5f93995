// SPDX-License-Identifier: BSD-2-Clause
// The two ends of a ping-pong by memif, DPDK's own link between processes of a host. Both meet at a socket.
#pragma once

#include <string>

namespace mrc::bench {

int memif_ping(const std::string& socket, double seconds);
int memif_pong(const std::string& socket);

}  // namespace mrc::bench
