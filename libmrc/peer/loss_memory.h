// SPDX-License-Identifier: BSD-2-Clause
// Whether something on its way to a peer was lost not long ago, in packets that were sent since. Of one peer:
// what is lost on the way to another, or is said to be, says nothing about it, unless there are several.
#pragma once

#include <algorithm>
#include <array>
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

// The last peers to which something was lost. If it is so with as many at a time it is not one of them, but
// the network.
class LossyPeers {
 public:
  // `sent`: packets so far, to all peers.
  void lost(const LossMemory* peer, uint64_t sent) {
    Loss* place = &losses_[0];
    for (Loss& loss : losses_) {
      if (loss.peer == peer) {
        place = &loss;
        break;
      }
      if (loss.until < place->until) place = &loss;
    }
    *place = {peer, sent + LossMemory::kPackets};
    until_ = std::min_element(losses_.begin(), losses_.end(), [](const Loss& a, const Loss& b) {
               return a.until < b.until;
             })->until;
  }
  bool several(uint64_t sent) const { return sent < until_; }

 private:
  struct Loss {
    const LossMemory* peer = nullptr;  // only to tell them apart
    uint64_t until = 0;
  };
  std::array<Loss, 3> losses_;
  uint64_t until_ = 0;
};

}  // namespace mrc
