// SPDX-License-Identifier: BSD-2-Clause
// The settings of the device: one TOML file (MRC_CONFIG, else /etc/mrc/mrc.toml), else what is built in here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dpdk_io/settings/network_config.h"
#include "libmrc/config/transport_config.h"
#include "libmrc/fault/fault_rule.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// The engine's defaults, but for what differs when processes of one host are the network: they are scheduled
// in milliseconds, and the queues of the planes are read one after the other.
inline TransportConfig host_transport() {
  TransportConfig transport;
  transport.reorder_window_min = 400 * kMicrosecond;
  // A peer in software may have to wait for a CPU for longer than programs think that networks are silent.
  transport.timeout_min = Nanoseconds{4096} << 16;
  return transport;
}

// With whom mrcd shares its ports, beside the user that it runs as.
struct ShareUsers {
  bool all = false;
  std::vector<std::string> names;  // or numbers
};

struct DeviceConfig {
  std::string name = "mrc0";
  uint32_t index = 0;   // among the devices of the file
  uint32_t planes = 4;  // 1..kPlanesMax
  uint32_t mtu = 4096;  // bytes of payload in a packet: 256, 512, 1024, 2048 or 4096
  bool mtu_is_given = false;
  uint32_t mbufs = 4096;  // packet buffers for DPDK devices
  // Threads that make queues of their own each get one, up to so many; 0: as many as there are CPUs.
  static constexpr uint32_t kEnginesMax = 8;
  uint32_t engines = 0;
  bool icrc_always = false;     // also where nothing can be corrupted, between processes of this host
  std::vector<IpAddress> gids;  // instead of the addresses of the ports' interfaces
  NetworkConfig network;
  ShareUsers share_users;
  static constexpr uint32_t kShareThreadsMax = 16;
  uint32_t share_threads = 1;  // of mrcd: each has a pair of queues of every port that it shares
  TransportConfig transport = host_transport();
  uint32_t metrics_port = 0;      // where mrcd serves the metrics, on loopback; 0: nowhere
  uint32_t trace_events = 0;      // kept of every queue pair, for mrcctl state
  std::vector<FaultRule> faults;  // that every process of this file injects
};

inline constexpr size_t kDevicesMax = 16;

// What is a device's own among the files of a run directory has this behind its name. The first device has
// nothing there, so that a machine with one device is as it ever was.
inline std::string page_suffix(const DeviceConfig& config) {
  return config.index == 0 ? "" : "." + config.name;
}

// Reads the settings of all devices, environment included; there is at least one. False: `error` says which
// file, line and key, and what is wanted.
bool load_device_configs(std::vector<DeviceConfig>* devices, std::string* error);
// The same of the first device, or of the one with this name.
bool load_device_config(const std::string& name, DeviceConfig* config, std::string* error);

// Reads the settings of the first device, environment included. False: `error` says which file, line and key,
// and what is wanted.
bool load_device_config(DeviceConfig* config, std::string* error);

// The same for the text of a file; `file` is only used in errors.
bool parse_device_configs(const std::string& text, const std::string& file,
                          std::vector<DeviceConfig>* devices, std::string* error);
bool parse_device_config(const std::string& text, const std::string& file, DeviceConfig* config,
                         std::string* error);

}  // namespace mrc
