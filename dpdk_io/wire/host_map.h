// SPDX-License-Identifier: BSD-2-Clause
// Where other hosts are, as the settings tell: their addresses on each plane, or the SRv6 paths to them. The
// file of hosts is followed: a new list takes the place of the old one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dpdk_io/settings/host_list.h"
#include "dpdk_io/settings/network_config.h"
#include "libmrc/path/path_source.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class HostMap final : public PathSource {
 public:
  using IsLocal = std::function<bool(const IpAddress&)>;

  // `is_local`: whatever goes to this host itself takes no source-routed path. Any thread may ask it.
  HostMap(const NetworkConfig& network, IsLocal is_local);

  // Finds this host by its addresses in the list, where the settings do not say where it is. False: it is not
  // there; `error` says so.
  bool find_self(const std::vector<IpAddress>& own, std::string* error);

  // The control loop, once in a while: reads the file of hosts again if it has changed. What is wrong with it
  // is said once, and the old list stays. True: there is a new list.
  bool follow_file();

  // What to look up the next hop of: the host's address on the plane, or the beginning of its SRv6 paths, or
  // the destination as it is.
  IpAddress first_target(const IpAddress& destination, Plane plane) const;

  // PathSource, under the engine's lock.
  uint64_t version() const override { return version_.load(std::memory_order_acquire); }
  std::vector<EvEntry> paths_to(const IpAddress& destination) override;
  std::vector<EvEntry> paths_from(const IpAddress& source) override;
  std::optional<IpAddress> outer_source(Plane plane) const override;
  std::optional<IpAddress> peer_outer_source(const IpAddress& host, Plane plane) const override;
  std::optional<EvEntry> path_back(const IpAddress& destination, Plane plane, Entropy entropy) const override;

 private:
  std::vector<EvEntry> entries(const std::optional<Srv6Template>& way) const;
  std::shared_ptr<const HostList> list() const {
    const std::lock_guard lock(mutex_);
    return list_;
  }
  void replace(std::shared_ptr<const HostList> list);

  NetworkConfig network_;  // the control loop's
  const IsLocal is_local_;
  std::vector<Plane> planes_;    // those with a real port
  std::vector<IpAddress> self_;  // by which this host is found
  mutable std::mutex mutex_;     // held for the time that a pointer takes to be copied
  std::shared_ptr<const HostList> list_;
  std::atomic<uint64_t> version_{0};  // of the list
};

}  // namespace mrc
