// SPDX-License-Identifier: BSD-2-Clause
// ECN: marks and trims cost a path turns.
#include <algorithm>

#include "libmrc/path/path_set.h"

namespace mrc {

// MRC 4.2 leaves it open how long SKIP lasts. One turn takes at most half of its packets off a path; one that
// belongs to somebody else, such as a flow that has no other, has to be left nearly alone. So every mark in a
// row doubles what is missed, and every answer without one takes a doubling back. From the second mark on a
// path gets single packets until their answers are better: a whole round trip of them would be too late.
void PathSet::skip(Path& busy, uint8_t level) {
  if (marks_are_common()) return;  // MRC 5.4: the last hop marks everything; no path is better
  busy.mark_level = static_cast<uint8_t>(std::clamp(busy.mark_level + 1, level + 1, mark_level_max_ + 0));
  // MRC 4.3 [P]: a mark on a path that already skips does not add another turn.
  if (busy.state == PathState::kGood) miss_turns(busy);
}

void PathSet::miss_turns(Path& busy) {
  busy.state = PathState::kSkip;
  busy.skip_turns = static_cast<uint8_t>(1u << (busy.mark_level - 1));
  tally(&PathCounters::skipped);
}

void PathSet::forgive(Path& busy) {
  busy.state = PathState::kGood;
  tally(&PathCounters::forgiven);
}

void PathSet::unmarked(uint32_t packets) {
  for (uint32_t left = std::min(packets, kMarksMemory); left > 0; --left) marks_ -= marks_ >> kMarksShift;
}

void PathSet::marked(PathId id, bool ce) {
  if (!ce) {
    marks_ -= marks_ >> kMarksShift;
    if (path(id).mark_level > 0) --path(id).mark_level;
    return;
  }
  marks_ += (kMarksOne - marks_) >> kMarksShift;
  skip_once(id);
}

}  // namespace mrc
