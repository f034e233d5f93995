// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/event_trace.h"

#include <array>

namespace mrc {

const char* name_of(TraceEvent event) {
  static constexpr std::array kNames = {
      "sent",         "sent_again", "received",    "duplicate",      "trimmed",    "out_of_window",
      "sack",         "nack",       "acknowledge", "lost_path",      "lost_late",  "lost_count",
      "lost_timeout", "lost_nack",  "lost_port",   "lost_not_ready", "probe_sent", "probe_answered",
      "path_bad",     "path_good",  "mpr",         "failed"};
  static_assert(kNames.size() == static_cast<size_t>(TraceEvent::kFailed) + 1);
  return kNames[static_cast<size_t>(event)];
}

}  // namespace mrc
