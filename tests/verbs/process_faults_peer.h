// SPDX-License-Identifier: BSD-2-Clause
// The other process: this program again. It does what it is told over a socket.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/verbs/process_faults_message.h"

namespace process_faults {

// The peer's life.
int peer_main(int socket, const std::string& device);

// Survivor's side. Nothing here waits.
class PeerProcess {
 public:
  explicit PeerProcess(const std::string& device);
  ~PeerProcess();  // kills it if it still runs
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  bool tell(const Message& message) { return send_message(socket_, message); }
  bool hear(Message* message) { return receive_message(socket_, message, &gone_); }
  bool gone() const { return gone_; }
  void signal(int number) const;
  // Whether it has ended; fails if nobody has killed it and it did not end with 0.
  bool ended();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  bool gone_ = false;
  mutable bool killed_ = false;
};

}  // namespace process_faults
