// SPDX-License-Identifier: BSD-2-Clause
// DPDK leaves its descriptors open across exec(): the memory of all packets, its pipes, its epoll sets and
// the sockets of drivers would be those of every program that the application starts.
#pragma once

#include <set>

namespace mrc {

// Made before a call of DPDK, asked after it. What other threads open meanwhile cannot be told apart from
// what DPDK does: of them only what is no file is taken for DPDK's, and it lives on in this process.
class NewDescriptors {
 public:
  NewDescriptors();
  void close_on_exec() const;

 private:
  std::set<int> before_;
};

}  // namespace mrc
