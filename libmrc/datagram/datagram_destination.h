// SPDX-License-Identifier: BSD-2-Clause
// Where datagrams go. There is no connection, so what is known of a destination is remembered from one send
// to the next: next hops, the path in use, and which planes have gone silent. Nobody acknowledges a datagram,
// so the planes are asked: while datagrams are sent, an EV probe (MRC 1.6) goes out by every plane now and
// then. A group of other hosts cannot be asked, for all of them would answer: there the planes count by which
// anything was heard lately, and as long as there are none, the planes take turns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/work/context.h"

namespace mrc {

struct DatagramDestination {
  bool used = false;
  IpAddress address;
  Qpn qpn;  // ports may lead to another process for each
  PlaneMask resolved = 0;
  Nanoseconds ask_at = 0;  // when the ports are asked again
  std::array<MacAddress, kPlanesMax> next_hops{};
  std::vector<EvEntry> paths;   // of the device's path source, if it has one
  std::optional<EvEntry> path;  // the one in use
  Nanoseconds probe_at = 0;
  PlaneMask answering = 0;                       // planes that have ever answered
  std::array<uint8_t, kPlanesMax> unanswered{};  // probes in a row, by plane
};

class DatagramDestinations {
 public:
  // `every_plane`: each datagram goes by the next plane. For those that are repeated until they are answered.
  void reset(uint64_t seed, bool every_plane);

  DatagramDestination& look_up(Context& cx, const DatagramAddress& address);
  // Null: there is no way to it now.
  const EvEntry* choose_path(const Context& cx, DatagramDestination& destination);
  // Asks by all planes whether they lead there, if it is time to.
  void probe(Context& cx, DatagramDestination& destination, const IpAddress& source);
  void on_probe_answer(const IpAddress& from, Qpn qpn, Plane plane);

 private:
  static constexpr size_t kDestinations = 64;  // power of two

  DatagramDestination& place_of(const IpAddress& address, Qpn qpn);
  void resolve(Context& cx, DatagramDestination& destination);
  static bool is_group(const DatagramDestination& destination) {
    return destination.address.is_multicast() && destination.qpn == kMulticastQpn;
  }
  PlaneMask heard_planes(const Context& cx, PlaneMask usable) const;
  PlaneMask usable_planes(const Context& cx, const DatagramDestination& destination) const;
  std::optional<EvEntry> draw(const DatagramDestination& destination, PlaneMask planes,
                              uint64_t number) const;

  uint64_t seed_ = 0;  // queue pairs choose different paths to one destination
  bool every_plane_ = false;
  uint64_t turn_ = 0;
  std::vector<DatagramDestination> destinations_;
};

}  // namespace mrc
