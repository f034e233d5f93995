// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/slow_close.h"

#include <unistd.h>

#include <utility>

namespace mrc {

SlowClose::~SlowClose() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    something_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void SlowClose::close_later(int fd) {
  if (fd < 0) return;
  const std::lock_guard lock(mutex_);
  left_.push_back(fd);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  something_.notify_one();
}

void SlowClose::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    something_.wait(lock, [this] { return ending_ || !left_.empty(); });
    if (left_.empty()) return;
    const std::vector<int> now = std::exchange(left_, {});
    lock.unlock();
    for (const int fd : now) close(fd);
    lock.lock();
  }
}

}  // namespace mrc
