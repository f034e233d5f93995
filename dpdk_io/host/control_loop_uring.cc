// SPDX-License-Identifier: BSD-2-Clause
// The control loop on io_uring: one multishot poll per descriptor and one timeout. What the kernel has to say
// lies in memory that is shared with it, so looking costs no system call.
#include <liburing.h>
#include <poll.h>

#include <algorithm>

#include "dpdk_io/host/control_loop.h"

namespace mrc {
namespace {

constexpr unsigned kEntries = 32;
// User data of a poll is its index, that of a timeout has this bit and a number.
constexpr uint64_t kTimeout = uint64_t{1} << 63;

class UringLoop final : public ControlLoop {
 public:
  ~UringLoop() override {
    if (open_) io_uring_queue_exit(&ring_);
  }

  bool open() {
    open_ = io_uring_queue_init(kEntries, &ring_, IORING_SETUP_CLAMP) == 0;
    return open_;
  }

  const char* kind() const override { return "io_uring"; }
  int fd() const override { return ring_.ring_fd; }

 private:
  struct Watched {
    int fd;
    bool armed;
  };

  // No request is made before collect(): requests belong to the thread that makes them and end with it, and
  // the thread that opens the device need not be the one that serves it.
  bool watch_fd(int fd, uint32_t index) override {
    if (index >= kEntries / 2) return false;
    watched_.resize(std::max<size_t>(watched_.size(), index + 1));
    watched_[index] = {fd, false};
    all_armed_ = false;
    return true;
  }

  void collect(std::vector<uint32_t>* ready) override {
    started_ = true;
    // A request that has just been made answers at once if there is something to read.
    if (!all_armed_) arm_all();
    io_uring_cqe* cqe;
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
      take(*cqe, ready);
      io_uring_cqe_seen(&ring_, cqe);
    }
    if (!all_armed_) arm_all();
  }

  void take(const io_uring_cqe& cqe, std::vector<uint32_t>* ready) {
    if ((cqe.user_data & kTimeout) != 0) {
      if (cqe.user_data == last_timeout_) deadline_ = kNever;
      return;
    }
    const auto index = static_cast<uint32_t>(cqe.user_data);
    if ((cqe.flags & IORING_CQE_F_MORE) == 0) all_armed_ = watched_[index].armed = false;
    if (std::find(ready->begin(), ready->end(), index) == ready->end()) ready->push_back(index);
  }

  void arm_all() {
    all_armed_ = true;
    for (size_t i = 0; i < watched_.size(); ++i) {
      if (watched_[i].armed) continue;
      io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
      if (sqe == nullptr) break;
      io_uring_prep_poll_multishot(sqe, watched_[i].fd, POLLIN);
      sqe->user_data = i;
      watched_[i].armed = true;
    }
    io_uring_submit(&ring_);
  }

  // A timeout that was asked for and is not wanted any more only wakes in vain.
  void wake_at(Nanoseconds deadline) override {
    if (!started_ || deadline >= deadline_) return;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return;
    deadline_ = deadline;
    last_timeout_ = kTimeout | ++timeouts_;
    // The kernel reads it when it is submitted.
    __kernel_timespec time{static_cast<int64_t>(deadline / kSecond),
                           static_cast<long long>(deadline % kSecond)};
    io_uring_prep_timeout(sqe, &time, 0, IORING_TIMEOUT_ABS);
    sqe->user_data = last_timeout_;
    io_uring_submit(&ring_);
  }

  io_uring ring_{};
  bool open_ = false;
  bool started_ = false;
  bool all_armed_ = true;
  uint64_t timeouts_ = 0;
  uint64_t last_timeout_ = 0;
  Nanoseconds deadline_ = kNever;  // of the last timeout, while it is under way
  std::vector<Watched> watched_;
};

}  // namespace

std::unique_ptr<ControlLoop> open_uring_loop() {
  auto loop = std::make_unique<UringLoop>();
  if (!loop->open()) return nullptr;
  return loop;
}

}  // namespace mrc
