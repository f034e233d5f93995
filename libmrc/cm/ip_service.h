// SPDX-License-Identifier: BSD-2-Clause
// IBTA annex A11, the RDMA IP CM service: IP addresses and ports in front of the private data of REQ and
// SIDR_REQ, and what a listener may be bound to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "libmrc/cm/identifiers.h"
#include "libmrc/wire/identifiers.h"

namespace mrc::cm {

struct IpServiceHeader {
  static constexpr size_t kBytes = 36;
  uint16_t source_port = 0;
  IpAddress source;  // both of one IP version
  IpAddress destination;
};

void write_ip_service(const IpServiceHeader& header, std::span<uint8_t, IpServiceHeader::kBytes> to);
// Nothing: of another version of the service, or not of IP.
std::optional<IpServiceHeader> read_ip_service(std::span<const uint8_t> from);

// What a program asked for when it bound an id. The port is elsewhere.
struct BoundAddress {
  bool any = true;
  bool is_v6 = false;
  bool only_v6 = false;  // `any` of IPv6, but not of IPv4
  IpAddress address;     // unless any

  bool takes_version(bool v6) const { return v6 == is_v6 || (is_v6 && any && !only_v6); }
  // Whether a request to this address is for it.
  bool accepts(const IpAddress& destination) const {
    return any ? takes_version(!destination.is_v4()) : address == destination;
  }
  // Whether both cannot have the same port.
  bool conflicts_with(const BoundAddress& other) const {
    if (any && other.any) return takes_version(other.is_v6) || other.takes_version(is_v6);
    if (!any && !other.any) return address == other.address;
    return any ? takes_version(other.is_v6) : other.takes_version(is_v6);
  }
};

}  // namespace mrc::cm
