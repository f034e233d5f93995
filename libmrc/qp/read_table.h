// SPDX-License-Identifier: BSD-2-Clause
// READs and atomics of ours that wait for their answer, found by the low bits of their MSN.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace mrc {

class ReadTable {
 public:
  void reset(uint32_t capacity) {  // a power of two, at least as many as may be outstanding
    entries_.assign(capacity, Entry{});
    outstanding_ = 0;
  }
  uint32_t outstanding() const { return outstanding_; }

  // False: another one whose number falls on the same entry still waits.
  bool add(uint16_t msn, uint64_t request) {
    Entry& entry = at(msn);
    if (entry.used) return false;
    entry = {true, msn, request};
    ++outstanding_;
    return true;
  }
  // The send queue index of the request, or nothing if no such request waits.
  std::optional<uint64_t> find(uint16_t msn) const {
    const Entry& entry = entries_[msn & (entries_.size() - 1)];
    if (!entry.used || entry.msn != msn) return std::nullopt;
    return entry.request;
  }
  void remove(uint16_t msn) {
    at(msn).used = false;
    --outstanding_;
  }

 private:
  struct Entry {
    bool used = false;
    uint16_t msn = 0;
    uint64_t request = 0;
  };
  Entry& at(uint16_t msn) { return entries_[msn & (entries_.size() - 1)]; }

  std::vector<Entry> entries_;
  uint32_t outstanding_ = 0;
};

}  // namespace mrc
