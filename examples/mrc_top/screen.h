// SPDX-License-Identifier: BSD-2-Clause
// A terminal with somebody in front of it: keys as they are pressed, and a table that is drawn in place.
#pragma once

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/mrc_top/controls.h"

namespace mrc {

class Screen {
 public:
  // Takes the terminal over, if standard input and output are one.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_there() const { return there_; }
  // Whether somebody wants us to end: a signal, or the terminal is gone.
  bool is_over() const;
  // The next key, or kNoKey when that time (CLOCK_MONOTONIC) has come, or something else has happened.
  int wait_for_key(uint64_t until_ns);
  // Rows of a table that it has room for.
  size_t page() const;
  void draw(Controls* controls, const std::vector<Row>& rows, const std::vector<std::string>& notes);

 private:
  void take_over();
  int next_key();

  bool there_ = false;
  bool gone_ = false;
  termios before_{};
  std::string waiting_;  // keys that were read
};

}  // namespace mrc
