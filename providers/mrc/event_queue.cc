// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/event_queue.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <vector>

namespace mrc::provider {
namespace {

constexpr size_t kEventBytesMax = 64;
using Event = std::array<unsigned char, kEventBytesMax>;

}  // namespace

int EventQueue::open() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  application_fd_ = ends[0];
  provider_fd_ = ends[1];
  return 0;
}

void EventQueue::close_provider_end() {
  if (provider_fd_ >= 0) ::close(provider_fd_);
  provider_fd_ = -1;
}

EventQueue::Delivery EventQueue::send(const void* event, size_t bytes) {
  for (;;) {
    if (::send(provider_fd_, event, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Delivery::kSent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? Delivery::kFull : Delivery::kNobodyReads;
  }
}

uint32_t EventQueue::remove(size_t bytes, const std::function<bool(const void*)>& unwanted) {
  uint32_t removed = 0;
  std::vector<Event> kept;
  Event event;
  while (recv(application_fd_, event.data(), event.size(), MSG_DONTWAIT) == static_cast<ssize_t>(bytes))
    if (unwanted(event.data())) {
      ++removed;
    } else {
      kept.push_back(event);
    }
  for (const Event& again : kept) send(again.data(), bytes);
  return removed;
}

bool EventQueue::abandoned() const {
  pollfd end{provider_fd_, 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace mrc::provider
