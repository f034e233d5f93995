// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/event_channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace mrc::provider {

int EventChannel::open() {
  fd_ = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  return fd_ < 0 ? errno : 0;
}

void EventChannel::push(const Entry& entry) {
  entries_.push_back(entry);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
}

// The count is never less than the number of entries; but a program may have read from the file itself.
void EventChannel::count_down() {
  pollfd file{fd_, POLLIN, 0};
  uint64_t one;
  if (poll(&file, 1, 0) == 1) {
    [[maybe_unused]] const ssize_t bytes = ::read(fd_, &one, sizeof one);
  }
}

EventChannel::Entry EventChannel::pop() {
  const Entry entry = entries_.front();
  entries_.pop_front();
  count_down();
  return entry;
}

}  // namespace mrc::provider
