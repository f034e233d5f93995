// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/host_voice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace mrc {

HostVoice::HostVoice(const std::string& interface) : interface_(interface), ours_(interface.empty()) {
  if (!ours_) fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

HostVoice::~HostVoice() {
  if (fd_ >= 0) close(fd_);
}

// Abstract names live in the network namespace, as interfaces do, and die with the process. Whoever takes one
// from us silences answers to strangers; connections do not need them.
bool HostVoice::claim() {
  if (ours_ || fd_ < 0) return ours_;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "soft-mrc/voice.%s",
                                   interface_.c_str());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  ours_ = bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
  return ours_;
}

}  // namespace mrc
