// SPDX-License-Identifier: BSD-2-Clause
// In which order send requests start and end, whatever the transport: which one is next and whether it may
// start, what is done without packets, and which status they have in the end. Requests complete in order.
#pragma once

#include <cstdint>
#include <optional>

#include "libmrc/work/context.h"
#include "libmrc/work/request_completion.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

class RequestOrder {
 public:
  // Send queue index of the next one to start. Those before it have started, or are gone.
  uint64_t next() const { return next_; }
  void skip_to(uint64_t index) { next_ = index; }
  bool has_next(const Context& cx) const { return next_ != cx.send_queue.tail(); }
  SendRequest& next_request(const Context& cx) const { return cx.send_queue.at(next_); }
  // Nothing that was started is under way.
  bool all_done(const Context& cx) const { return cx.send_queue.head() == next_; }

  // Whether the order of operations lets the next one start. `awaited`: READs and atomics that have no answer
  // yet.
  [[gnu::always_inline]] bool may_start(const Context& cx, const SendRequest& next, uint32_t awaited) const {
    // What is under way may still have to be sent again from memory that a local operation takes away.
    if (is_local(next.operation)) return all_done(cx);
    // IBTA 9.7.3: no more than the peer can answer at a time.
    if (awaits_answer(next.operation) && awaited >= cx.connection.reads_max) return false;
    // IBTA 10.8.3.3: a fence waits for all READs and atomics before it.
    return (next.flags & kFence) == 0 || awaited == 0;
  }
  // Does the local operations that are next. False: one of them failed, or must wait.
  bool pass_local_operations(Context& cx);
  // The next one has started.
  void start() { ++next_; }
  // The next one cannot be sent. What is before it completes first.
  void fail_next(const Context& cx, CompletionStatus status) {
    next_error_ = status;
    if (all_done(cx)) failure_ = status;
  }
  // It has failed, so no other one starts.
  bool next_failed() const { return next_error_.has_value(); }

  // The oldest one is done.
  [[gnu::always_inline]] void complete_oldest(Context& cx) {
    ++cx.services.counters.messages_completed;
    if (!mrc::complete_oldest(cx, CompletionStatus::kSuccess)) failure_ = CompletionStatus::kGeneralError;
    if (next_error_ && all_done(cx)) [[unlikely]]
      failure_ = next_error_;
  }
  // Completes all: the oldest with `first`, the rest as flushed.
  void flush(Context& cx, CompletionStatus first);

  // Set when the connection cannot go on: the status of the oldest request that is not complete.
  const std::optional<CompletionStatus>& failure() const { return failure_; }
  void fail(CompletionStatus status) { failure_ = status; }
  void excuse() { failure_.reset(); }

 private:
  uint64_t next_ = 0;
  std::optional<CompletionStatus> next_error_;  // told in its turn
  std::optional<CompletionStatus> failure_;
};

}  // namespace mrc
