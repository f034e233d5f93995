// SPDX-License-Identifier: BSD-2-Clause
// Sends probes by all routes from this host through the fabric and back to it, until enough is known of each
// or the time is over.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/mrcctl/ask_ways.h"
#include "examples/mrcctl/fabric_routes.h"
#include "examples/mrcctl/fabric_verdict.h"
#include "examples/mrcctl/open_device.h"

namespace mrc {

struct SurveyOrder {
  uint32_t count = 100;  // probes by each route; four times as many by those that have lost one
  Nanoseconds time = 8 * kSecond;
};

class FabricSurvey {
 public:
  FabricSurvey(OpenDevice& device, const SurveyOrder& order);

  bool has_routes() const { return !routes_.empty(); }
  // 0 or an errno.
  int run();
  std::vector<RouteResult> results() const;

 private:
  struct Surveyed {
    FabricRoute route;
    ProbeWay way;
    uint32_t sent = 0;
    uint32_t answered = 0;
    bool silent() const { return answered == 0; }
    bool lossy() const { return answered < sent; }
  };
  // `each` probes by each of these. 0 or an errno.
  int ask(const std::vector<Surveyed*>& which, uint32_t each);
  // The same again and again with `each` or fewer, until all have `count` or it is `until`.
  int ask_until(bool (*wanted)(const Surveyed&), uint32_t count, uint32_t each, Nanoseconds until);

  OpenDevice& device_;
  const SurveyOrder order_;
  std::vector<Surveyed> routes_;
  Nanoseconds patience_;
};

}  // namespace mrc
