// SPDX-License-Identifier: BSD-2-Clause
// The newest transmission of one queue pair that is known to have arrived, by path: a path keeps its order,
// so what was sent by it sooner and has not arrived is lost. Of one queue pair only: another one's news may
// be newer, and what that has heard of says nothing about what this one has not been told yet.
//
// Numbers of transmissions have 64 bits; kept are 32 of each, which count from a base that moves now and
// then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "libmrc/path/path_set.h"

namespace mrc {

class ArrivalsByPath {
 public:
  // Forgets everything; memory that was made before is kept.
  void clear() {
    since_base_.clear();
    base_ = newest_ = 0;
  }
  // Number `order` has arrived by this path, which is one of so many. False: that was known, or of a later
  // one.
  [[gnu::always_inline]] bool note(PathId id, uint64_t order, size_t paths) noexcept {
    newest_ = std::max(newest_, order);
    const auto index = static_cast<size_t>(id);
    const uint64_t since = order - base_;
    if (index >= since_base_.size() || since > UINT32_MAX) [[unlikely]]
      return note_with_care(index, order, paths);
    if (since <= since_base_[index]) return false;
    since_base_[index] = static_cast<uint32_t>(since);
    return true;
  }
  // By this path; 0: none.
  uint64_t of(PathId id) const {
    const auto index = static_cast<size_t>(id);
    return index < since_base_.size() && since_base_[index] != 0 ? base_ + since_base_[index] : 0;
  }
  // By any.
  uint64_t newest() const { return newest_; }

 private:
  static constexpr uint64_t kKept = uint64_t{1} << 31;  // transmissions, when the base moves

  // Room is made with the first that arrives: most queue pairs send nothing. Without memory nothing is known.
  [[gnu::noinline]] bool note_with_care(size_t index, uint64_t order, size_t paths) noexcept {
    try {
      if (since_base_.size() < paths) since_base_.resize(paths);
    } catch (const std::bad_alloc&) {
      return true;
    }
    if (order <= base_) return false;
    if (order - base_ > UINT32_MAX) {
      const uint64_t shift = order - kKept - base_;
      for (uint32_t& since : since_base_) since = since > shift ? static_cast<uint32_t>(since - shift) : 0;
      base_ += shift;
    }
    const auto since = static_cast<uint32_t>(order - base_);
    if (since <= since_base_[index]) return false;
    since_base_[index] = since;
    return true;
  }

  std::vector<uint32_t> since_base_;  // by path; 0: none
  uint64_t base_ = 0;
  uint64_t newest_ = 0;
};

}  // namespace mrc
