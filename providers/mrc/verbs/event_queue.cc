// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/event_queue.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "dpdk_io/host/cancellation.h"

namespace mrc::provider {
namespace {

constexpr size_t kEventBytesMax = 64;
constexpr int kBufferBytes = 104 << 10;  // the kernel doubles it, and needs more than half a KiB per event
constexpr size_t kWaitingMax = 416;
using Event = std::array<unsigned char, kEventBytesMax>;

}  // namespace

int EventQueue::open() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  // As many events as can wait, whatever the system's default: remove() has room for them.
  const int bytes = kBufferBytes;
  setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
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
    if (uncancelled::sendto(provider_fd_, event, bytes, MSG_NOSIGNAL | MSG_DONTWAIT, nullptr, 0) >= 0)
      return Delivery::kSent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? Delivery::kFull : Delivery::kNobodyReads;
  }
}

uint32_t EventQueue::remove(size_t bytes, const std::function<bool(const void*)>& unwanted) {
  uint32_t removed = 0;
  // Not from the heap: objects are also destroyed when memory has run out.
  std::array<Event, kWaitingMax> kept;
  size_t count = 0;
  while (count < kept.size()) {
    Event& event = kept[count];
    if (recv(application_fd_, event.data(), event.size(), MSG_DONTWAIT) != static_cast<ssize_t>(bytes)) break;
    if (unwanted(event.data()))
      ++removed;
    else
      ++count;
  }
  for (size_t i = 0; i < count; ++i) send(kept[i].data(), bytes);
  return removed;
}

bool EventQueue::abandoned() const {
  pollfd end{provider_fd_, 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace mrc::provider
