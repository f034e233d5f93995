// SPDX-License-Identifier: BSD-2-Clause
// Messages between processes with the descriptors of an arena and its bells beside them, or with none. What
// else comes with a message is closed and never left behind.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>

namespace mrc {

// Of a process's memory; closed with this.
struct DescriptorPair {
  DescriptorPair() = default;
  ~DescriptorPair();
  DescriptorPair(const DescriptorPair&) = delete;
  DescriptorPair& operator=(const DescriptorPair&) = delete;
  void take_from(DescriptorPair& other);

  int arena = -1;
  int bells = -1;
};

// The sender's own, which stay open.
struct SentPair {
  int arena = -1;
  int bells = -1;
};

// Never waits. `to`: null on a connected socket; `pair`: null for none.
bool send_message(int socket, const sockaddr* to, socklen_t to_bytes, const void* text, size_t bytes,
                  const SentPair* pair);

struct MessageFacts {
  bool whole = false;           // nothing was cut off, and either both descriptors or none came
  std::optional<uid_t> sender;  // where the socket asks for it (SO_PASSCRED)
};

// Never waits. As recvmsg(): bytes, 0 at the end of a connection, or -1 with errno. `pair` is empty before.
ssize_t receive_message(int socket, void* text, size_t bytes, DescriptorPair* pair, MessageFacts* facts);

}  // namespace mrc
