// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_message.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "examples/shared/verbs_peer.h"

namespace process_faults {

bool receive_message(int socket, Message* message, bool* gone) {
  const ssize_t bytes = ::recv(socket, message, sizeof *message, MSG_DONTWAIT);
  if (bytes == sizeof *message) return true;
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes > 0) verbs_test::fail("a message of %zd bytes", bytes);
  *gone = true;
  return false;
}

bool send_message(int socket, const Message& message) {
  while (::send(socket, &message, sizeof message, MSG_NOSIGNAL) != sizeof message) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return false;
    verbs_test::fail("a message cannot be sent: %s", std::strerror(errno));
  }
  return true;
}

}  // namespace process_faults
