// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace mrc::bench {

double seconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Process::Process(const std::vector<std::string>& words, int cpu, double seconds_max)
    : deadline_(seconds_now() + seconds_max) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(output[1], 1);
    dup2(output[1], 2);
    if (cpu >= 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      sched_setaffinity(0, sizeof set, &set);
    }
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(output[1]);
  output_ = output[0];
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

bool Process::read_line(std::string* line) {
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      *line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    const int left_ms = static_cast<int>((deadline_ - seconds_now()) * 1e3);
    pollfd waited{output_, POLLIN, 0};
    char part[4096];
    if (left_ms <= 0 || poll(&waited, 1, left_ms) <= 0) return false;
    const ssize_t bytes = read(output_, part, sizeof part);
    if (bytes <= 0) return false;
    buffer_.append(part, static_cast<size_t>(bytes));
  }
}

std::string Process::read_all() {
  std::string all, line;
  while (read_line(&line)) all += line + "\n";
  all += buffer_;
  return all;
}

void Process::stop_after(double seconds) {
  deadline_ = std::min(deadline_, seconds_now() + seconds);
}

int Process::wait() {
  int status = 0;
  while (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == 0) {
    if (seconds_now() > deadline_) return -1;
    usleep(1000);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace mrc::bench
