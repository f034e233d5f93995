// SPDX-License-Identifier: BSD-2-Clause
// READs and atomics of both directions: what requester and responder of a queue pair tell each other.
#pragma once

#include "libmrc/mrc/read_table.h"
#include "libmrc/mrc/response_queue.h"
#include "libmrc/work/terms.h"

namespace mrc {

struct Answers {
  ResponseQueue owed;  // filled by the responder, sent by the requester
  ReadTable awaited;   // filled by the requester, looked up by the responder

  void reset() {
    awaited.reset(kReadsMax);
    owed.reset(2 * kReadsMax);  // an answer stays until it is acknowledged, and more may be asked for by then
  }
};

}  // namespace mrc
