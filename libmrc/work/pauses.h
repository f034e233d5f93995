// SPDX-License-Identifier: BSD-2-Clause
// When this host did not run. A queue pair hears of it when it next has something to do, so that a pause
// costs the same with one queue pair and with thousands.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc {

class Pauses {
 public:
  void add(Nanoseconds away, Nanoseconds until) { last_[count_++ % kKept] = {away, until}; }
  uint64_t count() const { return count_; }

  // Those since `*seen` were counted, in their order. More than are kept are not missed by anybody who waits:
  // timers look more often.
  template <typename Each>
  void tell(uint64_t* seen, Each&& each) const {
    for (uint64_t i = count_ - *seen > kKept ? count_ - kKept : *seen; i != count_; ++i)
      each(last_[i % kKept].away, last_[i % kKept].until);
    *seen = count_;
  }

 private:
  static constexpr uint64_t kKept = 32;
  struct Pause {
    Nanoseconds away = 0;
    Nanoseconds until = 0;
  };

  std::array<Pause, kKept> last_{};
  uint64_t count_ = 0;
};

}  // namespace mrc
