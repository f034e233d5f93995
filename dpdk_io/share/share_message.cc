// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/share_message.h"

#include <cerrno>
#include <cstdlib>

namespace mrc {

std::string share_socket_path(const std::string& suffix) {
  const char* given = secure_getenv("MRC_PORTS");
  return (given != nullptr && *given != '\0' ? given : "/run/mrcd/ports") + suffix;
}

bool send_share_message(int socket, const ShareMessage& message, const SentPair* memory) {
  return send_message(socket, nullptr, 0, &message, sizeof message, memory);
}

ShareReceived receive_share_message(int socket, ShareMessage* message, DescriptorPair* memory) {
  MessageFacts facts;
  ssize_t bytes;
  do {
    bytes = receive_message(socket, message, sizeof *message, memory, &facts);
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? ShareReceived::kNothing : ShareReceived::kEnd;
  const bool valid = bytes == sizeof *message && facts.whole && message->magic == ShareMessage::kMagic &&
                     message->version == ShareMessage::kVersion;
  return valid ? ShareReceived::kMessage : ShareReceived::kEnd;
}

}  // namespace mrc
