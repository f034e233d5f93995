// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/event_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace mrc::provider {

int EventChannel::open() {
  fd_ = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (fd_ < 0) return errno;
  own_fd_ = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (own_fd_ >= 0) return 0;
  const int error = errno;
  ::close(fd_);
  return error;
}

EventChannel::~EventChannel() {
  if (own_fd_ >= 0) ::close(own_fd_);
}

void EventChannel::push(const Entry& entry) {
  entries_.push_back(entry);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(own_fd_, &one, sizeof one);
}

// The count is never less than the number of entries; but a program may have read from the file itself.
void EventChannel::count_down() {
  pollfd file{own_fd_, POLLIN, 0};
  uint64_t one;
  if (poll(&file, 1, 0) == 1) {
    [[maybe_unused]] const ssize_t bytes = ::read(own_fd_, &one, sizeof one);
  }
}

EventChannel::Entry EventChannel::pop() {
  const Entry entry = entries_.front();
  entries_.pop_front();
  has_reader_ = true;
  reader_ = pthread_self();
  count_down();
  return entry;
}

}  // namespace mrc::provider
