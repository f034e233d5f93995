// SPDX-License-Identifier: BSD-2-Clause
// READs and atomics of ours that wait for their answer, found by the low bits of their MSN.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <vector>

namespace mrc {

class ReadTable {
 public:
  void reset(uint32_t capacity) {  // a power of two, at least as many as may be outstanding
    capacity_ = capacity;
    entries_.assign(entries_.size(), Entry{});
    outstanding_ = 0;
  }
  uint32_t outstanding() const { return outstanding_; }
  // Packets of answers that have come.
  uint64_t placed() const { return placed_; }
  void count_placed() { ++placed_; }

  // Before the first one, and after reset().
  bool has_memory() noexcept { return !entries_.empty() || make_entries(); }
  // False: another one whose number falls on the same entry still waits.
  bool add(uint16_t msn, uint64_t request) {
    Entry& entry = at(msn);
    if (entry.used) return false;
    entry = {true, false, msn, request};
    ++outstanding_;
    return true;
  }
  // It has left: from now on an answer may come.
  void sent(uint16_t msn) { at(msn).sent = true; }
  // The send queue index of the request, or nothing if no such request waits for an answer.
  std::optional<uint64_t> find(uint16_t msn) const {
    if (entries_.empty()) return std::nullopt;
    const Entry& entry = entries_[msn & (entries_.size() - 1)];
    if (!entry.sent || !entry.used || entry.msn != msn) return std::nullopt;
    return entry.request;
  }
  void remove(uint16_t msn) {
    at(msn).used = false;
    --outstanding_;
  }

 private:
  struct Entry {
    bool used = false;
    bool sent = false;
    uint16_t msn = 0;
    uint64_t request = 0;
  };
  bool make_entries() noexcept {
    try {
      entries_.resize(capacity_);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  Entry& at(uint16_t msn) { return entries_[msn & (entries_.size() - 1)]; }

  std::vector<Entry> entries_;  // none until the first READ
  uint32_t capacity_ = 0;
  uint32_t outstanding_ = 0;
  uint64_t placed_ = 0;
};

}  // namespace mrc
