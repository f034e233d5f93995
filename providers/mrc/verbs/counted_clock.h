// SPDX-License-Identifier: BSD-2-Clause
// A clock that is read so often that asking the system for the time is a tenth of a small message: between
// two looks at the system's clock it goes by the processor's counter. In between it runs a thousandth slow,
// more than that clock is ever slewed, so it lags by a tenth of a microsecond at most and never has to be
// set back. Whatever the counter does that a counter should not (steps back, stands still, runs on while the
// machine sleeps) ends in a look.
//
// Many threads may read it. What two of them set at the same time may mix: either's values are right.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc::provider {

// Source: counts(), the processor's counter; is_even(), whether that runs evenly and is the same on all CPUs
// (if not, it is not used); time(), the system's clock.
template <typename Source>
class CountedClock {
 public:
  constexpr explicit CountedClock(const Source& source) : source_(source) {}

  [[gnu::always_inline]] inline Nanoseconds now() {
    const uint64_t rate = rate_.load(std::memory_order_relaxed);
    if (rate == 0) [[unlikely]]
      return learn();
    const uint64_t count = source_.counts();
    const uint64_t counted = count - looked_at_.load(std::memory_order_relaxed);
    const Nanoseconds offset = offset_.load(std::memory_order_relaxed);
    if (counted >= look_after_.load(std::memory_order_relaxed) || offset == kNever) [[unlikely]]
      return look(rate);
    return scaled(count, rate) + offset;
  }

 private:
  static constexpr Nanoseconds kLookInterval = 100 * kMicrosecond;
  // The rate is measured over so long at least; a measurement that takes so long is begun again. Either end
  // may be interrupted between clock and counter: what lies between two looks at the counter must be a small
  // part, smaller than what the clock is slow by.
  static constexpr Nanoseconds kLearnMin = 5 * kMillisecond;
  static constexpr Nanoseconds kLearnMax = kSecond;
  static constexpr uint64_t kWidthPart = 16384;
  // A look that takes longer was interrupted: nobody knows which count belongs to its time.
  static constexpr Nanoseconds kLookMax = kMicrosecond;
  static constexpr unsigned kSlower = 10;  // by one part of 2^kSlower

  // `rate`: nanoseconds for a count, times 2^32.
  static Nanoseconds scaled(uint64_t count, uint64_t rate) {
    return static_cast<Nanoseconds>(static_cast<unsigned __int128>(count) * rate >> 32);
  }

  // The system's time, until the rate is known.
  [[gnu::noinline]] Nanoseconds learn() {
    if (!even_.load(std::memory_order_relaxed) || learning_.test_and_set(std::memory_order_acquire))
      return source_.time();
    const uint64_t before = source_.counts();
    const Nanoseconds now = source_.time();
    const uint64_t after = source_.counts();
    const uint64_t counted = after - began_at_;
    if (began_ == 0 || now - began_ > kLearnMax) {
      if (began_ == 0 && !source_.is_even()) even_.store(false, std::memory_order_relaxed);
      began_ = now;
      began_at_ = after;
      began_width_ = after - before;
    } else if (now - began_ >= kLearnMin && std::max(after - before, began_width_) <= counted / kWidthPart) {
      settle(now - began_, counted);
    }
    learning_.clear(std::memory_order_release);
    return now;
  }

  void settle(Nanoseconds span, uint64_t counted) {
    // Slower than 1 MHz or faster than 1 THz is no clock: it is measured again.
    began_ = 0;
    if (counted < span / 1000 || counted > span * 1000) return;
    const auto rate = static_cast<uint64_t>((static_cast<unsigned __int128>(span) << 32) / counted);
    look_after_.store(counted * kLookInterval / span, std::memory_order_relaxed);
    rate_.store(rate - (rate >> kSlower), std::memory_order_relaxed);
  }

  [[gnu::noinline]] Nanoseconds look(uint64_t rate) {
    const uint64_t before = source_.counts();
    const Nanoseconds now = source_.time();
    const uint64_t after = source_.counts();
    if (after < before || scaled(after - before, rate) > kLookMax) return now;
    offset_.store(now - scaled(after, rate), std::memory_order_relaxed);
    looked_at_.store(after, std::memory_order_relaxed);
    return now;
  }

  Source source_;
  // The time is that of the last look plus what was counted since. All relaxed: a load that has to wait for
  // the stores before it would cost more than it is worth.
  std::atomic<uint64_t> rate_{0};  // 0: not known yet
  std::atomic<uint64_t> look_after_{0};
  std::atomic<uint64_t> looked_at_{0};
  std::atomic<Nanoseconds> offset_{kNever};
  std::atomic<bool> even_{true};  // as far as is known
  // Where the measurement of the rate began. Whoever has set the flag has them.
  std::atomic_flag learning_ = ATOMIC_FLAG_INIT;
  Nanoseconds began_ = 0;
  uint64_t began_at_ = 0;
  uint64_t began_width_ = 0;
};

}  // namespace mrc::provider
