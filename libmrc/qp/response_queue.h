// SPDX-License-Identifier: BSD-2-Clause
// Answers that the responder owes and the requester sends in its own stream: READ data and results of
// atomics.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

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
  void reset(uint32_t capacity) {  // a power of two
    entries_.assign(capacity, Response{});
    head_ = tail_ = 0;
  }
  size_t size() const { return tail_ - head_; }
  size_t capacity() const { return entries_.size(); }
  uint64_t head() const { return head_; }
  uint64_t tail() const { return tail_; }
  void push(const Response& response) {
    assert(size() < capacity());
    entries_[tail_++ & (entries_.size() - 1)] = response;
  }
  const Response& at(uint64_t index) const { return entries_[index & (entries_.size() - 1)]; }
  void release(uint64_t new_head) { head_ = new_head; }

 private:
  std::vector<Response> entries_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
};

}  // namespace mrc
