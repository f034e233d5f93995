// SPDX-License-Identifier: BSD-2-Clause
// Who wants a look at every frame of an engine, from outside of it: another process that captures.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

struct CaptureView {
  Nanoseconds now = 0;
  Plane plane = 0;
  bool leaves = false;  // else it came
  bool intact = false;  // its ICRC was left out
  std::span<const uint8_t> frame;
};

class FrameCapture {
 public:
  // On the data path: it neither waits nor fails.
  virtual void look(const CaptureView& view) = 0;

 protected:
  ~FrameCapture() = default;
};

}  // namespace mrc
