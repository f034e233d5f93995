// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host/dcqcn.h"

#include <algorithm>

namespace mrc::sim {

namespace {
constexpr double kAlphaNone = 1e-6;       // not worth counting on
constexpr double kReleasedShare = 0.999;  // halving the distance would never get there
}  // namespace

DcqcnSettings DcqcnSettings::for_line(double gigabits) {
  DcqcnSettings settings;
  settings.line_gigabits = gigabits;
  settings.additive_gigabits = settings.least_gigabits = gigabits / 1000;
  settings.hyper_gigabits = 10 * settings.additive_gigabits;
  return settings;
}

DcqcnRate::DcqcnRate(const DcqcnSettings& settings)
    : settings_(settings), current_(settings.line_gigabits), target_(settings.line_gigabits) {}

// Equation 1 of the paper; all counters begin again.
void DcqcnRate::on_notification(Picoseconds now) {
  advance(now);
  target_ = current_;
  current_ = std::max(settings_.least_gigabits, current_ * (1 - alpha_ / 2));
  alpha_ = (1 - settings_.gain) * alpha_ + settings_.gain;
  limited_ = true;
  timer_stages_ = byte_stages_ = 0;
  bytes_ = 0;
  alpha_due_ = now + settings_.alpha_timer;
  rate_due_ = now + settings_.rate_timer;
}

void DcqcnRate::advance(Picoseconds now) {
  for (; alpha_due_ != 0 && alpha_due_ <= now; alpha_due_ += settings_.alpha_timer) {
    alpha_ *= 1 - settings_.gain;  // equation 2
    if (alpha_ > kAlphaNone) continue;
    alpha_ = 0;
    alpha_due_ = 0;
    break;
  }
  for (; limited_ && rate_due_ <= now; rate_due_ += settings_.rate_timer) {
    ++timer_stages_;
    increase();
  }
}

void DcqcnRate::on_sent(Picoseconds now, uint64_t bytes) {
  advance(now);
  if (!limited_) return;
  for (bytes_ += bytes; limited_ && bytes_ >= settings_.byte_counter; bytes_ -= settings_.byte_counter) {
    ++byte_stages_;
    increase();
  }
}

// Equations 3 and 4: fast recovery until one of the counters has passed all stages, hyper increase when both
// have, additive increase in between.
void DcqcnRate::increase() {
  const auto [least, most] = std::minmax(timer_stages_, byte_stages_);
  const uint32_t stages = settings_.recovery_stages;
  if (least > stages) {
    target_ += settings_.hyper_gigabits * (least - stages);
  } else if (most >= stages) {
    target_ += settings_.additive_gigabits;
  }
  target_ = std::min(target_, settings_.line_gigabits);
  current_ = (current_ + target_) / 2;
  if (current_ < kReleasedShare * settings_.line_gigabits) return;
  current_ = target_ = settings_.line_gigabits;
  limited_ = false;
}

}  // namespace mrc::sim
