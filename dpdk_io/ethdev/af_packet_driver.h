// SPDX-License-Identifier: BSD-2-Clause
// DPDK's af_packet driver, repaired for our use: its sockets take only this process's frames, are not
// inherited, are in no fanout group with those of other processes, and a full ring does not block.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace mrc {

// EAL must run with the driver loaded. False: `error` says why.
bool repair_af_packet_driver(std::string* error);

// While it lives, sockets that the driver opens in this thread get the filter.
class SocketFilterScope {
 public:
  explicit SocketFilterScope(std::vector<sock_filter> filter);
  ~SocketFilterScope();
  SocketFilterScope(const SocketFilterScope&) = delete;
  SocketFilterScope& operator=(const SocketFilterScope&) = delete;

  const std::vector<sock_filter>& filter() const { return filter_; }
  // Those that got it. They are the driver's.
  void add(int socket) { sockets_.push_back(socket); }
  const std::vector<int>& sockets() const { return sockets_; }

 private:
  std::vector<sock_filter> filter_;
  std::vector<int> sockets_;
};

// Instead of the one it has. False: the kernel refuses; errno is set.
bool set_socket_filter(int socket, const std::vector<sock_filter>& filter);

}  // namespace mrc
