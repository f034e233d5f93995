// SPDX-License-Identifier: BSD-2-Clause
// DCQCN's reaction point (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015): the
// rate of one flow, cut when a congestion notification comes and raised by time and by bytes. It is looked
// at when something happens, so it needs no timer of its own.
#pragma once

#include <cstdint>

#include "tests/sim/core/time.h"

namespace mrc::sim {

// The paper's values, which are for 40 Gb/s; rates go with the line.
struct DcqcnSettings {
  double line_gigabits = 100;
  double gain = 1.0 / 256;  // g: how fast alpha follows
  Picoseconds alpha_timer = 55 * kPerMicrosecond;
  Picoseconds rate_timer = 55 * kPerMicrosecond;
  uint64_t byte_counter = 10'000'000;
  uint32_t recovery_stages = 5;                   // F
  double additive_gigabits = 0.1;                 // R_AI
  double hyper_gigabits = 1;                      // R_HAI
  double least_gigabits = 0.1;                    // a flow never stops
  Picoseconds notify_gap = 50 * kPerMicrosecond;  // N: of the receiver, between two notifications of a flow

  // R_AI 40 Mb/s of 40 Gb/s is a thousandth of the line. R_HAI is ten times R_AI, as NICs have it.
  static DcqcnSettings for_line(double gigabits);
};

class DcqcnRate {
 public:
  explicit DcqcnRate(const DcqcnSettings& settings);

  // What is due by `now`. Time does not go back.
  void advance(Picoseconds now);
  void on_notification(Picoseconds now);
  void on_sent(Picoseconds now, uint64_t bytes);

  double gigabits() const { return current_; }
  double target_gigabits() const { return target_; }
  double alpha() const { return alpha_; }
  // Below the line rate. Others are not held back, and nothing of them is counted.
  bool limited() const { return limited_; }

 private:
  void increase();

  const DcqcnSettings& settings_;  // of the port; outlives the flow
  double current_;                 // R_C
  double target_;                  // R_T
  double alpha_ = 1;
  bool limited_ = false;
  uint32_t timer_stages_ = 0;  // T
  uint32_t byte_stages_ = 0;   // BC
  uint64_t bytes_ = 0;         // since the last stage
  Picoseconds alpha_due_ = 0;
  Picoseconds rate_due_ = 0;
};

}  // namespace mrc::sim
