// SPDX-License-Identifier: BSD-2-Clause
// Any text as the settings: they are taken, and then within the limits that the rest of the device counts on,
// or refused with the line that is wrong.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dpdk_io/settings/device_config.h"

namespace {

using namespace mrc;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check(const std::string& text, const std::string& error) {
  const std::string begin = "mrc: FILE:";
  if (!error.starts_with(begin)) std::fprintf(stderr, "%s\n", error.c_str());
  must(error.starts_with(begin), "an error names the file and a line");
  char* end = nullptr;
  const long line = std::strtol(error.c_str() + begin.size(), &end, 10);
  if (line < 1) std::fprintf(stderr, "%s\n", error.c_str());
  must(line >= 1 && *end == ':', "an error names a line");
  must(line <= 1 + std::count(text.begin(), text.end(), '\n'), "the line is one of the text");
}

void check(const DeviceConfig& config) {
  const TransportConfig& transport = config.transport;
  must(config.planes >= 1 && config.planes <= kPlanesMax, "planes");
  must(config.mtu >= 256 && config.mtu <= 4096 && std::has_single_bit(config.mtu), "mtu");
  must(!config.name.empty() && config.name.size() <= 15, "name");
  must(config.network.ports.empty() || config.network.ports.size() == config.planes,
       "a port for every plane");
  for (size_t plane = 0; plane < config.network.ports.size(); ++plane)
    must(config.network.ports[plane].plane == plane, "ports in order");
  must(transport.window_packets >= 64 && std::has_single_bit(transport.window_packets), "window");
  must(transport.paths_per_plane >= 1 && transport.paths_per_plane <= 256, "paths");
  must(transport.immediates_max >= 1, "immediates");
  must(transport.probe_interval > 0 && transport.probe_interval <= transport.probe_interval_max, "probes");
  must(transport.dscp_data < 64 && transport.dscp_control < 64 && transport.dscp_trimmed < 64, "classes");
  must(transport.nscc.max_cwnd > 0 && transport.nscc.base_rtt > 0 && transport.link_rate_bps > 0,
       "congestion");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  DeviceConfig config;
  std::string error;
  if (parse_device_config(text, "FILE", &config, &error)) {
    must(error.empty(), "no error when all is well");
    check(config);
  } else {
    check(text, error);
  }
  return 0;
}
