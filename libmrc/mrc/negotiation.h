// SPDX-License-Identifier: BSD-2-Clause
// How a queue pair learns whether its peer speaks the extension: it asks QPN 2 there (a vendor operation
// beside MRC's two) when it becomes ready to receive, and again until there is an answer or the patience
// ends. The answer also tells which PSN the peer's queue pair expects: who is only ready to receive has no
// send PSN of its own yet, but must answer READs and atomics.
//
// Silence is no answer: a peer that was stopped when the connection was made is asked on, ever less often.
// Only while a request waits for the answer there is an end to it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "libmrc/wire/time.h"
#include "libmrc/work/context.h"

namespace mrc {

// Bits of vendor_info in the answer.
enum PeerCapability : uint8_t {
  kSpeaksExtension = 1 << 0,
  kTellsExpectedPsn = 1 << 1,  // of the queue pair that the request named
};

class Negotiation {
 public:
  void start(Nanoseconds now) {
    next_at_ = now;
    attempts_ = 0;
    awaited_ = false;
    asked_since_ = kNever;
  }
  // A request waits for the answer: it is asked as if anew, and for so long at most.
  void await(Nanoseconds now, Nanoseconds patience) {
    if (awaited_ || !under_way()) return;
    start(now);
    awaited_ = true;
    patience_ = std::max(patience, kPatienceMin);
    give_up_at_ = now + kLinkPatience;
  }
  void stop() { next_at_ = kNever; }
  bool under_way() const { return next_at_ != kNever; }
  Nanoseconds next_deadline() const { return next_at_; }

  // Asks if it is time to. False: there is no use in asking any longer.
  bool on_timer(Context& cx);

 private:
  // Four attempts a millisecond apart, four at two, and so on; about two seconds in all until it is asked
  // less often. What cannot be sent, because there is no link to the peer yet, is no attempt.
  static constexpr uint32_t kAttemptsOften = 60;
  static constexpr Nanoseconds kPatienceMin = 2 * kSecond;
  static constexpr Nanoseconds kRareWaitMax = 64 * kSecond;
  static constexpr Nanoseconds kFirstWait = kMillisecond;
  static constexpr Nanoseconds kWaitMax = 50 * kMillisecond;

  Nanoseconds next_at_ = kNever;
  uint32_t attempts_ = 0;
  bool awaited_ = false;
  Nanoseconds patience_ = 0;          // while it is awaited, from the first attempt on
  Nanoseconds asked_since_ = kNever;  // the first attempt
  Nanoseconds give_up_at_ = kNever;   // if it is awaited and nothing can be sent until then
};

}  // namespace mrc
