// SPDX-License-Identifier: BSD-2-Clause
// What the device waits for outside the data path: descriptors and timers, on io_uring where the kernel
// permits it, else on epoll. It never waits itself: its owner sleeps on fd() and then calls run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libmrc/wire/time.h"

namespace mrc {

// Threads: one at a time. The owner sees to it.
class ControlLoop {
 public:
  using Handler = std::function<void(Nanoseconds now)>;
  enum class Timer : uint32_t {};

  // MRC_NO_IO_URING=1 in the environment leaves io_uring alone. Null: `error` says why.
  static std::unique_ptr<ControlLoop> open(std::string* error);
  virtual ~ControlLoop() = default;
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  virtual const char* kind() const = 0;  // "io_uring" or "epoll"
  virtual int fd() const = 0;            // readable when run() has something to do; for poll() only

  // Calls `handler` when `fd`, which does not block, is readable. The handler reads all that is there. False:
  // no room, or the kernel refuses.
  bool watch(int fd, Handler handler);

  // A timer that is off. Set: it fires every `interval`, 0 = off.
  Timer add_timer(Handler handler);
  void set_timer(Timer timer, Nanoseconds interval, Nanoseconds now);

  // Calls the handlers of what is ready. Costs no system call on io_uring when nothing is.
  void run(Nanoseconds now);

 protected:
  ControlLoop() = default;
  virtual bool watch_fd(int fd, uint32_t index) = 0;
  // Indexes of the watched that are ready, each at most once.
  virtual void collect(std::vector<uint32_t>* ready) = 0;
  // fd() shall become readable at that time at the latest; kNever: not by time. Called after every run().
  virtual void wake_at(Nanoseconds deadline) = 0;

 private:
  struct Periodic {
    Handler handler;
    Nanoseconds interval = 0;
    Nanoseconds deadline = kNever;
  };
  void run_timers(Nanoseconds now);
  void arm();

  std::vector<Handler> watched_;
  std::vector<Periodic> timers_;
  std::vector<uint32_t> ready_;
};

std::unique_ptr<ControlLoop> open_uring_loop();  // null: not permitted here
std::unique_ptr<ControlLoop> open_epoll_loop(std::string* error);

}  // namespace mrc
