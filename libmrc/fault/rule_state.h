// SPDX-License-Identifier: BSD-2-Clause
// A rule and how far it is: what has matched, what was hit, and its own generator, so that what one rule does
// does not depend on the others.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmrc/fault/fault_rule.h"
#include "libmrc/guard/random_source.h"

namespace mrc {

class RuleState {
 public:
  // `hits`: where they are counted for others to see; may be null. `salt` tells engines of a process apart.
  RuleState(const FaultRule& rule, std::atomic<uint64_t>* hits, uint64_t salt)
      : rule_(rule), hits_(hits), random_(rule.seed * 0x9E3779B97F4A7C15u + salt) {}

  const FaultRule& rule() const { return rule_; }

  // Something matches; whether it is hit.
  bool hits() {
    if (matched_++ < rule_.skip || (rule_.count != 0 && hit_ >= rule_.count)) return false;
    if (rule_.rate < FaultRule::kAlways && random_.next() >> 32 >= rule_.rate) return false;
    ++hit_;
    if (hits_ != nullptr) hits_->fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // It could not be done after all: as if it had not matched.
  void take_back() {
    --hit_;
    if (hits_ != nullptr) hits_->fetch_sub(1, std::memory_order_relaxed);
  }
  uint64_t next() { return random_.next(); }

  // The same rule in a list that was changed elsewhere goes on where it was.
  bool is_same(const RuleState& other) const { return rule_.id == other.rule_.id && hits_ == other.hits_; }
  void go_on(const RuleState& before) {
    matched_ = before.matched_;
    hit_ = before.hit_;
    random_ = before.random_;
  }

 private:
  FaultRule rule_;
  std::atomic<uint64_t>* hits_;
  SeededRandom random_;
  uint64_t matched_ = 0;
  uint64_t hit_ = 0;
};

}  // namespace mrc
