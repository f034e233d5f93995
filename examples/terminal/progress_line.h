// SPDX-License-Identifier: BSD-2-Clause
// A line that says how far a long command is: part n of m, what it is, how long it has taken. It is rewritten
// in place on the terminal that stderr is; where stderr is anything else, nothing is written and nothing is
// done.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace mrc {

class ProgressLine {
 public:
  // `noun`: what the parts are, such as "seed". With one part there is no counting.
  ProgressLine(std::string noun, uint64_t parts);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // A part begins, counted from 1. The line appears soon, unless the part ends sooner.
  void begin(uint64_t part, std::string what = {});
  // Or: whoever works counts the finished parts here, perhaps another process in shared memory.
  void follow(const std::atomic<uint64_t>* finished);
  // The line gives way to other output, until the next begin().
  void hide();
  // The same in a process that does not own the line: it will be back soon.
  static void give_way();

 private:
  void draw_now_and_then();
  std::string text() const;

  const std::string noun_;
  const uint64_t parts_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;  // guards all below
  std::condition_variable ended_;
  uint64_t part_ = 0;  // 0: nothing to show
  std::string what_;
  const std::atomic<uint64_t>* finished_ = nullptr;
  bool end_ = false;
  std::thread drawer_;  // only on a terminal
};

}  // namespace mrc
