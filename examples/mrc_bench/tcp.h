// SPDX-License-Identifier: BSD-2-Clause
// Kernel TCP as a reference: one stream, and a ping-pong that spins, between two processes of this host over
// loopback. That is the fastest TCP of a host: its segments are 64 KiB and it has no device.
#pragma once

#include <string>

namespace mrc::bench {

// 0: it did not work; the reason has been printed. `program`: this one, which starts itself again for each
// end.
double tcp_gigabits(const std::string& program, double seconds);
double tcp_half_round_trip_us(const std::string& program, double seconds);

// --role tcp-receive | tcp-send PORT SECONDS | tcp-pong | tcp-ping PORT SECONDS; -1: it is another role.
int run_tcp_role(int count, char** words);

}  // namespace mrc::bench
