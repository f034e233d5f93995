// SPDX-License-Identifier: BSD-2-Clause
// DPDK's EAL inside somebody else's process: started once, when the first port on a DPDK device is opened,
// without touching the caller's CPU affinity, signals, environment or terminal. It loads all plug-ins that
// are installed, as in any program of DPDK.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mrc {

inline constexpr uint32_t kEalMegabytes = 128;  // address space; pages are taken as they are touched

struct EalOptions {
  uint32_t megabytes = kEalMegabytes;
  std::vector<std::string> pci;  // addresses of devices to probe
};

// False: `error` says why. DPDK cannot be started a second time after a failure, so the first error is final.
bool start_eal(std::string* error, const EalOptions& options = {});

}  // namespace mrc
