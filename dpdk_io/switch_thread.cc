// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/switch_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <chrono>

#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/host/short_slices.h"

namespace mrc {
namespace {

// It polls on for so long after the last frame, and then naps: the longer nothing has come, the longer.
constexpr Nanoseconds kPollOn = 20 * kMicrosecond;
constexpr std::chrono::milliseconds kIdleWait{100};  // without programs

Nanoseconds nap_after(Nanoseconds idle) {
  if (idle > kSecond) return kMillisecond;
  return idle > 20 * kMillisecond ? 200 * kMicrosecond : 20 * kMicrosecond;
}

}  // namespace

void SwitchThread::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  stop_.store(false);
  thread_ = std::thread([this] { turn(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SwitchThread::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true);
  thread_.join();
}

void SwitchThread::change(const Change& change) {
  if (!thread_.joinable()) return change(switch_);
  std::unique_lock lock(mutex_);
  change_ = &change;
  change_waits_.store(true, std::memory_order_release);
  asked_.notify_one();
  made_.wait(lock, [this] { return change_ == nullptr; });
}

void SwitchThread::make_change() {
  const std::lock_guard lock(mutex_);
  change_waits_.store(false, std::memory_order_relaxed);
  if (change_ == nullptr) return;
  (*change_)(switch_);
  change_ = nullptr;
  made_.notify_one();
}

void SwitchThread::wait_for_change() {
  std::unique_lock lock(mutex_);
  asked_.wait_for(lock, kIdleWait, [this] { return change_ != nullptr; });
}

void SwitchThread::turn() {
  prctl(PR_SET_TIMERSLACK, 1);
  ask_for_short_slices();
  Nanoseconds last_frame = 0;
  bool napped = true;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (change_waits_.load(std::memory_order_acquire)) make_change();
    const Nanoseconds now = monotonic_now();
    const bool moved = switch_.turn(now, napped) > 0;
    napped = false;
    if (moved) {
      last_frame = now;
    } else if (switch_.program_count() == 0) {
      wait_for_change();
    } else if (now >= last_frame + kPollOn) {
      // Not a yield: who yields to somebody that computes gets the CPU back late, who wakes up at once.
      const timespec span{0, static_cast<long>(nap_after(now - last_frame))};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
      napped = true;
    }
  }
}

}  // namespace mrc
