// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/interface_mtu.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

constexpr uint32_t kMtuLeast = 256;

// IPv6, UDP and the transport's headers and trailer. Without a segment routing header: the templates of the
// configuration need none, all their segments fit into one address.
constexpr uint32_t kHeaderBytes =
    kFrameBytesMax - kMtuMax - kEthernetBytes - kIpv6Bytes - kSegmentHeaderBytes;

// 0: not there.
uint32_t mtu_of(const std::string& interface) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
  const bool known = ioctl(fd, SIOCGIFMTU, &request) == 0;
  close(fd);
  return known ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

// The largest that fits; 0: none.
uint32_t largest_fit(const DeviceConfig& config, uint32_t interface_mtu) {
  for (uint32_t mtu = kMtuMax; mtu >= kMtuLeast; mtu /= 2)
    if (needed_interface_mtu(config, mtu) <= interface_mtu) return mtu;
  return 0;
}

}  // namespace

uint32_t needed_interface_mtu(const DeviceConfig& config, uint32_t mtu) {
  return mtu + kHeaderBytes + (config.network.srv6 ? static_cast<uint32_t>(kIpv6Bytes) : 0);
}

void choose_mtu(DeviceConfig* config) {
  if (config->mtu_is_given) return;
  for (const PortConfig& port : config->network.ports) {
    if (port.interface.empty()) continue;
    const uint32_t interface_mtu = mtu_of(port.interface);
    if (interface_mtu > 0)
      config->mtu = std::min(config->mtu, std::max(kMtuLeast, largest_fit(*config, interface_mtu)));
  }
}

std::string describe_bad_interface(const DeviceConfig& config, const PortConfig& port, uint32_t mtu) {
  std::string text =
      "mrc: " + port.where + "port of plane " + std::to_string(port.plane) + ": interface " + port.interface;
  if (mtu == 0) return text + " is not there (\"interface\" in [[port]]); ip link shows those that are";
  const std::string needed = std::to_string(needed_interface_mtu(config, config.mtu));
  text += " has an MTU of " + std::to_string(mtu) + ", but packets of " + std::to_string(config.mtu) +
          " bytes (\"mtu\" in [device]) and their headers need " + needed + "; do: ip link set " +
          port.interface + " mtu " + needed;
  const uint32_t fit = largest_fit(config, mtu);
  if (fit != 0) text += ", or set mtu = " + std::to_string(fit);
  return text;
}

}  // namespace mrc
