// SPDX-License-Identifier: BSD-2-Clause
// The part of the settings that says what the device is plugged into: ports, SRv6 and other hosts. Every key
// is in docs/settings.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dpdk_io/settings/host_range.h"
#include "dpdk_io/settings/text_file.h"
#include "libmrc/path/fabric_shape.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

enum class PortBackend : uint8_t {
  kLink,      // same-host links only
  kAfPacket,  // an interface of the kernel, by a packet socket
  kEthdev,    // a DPDK device
};

struct PortConfig {
  Plane plane = 0;
  PortBackend backend = PortBackend::kLink;
  std::string interface;             // of the kernel; may be empty with kEthdev
  std::optional<IpAddress> gateway;  // next hop for everything
  std::string device;                // kEthdev: as DPDK writes it, with arguments
  std::string driver;                // kEthdev: plug-in, such as net_pcap
  std::optional<MacAddress> gateway_mac;
  bool shared = false;  // mrcd has the port; programs use it through mrcd
  std::string where;    // "FILE:LINE: ", for errors that show only when all is read, or the port is opened

  bool is_real() const { return backend != PortBackend::kLink; }
  bool is_own() const { return is_real() && !shared; }  // the program drives it itself
  bool is_own_ethdev() const { return is_own() && backend == PortBackend::kEthdev; }
  bool is_shared_ethdev() const { return shared && backend == PortBackend::kEthdev; }
};

struct Srv6Config {
  FabricShape shape;
  std::optional<FabricPlace> place;  // this host's; none: it is found in the list of hosts
  std::string names;                 // a file of names for uSIDs, for people
  std::string where;                 // as of a port
};

struct HostConfig {
  std::vector<IpAddress> gids;
  std::optional<uint32_t> leaf;
  std::optional<uint32_t> host;
  std::vector<IpAddress> addresses;  // one per plane, or none
  std::string where;                 // as of a port
};

struct NetworkConfig {
  std::vector<PortConfig> ports;  // index is the plane; empty: all same-host links
  std::optional<Srv6Config> srv6;
  std::vector<HostConfig> hosts;
  std::vector<HostRange> ranges;
  std::string hosts_file;  // more hosts; empty: none
  FileStamp hosts_stamp;   // of the file, as it was read
  struct Own {             // what stands in the settings themselves, before what is of the file
    size_t hosts = 0;
    size_t ranges = 0;
    bool srv6 = false;
  };
  Own own;

  bool has_real_ports() const { return any_port(&PortConfig::is_real); }
  // Whether any port is such a one.
  bool any_port(bool (PortConfig::*is_such)() const) const {
    for (const PortConfig& port : ports)
      if ((port.*is_such)()) return true;
    return false;
  }
  // Bits: the planes whose ports mrcd has.
  uint32_t shared_planes() const {
    uint32_t planes = 0;
    for (const PortConfig& port : ports)
      if (port.shared) planes |= uint32_t{1} << port.plane;
    return planes;
  }
};

}  // namespace mrc
