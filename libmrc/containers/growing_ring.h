// SPDX-License-Identifier: BSD-2-Clause
// A ring that begins small and doubles when more is in use. Most queue pairs never have much under way, and
// what they never use is neither memory nor in anybody's cache. It does not shrink: after a while nothing is
// allocated any more.
#pragma once

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace mrc {

// Indices run freely, or wrap at a power of two that is no less than the largest ring's size, as PSNs do.
template <typename Entry>
class GrowingRing {
 public:
  // Forgets everything; memory that was made before is kept.
  void clear(const Entry& blank = {}) { entries_.assign(entries_.size(), blank); }

  uint64_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  Entry& at(uint64_t index) { return entries_[index & mask_]; }
  const Entry& at(uint64_t index) const { return entries_[index & mask_]; }

  // At set-up: the first few, so that there is some room whatever becomes of memory later.
  void make_first(const Entry& blank = {}) {
    // Not by a packet: when a connection is made.
    if (entries_.empty() && !grow(0, 1, blank)) throw std::bad_alloc();
  }
  // So that `count` entries from `first` on have places of their own. Those that are there already keep what
  // is in them, the others are as `blank`. False: there is no memory, and all is as before.
  bool make_room(uint64_t first, uint64_t count, const Entry& blank = {}) noexcept {
    return count <= entries_.size() || grow(first, count, blank);
  }

 private:
  static constexpr uint64_t kFirstSize = 4;

  [[gnu::noinline]] bool grow(uint64_t first, uint64_t count, const Entry& blank) noexcept {
    uint64_t size = entries_.empty() ? kFirstSize : 2 * entries_.size();
    while (size < count) size *= 2;
    try {
      std::vector<Entry> larger(size, blank);
      for (uint64_t i = first; i != first + entries_.size(); ++i) larger[i & (size - 1)] = std::move(at(i));
      entries_.swap(larger);
      mask_ = size - 1;
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  std::vector<Entry> entries_;  // a power of two of them, or none
  uint64_t mask_ = 0;
};

}  // namespace mrc
