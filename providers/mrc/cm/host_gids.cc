// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/host_gids.h"

#include <algorithm>

#include "providers/mrc/presence/device_settings.h"

namespace mrc::provider {
namespace {

constexpr Nanoseconds kFresh = 500 * kMillisecond;

}  // namespace

// --- of one device ---

const GidTable& LocalGids::table(Nanoseconds now) {
  if (!table_ || now - read_at_ > kFresh) {
    table_ = read_gid_table(*settings_);
    read_at_ = now;
  }
  return *table_;
}

size_t LocalGids::index_for(const IpAddress& address, Nanoseconds now) {
  const auto& entries = table(now).entries;
  const auto same = std::find_if(entries.begin(), entries.end(),
                                 [&](const GidEntry& entry) { return entry.gid == address; });
  if (same != entries.end()) return static_cast<size_t>(same - entries.begin());
  // Of IPv6 rather one that is valid beyond the link: those stand last.
  for (size_t i = entries.size(); i-- > 0;)
    if (!address.is_v4() && !entries[i].gid.is_v4()) return i;
  return 0;
}

bool LocalGids::contains(const IpAddress& gid, Nanoseconds now) {
  const auto& entries = table(now).entries;
  return std::any_of(entries.begin(), entries.end(), [&](const GidEntry& entry) { return entry.gid == gid; });
}

// --- of all ---

HostGids::HostGids() {
  for (const DeviceConfig& settings : all_device_settings()) devices_.emplace_back(settings);
}

std::optional<size_t> HostGids::owner_of(const IpAddress& gid, size_t preferred, Nanoseconds now) {
  if (devices_[preferred].contains(gid, now)) return preferred;
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].contains(gid, now)) return i;
  return std::nullopt;
}

std::optional<HostGids::Neighbour> HostGids::in_network_of(const IpAddress& address, Nanoseconds now) {
  for (size_t i = 0; i < devices_.size(); ++i)
    for (const GidEntry& entry : devices_[i].table(now).entries)
      if (shares_network(entry.gid, address)) return Neighbour{i, entry.gid};
  return std::nullopt;
}

size_t HostGids::device_for(const IpAddress& address, Nanoseconds now) {
  if (devices_.size() == 1) return 0;
  if (const auto owner = owner_of(address, 0, now)) return *owner;
  const auto neighbour = in_network_of(address, now);
  return neighbour ? neighbour->device : 0;
}

size_t HostGids::device_towards(const SocketAddress& destination, SocketAddress* source, Nanoseconds now) {
  if (devices_.size() == 1) return 0;
  const IpAddress to = to_ip(destination);
  const size_t routed = device_for(to_ip(*source), now);
  // To itself the host goes by the device that has the address, as the kernel does. All of 127/8 goes from
  // 127.0.0.1 by the routing table, which may be another device's.
  if (const auto owner = owner_of(to, routed, now)) {
    if (*owner != routed) *source = to_socket_address(to);
    return *owner;
  }
  if (devices_[routed].contains(to_ip(*source), now)) return routed;
  const auto neighbour = in_network_of(to, now);
  if (!neighbour) return routed;
  *source = to_socket_address(neighbour->gid);
  return neighbour->device;
}

}  // namespace mrc::provider
