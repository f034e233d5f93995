// SPDX-License-Identifier: BSD-2-Clause
// Which queue pairs of a device have joined which multicast groups.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "libmrc/wire/identifiers.h"

namespace mrc {

class QueuePair;

class MulticastGroups {
 public:
  static constexpr size_t kMembersMax = 256;  // of one group

  enum class Attach : uint8_t { kDone, kAlready, kFull };
  Attach attach(const IpAddress& group, QueuePair* qp) {
    auto& members = groups_[group.bytes];
    if (std::find(members.begin(), members.end(), qp) != members.end()) return Attach::kAlready;
    if (members.size() == kMembersMax) return Attach::kFull;
    members.push_back(qp);
    return Attach::kDone;
  }
  // False: it was not in the group.
  bool detach(const IpAddress& group, const QueuePair* qp) {
    const auto found = groups_.find(group.bytes);
    if (found == groups_.end() || std::erase(found->second, qp) == 0) return false;
    if (found->second.empty()) groups_.erase(found);
    return true;
  }
  std::vector<IpAddress> groups_of(const QueuePair* qp) const {
    std::vector<IpAddress> found;
    for (const auto& [group, members] : groups_)
      if (std::find(members.begin(), members.end(), qp) != members.end()) found.push_back(IpAddress{group});
    return found;
  }
  void detach_all(const QueuePair* qp) {
    for (const IpAddress& group : groups_of(qp)) detach(group, qp);
  }
  // Null: nobody has joined it.
  const std::vector<QueuePair*>* find(const IpAddress& group) const {
    const auto found = groups_.find(group.bytes);
    return found == groups_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::array<uint8_t, 16>, std::vector<QueuePair*>> groups_;
};

}  // namespace mrc
