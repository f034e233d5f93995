// SPDX-License-Identifier: BSD-2-Clause
// The few rtnetlink requests a fabric is made of. One socket per network namespace, opened inside it, so that
// hundreds of links and routes need neither a process nor a change of namespace each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mrc::lab {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();

 private:
  int fd_ = -1;
};

struct VethEnd {
  std::string name;
  uint32_t ifindex;
  std::array<uint8_t, 6> mac;
  int namespace_fd;
};

struct NextHop {
  std::string gateway;  // empty: none
  uint32_t ifindex;
};

// What the kernel counts for an interface.
struct TrafficCounts {
  uint64_t frames_received = 0;
  uint64_t bytes_received = 0;
  uint64_t frames_sent = 0;
  uint64_t bytes_sent = 0;
};

// All functions give 0 or an errno.
class Netlink {
 public:
  // In the network namespace the caller is in.
  int open();

  int add_veth(const VethEnd& one, const VethEnd& other, uint32_t mtu);
  int add_bridge(const std::string& name, uint32_t ifindex);
  int set_master(uint32_t ifindex, uint32_t bridge);
  int set_up(uint32_t ifindex, bool up);
  int add_address(uint32_t ifindex, const std::string& address, uint8_t prefix_bits);
  int add_neighbour(uint32_t ifindex, const std::string& address, const std::array<uint8_t, 6>& mac);
  // Replaces what is there. More than one hop: equal-cost multipath.
  int set_route(const std::string& prefix, uint8_t prefix_bits, const std::vector<NextHop>& hops);
  // Micro-SID "uN": seg6local End with the NEXT-C-SID flavour, 32-bit block and 16-bit uSIDs.
  int set_usid(const std::string& prefix, uint32_t ifindex);
  int set_blackhole(const std::string& prefix, uint8_t prefix_bits);
  // tbf as root queueing discipline; 0 bits: none.
  int set_rate(uint32_t ifindex, uint64_t bits_per_second, uint32_t burst_bytes, uint32_t queue_bytes);
  int count_traffic(uint32_t ifindex, TrafficCounts* counts);

 private:
  friend class Request;
  // `answer`: what comes before the acknowledgement.
  int talk(std::vector<uint8_t>& message, std::vector<uint8_t>* answer = nullptr);

  Fd socket_;
  uint32_t sequence_ = 0;
};

}  // namespace mrc::lab
