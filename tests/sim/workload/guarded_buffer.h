// SPDX-License-Identifier: BSD-2-Clause
// Memory for a workload with guards on both sides: only the middle is registered, and nothing may ever touch
// the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mrc::sim {

class GuardedBuffer {
 public:
  static constexpr uint8_t kUntouched = 0xA5;
  static constexpr size_t kGuardBytes = 8192;

  void resize(size_t bytes) {
    bytes_ = bytes;
    memory_.assign(bytes + 2 * kGuardBytes, kUntouched);
  }
  uint8_t* data() { return memory_.data() + kGuardBytes; }
  const uint8_t* data() const { return memory_.data() + kGuardBytes; }
  size_t bytes() const { return bytes_; }
  bool guards_intact() const {
    for (size_t i = 0; i < kGuardBytes; ++i)
      if (memory_[i] != kUntouched || memory_[memory_.size() - 1 - i] != kUntouched) return false;
    return true;
  }

 private:
  std::vector<uint8_t> memory_;
  size_t bytes_ = 0;
};

}  // namespace mrc::sim
