// SPDX-License-Identifier: BSD-2-Clause
// Says when the data path is inside a burst, so that other threads can wait before they take away what a
// burst may be using: a link, or the shared memory behind it.
//
// The data path pays one plain store on each side. The other side pays for both: membarrier() makes every
// running thread of the process pass a full barrier.
#pragma once

#include <atomic>

namespace mrc {

class BurstGuard {
 public:
  BurstGuard();
  ~BurstGuard();
  BurstGuard(const BurstGuard&) = delete;
  BurstGuard& operator=(const BurstGuard&) = delete;

  void enter() noexcept {
    active_.store(true, std::memory_order_relaxed);
    if (fence_needed_) __sync_synchronize();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() noexcept { active_.store(false, std::memory_order_release); }

  // What this thread has stored before is seen by every burst that begins after the call; bursts that began
  // earlier have ended. Never called inside a burst.
  void wait() const;
  // The same for all guards of the process.
  static void wait_for_all();

  // Every store that any thread of this process made before is visible to all after the call.
  static void publish_stores_of_all_threads();

 private:
  void wait_until_idle() const;

  alignas(64) std::atomic<bool> active_{false};  // written by the data path, read by those who wait
  const bool fence_needed_;                      // no membarrier() here
};

class BurstScope {
 public:
  explicit BurstScope(BurstGuard& guard) noexcept : guard_(guard) { guard_.enter(); }
  ~BurstScope() { guard_.leave(); }
  BurstScope(const BurstScope&) = delete;
  BurstScope& operator=(const BurstScope&) = delete;

 private:
  BurstGuard& guard_;
};

}  // namespace mrc
