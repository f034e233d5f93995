// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups on the interfaces of a device, joined through the kernel: it tells the NIC to hear them
// and the switches (IGMP, MLD) that somebody does. Ended with the process, whatever ends it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libmrc/wire/identifiers.h"

namespace mrc {

class WireGroups {
 public:
  WireGroups() = default;
  ~WireGroups();
  WireGroups(const WireGroups&) = delete;
  WireGroups& operator=(const WireGroups&) = delete;

  // Before the first group is joined.
  void add_interface(const std::string& name) { interfaces_.push_back(name); }
  // Any thread. An interface that is not there now is joined by refresh(). 0 or an errno.
  int join(const IpAddress& group);
  void leave(const IpAddress& group);
  // The interface was made anew, and knows of nothing.
  void refresh(const std::string& interface);

 private:
  std::vector<std::string> interfaces_;
  std::mutex mutex_;
  std::map<std::array<uint8_t, 16>, int> sockets_;  // one each: the kernel allows a socket few groups
};

}  // namespace mrc
