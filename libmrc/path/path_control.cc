// SPDX-License-Identifier: BSD-2-Clause
// MRC 4.5, reverse set: which path what is said to the peer takes.
#include <algorithm>

#include "libmrc/path/path_set.h"

namespace mrc {

PathId PathSet::control_path(Plane plane, Entropy heard, bool asked) {
  if (plane >= planes_.size() || planes_[plane].count == 0) {
    if (paths_.empty()) return kNoPath;
    plane = paths_[random_() % paths_.size()].plane;
  }
  PlaneInfo& info = planes_[plane];
  if (info.working != kNoPath && info.working_uses < kWorkingUses) {
    // Whoever has to ask may have missed our answers: it is trusted this time, and then has to be seen again.
    info.working_uses = static_cast<uint8_t>(info.working_uses + (asked ? kWorkingUses : 1));
    return info.working;
  }
  // [P] What breaks a link mostly breaks both its directions: back by the path on which the peer was heard.
  // Mostly: every other question is answered by any other, lest one that only works one way is never found
  // out.
  const PathId same = heard == Entropy{} ? kNoPath : find(heard, plane);
  const bool other = asked && (++info.questions & 1) == 0;
  if (same != kNoPath && !other && at(same).state != PathState::kDenied) return same;
  // Nothing is known for sure: spread, so that one dead path does not swallow every answer.
  const size_t start = random_() % info.count;
  PathId fallback = PathId(info.first + start);
  for (size_t i = 0; i < info.count; ++i) {
    const PathId id = PathId(info.first + (start + i) % info.count);
    if (at(id).state == PathState::kGood && !at(id).reluctant) return id;
    if (at(id).state != PathState::kDenied && at(fallback).state == PathState::kDenied) fallback = id;
  }
  return fallback;
}

PathId PathSet::find(Entropy entropy, Plane plane) const {
  if (plane >= planes_.size()) return kNoPath;
  const PlaneInfo& info = planes_[plane];
  for (size_t i = info.first; i < size_t{info.first} + info.count; ++i)
    if (paths_[i].entropy == entropy) return PathId(i);
  return kNoPath;
}

PathId PathSet::take_reverse_probe(Nanoseconds now) {
  if (!reverse_probe_due(now)) return kNoPath;
  reverse_probe_at_ = now + std::max(rtt_, config_.probe_interval / kReverseProbesPerInterval);
  const bool heard = sending_heard_;
  sending_heard_ = false;
  if (heard || active_ == 0) return kNoPath;
  // Any plane, any good path of it.
  size_t skip = random_() % active_;
  for (const Path& path : paths_)
    if (path.in_use() && port_is_up(path.plane) && skip-- == 0) return id_of(path);
  return kNoPath;
}

}  // namespace mrc
