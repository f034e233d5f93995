// SPDX-License-Identifier: BSD-2-Clause
// What the responder has the requester say in its own stream: answers (READ data and results of atomics), and
// how far the peer's messages are done.
#pragma once

#include <cassert>
#include <cstdint>

#include "libmrc/containers/growing_ring.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/psn.h"

namespace mrc {

struct Response {
  bool atomic = false;
  uint16_t msn = 0;  // of the request it answers
  uint32_t bytes = 0;
  uint64_t address = 0;
  MemoryKey key{};
  uint64_t result = 0;  // of an atomic
  Psn psn;              // of the request
};

class ResponseQueue {
 public:
  void reset(uint32_t capacity) {
    entries_.clear();
    capacity_ = capacity;
    head_ = tail_ = 0;
    done_word_ = 0;
  }
  size_t size() const { return tail_ - head_; }
  // For so many more. False: that is too much, or there is no memory.
  bool make_room(size_t more) noexcept {
    return size() + more <= capacity_ && entries_.make_room(head_, size() + more);
  }
  uint64_t head() const { return head_; }
  uint64_t tail() const { return tail_; }
  void push(const Response& response) {
    // Not by a packet: the responder drops requests for which there will be no room here.
    assert(size() < entries_.size());
    entries_.at(tail_++) = response;
  }
  const Response& at(uint64_t index) const { return entries_.at(index); }
  void release(uint64_t new_head) { head_ = new_head; }

  // As a SEND carries it in the field where a WRITE has its key: 0, or this flag and the PSN up to which all
  // is done.
  static constexpr uint32_t kDoneFlag = 1u << 24;
  void note_done(Psn psn) { done_word_ = kDoneFlag | psn.value(); }
  uint32_t done_word() const { return done_word_; }

 private:
  GrowingRing<Response> entries_;
  size_t capacity_ = 0;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  uint32_t done_word_ = 0;
};

}  // namespace mrc
