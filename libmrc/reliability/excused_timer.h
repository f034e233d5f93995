// SPDX-License-Identifier: BSD-2-Clause
// Counts how long nothing was heard. While this host did not run nothing could be: such pauses are excused.
// But where CPUs are short every turn comes late, and time that is always excused never ends. So only the
// longest pause counts whole; all others together count no more than kExcuses times what is waited for.
#pragma once

#include <algorithm>

#include "libmrc/wire/time.h"

namespace mrc {

class ExcusedTimer {
 public:
  static constexpr Nanoseconds kExcuses = 7;

  void restart(Nanoseconds at) {
    since_ = at;
    excused_ = longest_ = 0;
  }
  Nanoseconds since() const { return since_; }
  // It was not looked at for `away` until now. `span`: how long it waits.
  void excuse(Nanoseconds away, Nanoseconds now, Nanoseconds span) {
    if (since_ >= now) return;
    away = std::min(away, now - since_);
    longest_ = std::max(longest_, away);
    const Nanoseconds limit = std::max(longest_ + kExcuses * span, excused_);  // the span may have shrunk
    away = std::min(away, limit - excused_);
    since_ += away;
    excused_ += away;
  }

 private:
  Nanoseconds since_ = 0;
  Nanoseconds excused_ = 0;
  Nanoseconds longest_ = 0;
};

}  // namespace mrc
