// SPDX-License-Identifier: BSD-2-Clause
// Whether something on its way to a peer was lost not long ago, in packets that were sent to it since. Of one
// peer: what is lost on the way to another says nothing about it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mrc {

class LossMemory {
 public:
  // One loss in so many packets is remembered all the time.
  static constexpr uint32_t kPackets = 1 << 16;

  void lost() { left_ = kPackets; }
  void sent(uint32_t packets) { left_ -= std::min(left_, packets); }
  bool remembers() const { return left_ > 0; }

 private:
  uint32_t left_ = 0;
};

}  // namespace mrc
