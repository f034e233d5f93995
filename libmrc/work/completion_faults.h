// SPDX-License-Identifier: BSD-2-Clause
// Where requests and completions can be made to go wrong on purpose (libmrc/fault), or to come in another
// order than usual. Nobody is asked as long as nothing is injected.
#pragma once

#include <optional>

#include "libmrc/work/completion_queue.h"

namespace mrc {

class CompletionSink;

class CompletionFaults {
 public:
  enum class Fate { kPass, kTaken, kPassBehindKept, kOverrun };

  // A request is about to be sent. A status: it completes with that instead, and the queue pair ends.
  virtual std::optional<CompletionStatus> on_request(Qpn qpn) = 0;
  // A completion is about to be pushed. kTaken: it was kept and comes later; kPassBehindKept: no more can be
  // kept, so all that are go first; kOverrun: the queue is full.
  virtual Fate on_completion(CompletionQueue& queue, const Completion& completion) = 0;
  // Pushes all that it has kept, due or not.
  virtual void give_back(CompletionSink& sink) = 0;

 protected:
  ~CompletionFaults() = default;
};

}  // namespace mrc
