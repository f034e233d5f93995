// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/control_loop.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "dpdk_io/host/debugging.h"

namespace mrc {

std::unique_ptr<ControlLoop> ControlLoop::open(std::string* error) {
  const char* off = secure_getenv("MRC_NO_IO_URING");
  const bool wanted = off == nullptr || *off == '\0' || *off == '0';
  if (wanted) {
    auto loop = open_uring_loop();
    if (loop != nullptr) return loop;
    if (debugging()) std::fprintf(stderr, "mrc: the kernel permits no io_uring; events come by epoll\n");
  }
  return open_epoll_loop(error);
}

bool ControlLoop::watch(int fd, Handler handler) {
  watched_.push_back(std::move(handler));
  if (watch_fd(fd, static_cast<uint32_t>(watched_.size() - 1))) return true;
  watched_.pop_back();
  return false;
}

ControlLoop::Timer ControlLoop::add_timer(Handler handler) {
  timers_.push_back({std::move(handler)});
  return Timer{static_cast<uint32_t>(timers_.size() - 1)};
}

void ControlLoop::set_timer(Timer timer, Nanoseconds interval, Nanoseconds now) {
  Periodic& periodic = timers_[static_cast<uint32_t>(timer)];
  if (periodic.interval == interval) return;
  periodic.interval = interval;
  periodic.deadline = interval == 0 ? kNever : now + interval;
  arm();
}

void ControlLoop::run(Nanoseconds now) {
  ready_.clear();
  collect(&ready_);
  for (const uint32_t index : ready_) watched_[index](now);
  run_timers(now);
}

void ControlLoop::run_timers(Nanoseconds now) {
  // By index: a handler may add timers.
  for (size_t i = 0; i < timers_.size(); ++i) {  // NOLINT(modernize-loop-convert)
    if (now < timers_[i].deadline) continue;
    timers_[i].deadline = now + timers_[i].interval;
    timers_[i].handler(now);
  }
  arm();
}

void ControlLoop::arm() {
  Nanoseconds earliest = kNever;
  for (const Periodic& timer : timers_) earliest = std::min(earliest, timer.deadline);
  wake_at(earliest);
}

}  // namespace mrc
