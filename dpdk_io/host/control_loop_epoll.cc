// SPDX-License-Identifier: BSD-2-Clause
// The control loop where io_uring is not permitted: epoll and a timerfd.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dpdk_io/host/control_loop.h"

namespace mrc {
namespace {

constexpr uint32_t kTimerIndex = UINT32_MAX;
constexpr int kEventsMax = 16;

class EpollLoop final : public ControlLoop {
 public:
  ~EpollLoop() override {
    for (const int fd : {epoll_, timer_})
      if (fd >= 0) close(fd);
  }

  bool open() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return epoll_ >= 0 && timer_ >= 0 && watch_fd(timer_, kTimerIndex);
  }

  const char* kind() const override { return "epoll"; }
  int fd() const override { return epoll_; }

 private:
  bool watch_fd(int fd, uint32_t index) override {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = index;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void collect(std::vector<uint32_t>* ready) override {
    epoll_event events[kEventsMax];
    const int count = epoll_wait(epoll_, events, kEventsMax, 0);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u32 != kTimerIndex) {
        ready->push_back(events[i].data.u32);
        continue;
      }
      uint64_t fired;
      while (read(timer_, &fired, sizeof fired) > 0) {
      }
    }
  }

  void wake_at(Nanoseconds deadline) override {
    if (deadline == deadline_) return;
    deadline_ = deadline;
    itimerspec setting{};
    if (deadline != kNever) {
      setting.it_value.tv_sec = static_cast<time_t>(deadline / kSecond);
      setting.it_value.tv_nsec = static_cast<long>(deadline % kSecond);
    }
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &setting, nullptr);
  }

  int epoll_ = -1;
  int timer_ = -1;
  Nanoseconds deadline_ = kNever;
};

}  // namespace

std::unique_ptr<ControlLoop> open_epoll_loop(std::string* error) {
  auto loop = std::make_unique<EpollLoop>();
  if (loop->open()) return loop;
  *error = std::string("mrc: no descriptor for the device's events: ") + std::strerror(errno) +
           "; raise the limit of open files (ulimit -n)";
  return nullptr;
}

}  // namespace mrc
