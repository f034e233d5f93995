// SPDX-License-Identifier: BSD-2-Clause
// The system's random numbers, for what nobody may guess.
#pragma once

#include "libmrc/guard/keyed_hash.h"
#include "libmrc/guard/random_source.h"

namespace mrc::provider {

class SystemRandom final : public RandomSource {
 public:
  SystemRandom();
  // False: the system gives none; do not begin.
  bool ready() const { return ready_; }
  uint64_t next() override;

 private:
  bool ready_;
  // Should the program forbid itself the system call later (seccomp): numbers of a key from before.
  KeyedHash spare_{0, 0};
  uint64_t spared_ = 0;
};

}  // namespace mrc::provider
