// SPDX-License-Identifier: BSD-2-Clause
// What mrcd does with ports: it owns those that the settings say it shares, and hands frames on between them
// and the programs of the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/settings/device_config.h"

namespace mrc {

// Threads: one, beside those that run() makes.
class PortSharer {
 public:
  struct Place {
    int socket;          // listens and does not block; the caller's
    std::string ledger;  // file beside it (dpdk_io/share/slot_ledger.h)
    size_t per_user;     // programs of one user at a time
  };
  // Before the first of them: what DPDK needs for all devices, whose settings these are. False: `error` says
  // why.
  static bool start_drivers(const std::vector<DeviceConfig>& devices, std::string* error);
  // Of one device. Null: `error` says why. The settings have ports to share.
  static std::unique_ptr<PortSharer> open(const DeviceConfig& config, const Place& place, std::string* error);
  ~PortSharer();
  PortSharer(const PortSharer&) = delete;
  PortSharer& operator=(const PortSharer&) = delete;

  // Until `stop` is true.
  void run(const std::atomic<bool>& stop);

 private:
  class Impl;
  explicit PortSharer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc
