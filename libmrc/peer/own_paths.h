// SPDX-License-Identifier: BSD-2-Clause
// The device's own paths to a peer, and those from it that are denied here: worked out once for all queue
// pairs, and again when their source may say something else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "libmrc/path/path_set.h"
#include "libmrc/path/path_source.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// By EV and plane, in order.
using PathNames = std::shared_ptr<const std::vector<uint64_t>>;
constexpr uint64_t path_name(Entropy entropy, Plane plane) {
  return uint64_t{plane} << 32 | static_cast<uint32_t>(entropy);
}

class OwnPaths {
 public:
  // Null: there are none but the built-in ones. `told`: changes with what is denied.
  const EvEntries& to(PathSource& source, const IpAddress& peer, uint64_t told) {
    const Version version{source.version(), told};
    if (leading_of_ == version) return entries_;
    EvEntries anew = list_to(source, peer);
    // The same list for all as long as it is the same.
    if (anew == nullptr || entries_ == nullptr || *anew != *entries_) entries_ = std::move(anew);
    leading_of_ = version;
    return entries_;
  }
  // Null: none is denied.
  const PathNames& denied_from(PathSource& source, const IpAddress& peer, uint64_t told) {
    const Version version{source.version(), told};
    if (arriving_of_ == version) return denied_;
    denied_ = denied_list_from(source, peer);
    arriving_of_ = version;
    return denied_;
  }

 private:
  using Version = std::pair<uint64_t, uint64_t>;

  static EvEntries list_to(PathSource& source, const IpAddress& peer) {
    std::vector<EvEntry> all = source.paths_to(peer);
    if (all.empty()) return nullptr;
    // The headers below UDP are alike on all paths of a connection; what differs from the first is left out.
    const EvEntry first = all.front();
    std::erase_if(all, [&first](const EvEntry& entry) {
      return entry.has_outer != first.has_outer || entry.has_segment != first.has_segment;
    });
    return std::make_shared<const std::vector<EvEntry>>(std::move(all));
  }
  static PathNames denied_list_from(PathSource& source, const IpAddress& peer) {
    std::vector<uint64_t> names;
    for (const EvEntry& entry : source.paths_from(peer))
      if (entry.denied) names.push_back(path_name(entry.entropy, entry.plane));
    if (names.empty()) return nullptr;
    std::sort(names.begin(), names.end());
    return std::make_shared<const std::vector<uint64_t>>(std::move(names));
  }

  std::optional<Version> leading_of_;
  EvEntries entries_;
  std::optional<Version> arriving_of_;
  PathNames denied_;
};

}  // namespace mrc
