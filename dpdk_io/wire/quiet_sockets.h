// SPDX-License-Identifier: BSD-2-Clause
// The kernel sees every frame too, and would answer what it knows no receiver for with ICMP errors. These
// sockets stand for the receiver; they drop all that comes.
#pragma once

#include <vector>

namespace mrc {

class QuietSockets {
 public:
  QuietSockets() = default;
  ~QuietSockets();
  QuietSockets(const QuietSockets&) = delete;
  QuietSockets& operator=(const QuietSockets&) = delete;

  // Best effort: without them everything works, only the network hears more than it should.
  void open(bool srv6);

 private:
  void add(int fd);
  std::vector<int> fds_;
};

}  // namespace mrc
