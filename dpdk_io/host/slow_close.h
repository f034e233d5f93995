// SPDX-License-Identifier: BSD-2-Clause
// Closes packet sockets beside the thread that has done with them: the kernel makes whoever closes one wait
// until no CPU handles a packet that was for it, on a busy machine for long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace mrc {

class SlowClose {
 public:
  SlowClose() = default;
  ~SlowClose();  // waits for all
  SlowClose(const SlowClose&) = delete;
  SlowClose& operator=(const SlowClose&) = delete;

  void close_later(int fd);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable something_;
  std::vector<int> left_;
  bool ending_ = false;
  std::thread thread_;  // from the first one on
};

}  // namespace mrc
