// SPDX-License-Identifier: BSD-2-Clause
// A congestion window that does not move by itself: for links that push back by themselves.
#pragma once

#include <cstdint>

namespace mrc {

class FixedWindow {
 public:
  void reset(uint64_t bytes) { bytes_ = bytes; }
  // MRC 5.1: sending goes on while the window is larger than what is in flight.
  bool may_send(uint64_t in_flight_bytes) const { return in_flight_bytes < bytes_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

}  // namespace mrc
