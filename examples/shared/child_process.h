// SPDX-License-Identifier: BSD-2-Clause
// A program that mrc_bench starts, with its output read line by line and a limit on its time.
#pragma once

#include <string>
#include <vector>

namespace mrc::bench {

double seconds_now();

class Process {
 public:
  // The first word is the program. `cpu` >= 0 pins it there.
  Process(const std::vector<std::string>& words, int cpu, double seconds_max);
  ~Process();  // kills it if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // False: the output is at its end, or the time is over.
  bool read_line(std::string* line);
  std::string read_all();
  int pid() const { return pid_; }
  // From now on it has only so much time.
  void stop_after(double seconds);
  // Its exit code; -1: killed, or out of time.
  int wait();

 private:
  int pid_ = -1;
  int output_ = -1;
  double deadline_ = 0;
  std::string buffer_;
};

}  // namespace mrc::bench
