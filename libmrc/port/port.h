// SPDX-License-Identifier: BSD-2-Clause
// What the engine needs of a network port, one per plane: an address, the state of the link, next hops, and
// what carries its frames.
#pragma once

#include <vector>

#include "libmrc/port/carrier.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class Port {
 public:
  virtual ~Port() = default;

  virtual MacAddress address() const = 0;
  virtual bool link_up() const = 0;

  // Next hop towards a destination. False: not known (yet); the caller asks again later. Not on the data
  // path.
  virtual bool resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) = 0;

  // Where an answer to `source` goes, whose request came from `heard_from`: the next hop that is known for
  // the address, for anybody can write any MAC address into a frame. False: not known (yet), so no answer
  // now.
  virtual bool resolve_back(const IpAddress& source, const MacAddress& /*heard_from*/, MacAddress* next_hop) {
    return resolve(source, kEndpointQpn, next_hop);
  }
  // Whether this process answers what came from there and is for no process in particular: others may have
  // heard it, too.
  virtual bool speaks_for_host(const MacAddress& /*heard_from*/) const { return true; }

  // The processes of this host that have joined a multicast group, this one too: of each a QP number by which
  // resolve() finds it. Appended. Those of other hosts are reached by the wire, as kMulticastQpn.
  virtual void find_members_here(const IpAddress& /*group*/, std::vector<Qpn>* /*members*/) {}

  // Carries frames of this plane, or of several planes that have the same; null: there is nothing but
  // same_host().
  virtual Carrier* wire() = 0;
  // Carries the frames of all planes to the processes of this host, whose addresses is_same_host() knows;
  // null: the wire does.
  virtual Carrier* same_host() { return nullptr; }
};

}  // namespace mrc
