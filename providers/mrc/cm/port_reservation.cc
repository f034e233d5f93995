// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/port_reservation.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace mrc::provider {

PortReservation::PortReservation(PortReservation&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

PortReservation& PortReservation::operator=(PortReservation&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

PortReservation::~PortReservation() {
  if (fd_ >= 0) close(fd_);
}

bool PortReservation::take(cm::ServiceId service) {
  PortReservation taken;
  taken.fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (taken.fd_ < 0) return true;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // An abstract name begins with a 0.
  const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "mrc-cm.%04x.%u",
                                   cm::port_space_of(service), cm::port_of(service));
  const auto bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  if (bind(taken.fd_, reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return errno != EADDRINUSE;
  *this = std::move(taken);
  return true;
}

}  // namespace mrc::provider
