// SPDX-License-Identifier: BSD-2-Clause
// Kernel TCP as a reference: one stream, and a ping-pong that spins, between two processes of this host over
// loopback. That is the fastest TCP of a host: its segments are 64 KiB and it has no device. And one stream
// over a veth between two network namespaces, as containers have it: with TSO, as the kernel makes it.
#pragma once

#include <cstdint>
#include <string>

namespace mrc::bench {

// 0: it did not work; the reason has been printed. `program`: this one, which starts itself again for each
// end.
double tcp_gigabits(const std::string& program, double seconds);
double tcp_half_round_trip_us(const std::string& program, double seconds);
double tcp_veth_gigabits(const std::string& program, double seconds);

// --role tcp-receive | tcp-send PORT SECONDS | tcp-pong | tcp-ping PORT SECONDS; -1: it is another role.
int run_tcp_role(int count, char** words);
// --role veth SECONDS in a network namespace of its own, and veth-receive, which it starts in another one.
int run_veth_role(int count, char** words);

// One end each of a stream between addresses of the host's byte order; 0 or 1 for main. The receiver prints
// its port, the sender what it has reached.
int tcp_receive(uint32_t address);
int tcp_send(uint32_t address, uint16_t port, double seconds);

}  // namespace mrc::bench
