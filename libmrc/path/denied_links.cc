// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/denied_links.h"

#include <algorithm>

#include "libmrc/wire/srv6.h"

namespace mrc {

bool DeniedLinks::has(uint16_t one, uint16_t other) const {
  return std::any_of(links_.begin(), links_.end(), [=](const UsidLink& link) {
    if (link.other == 0) return link.one == one || link.one == other;
    return (link.one == one && link.other == other) || (link.one == other && link.other == one);
  });
}

// From the host over every switch of the route; a segment goes on where the outer destination ends.
bool DeniedLinks::on_way(const EvEntry& entry, uint16_t host) const {
  uint16_t at = host;
  const auto meets = [&](const IpAddress& route) {
    for (size_t i = 0; i < kUsidsMax; ++i) {
      const uint16_t next = usid_at(route, i);
      if (next == 0) return false;
      if (has(at, next)) return true;
      at = next;
    }
    return false;
  };
  return meets(entry.outer_destination) || (entry.has_segment && meets(entry.segment));
}

void DeniedLinks::apply(const PathSource* source, std::vector<EvEntry>* entries) const {
  apply([source](Plane plane) { return source != nullptr ? source->outer_source(plane) : std::nullopt; },
        entries);
}

void DeniedLinks::apply(const HostOn& host, std::vector<EvEntry>* entries) const {
  if (links_.empty()) return;
  std::vector<bool> denied;
  denied.reserve(entries->size());
  bool any_left = false;
  for (const EvEntry& entry : *entries) {
    const auto from = host(entry.plane);
    denied.push_back(entry.denied || (entry.has_outer && on_way(entry, from ? usid_at(*from, 0) : 0)));
    any_left = any_left || !denied.back();
  }
  if (!any_left) return;
  for (size_t i = 0; i < entries->size(); ++i) (*entries)[i].denied = denied[i];
}

}  // namespace mrc
