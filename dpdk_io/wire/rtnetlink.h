// SPDX-License-Identifier: BSD-2-Clause
// One rtnetlink socket: asking the kernel's network stack, and hearing what changes in it.
#pragma once

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libmrc/wire/identifiers.h"

namespace mrc {

// The attributes of one message by number; pointers into the message.
class Attributes {
 public:
  static constexpr unsigned kMax = 64;
  Attributes(const rtattr* first, size_t bytes);
  const rtattr* operator[](unsigned type) const { return type < kMax ? by_type_[type] : nullptr; }
  std::optional<IpAddress> address(unsigned type) const;  // of 4 or 16 bytes
  std::optional<MacAddress> mac(unsigned type) const;
  std::optional<uint32_t> number(unsigned type) const;

 private:
  const rtattr* by_type_[kMax] = {};
};

// A request under construction: a header of the type's own, then attributes.
class NetlinkRequest {
 public:
  template <typename Body>
  NetlinkRequest(uint16_t type, uint16_t flags, const Body& body) {
    start(type, flags, &body, sizeof body);
  }
  void add(uint16_t type, const void* data, size_t bytes);
  void add(uint16_t type, const IpAddress& address);  // 4 bytes for IPv4
  void add(uint16_t type, uint32_t number) { add(type, &number, sizeof number); }
  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_); }

 private:
  void start(uint16_t type, uint16_t flags, const void* body, size_t bytes);
  alignas(nlmsghdr) uint8_t bytes_[256] = {};
};

inline uint8_t family_of(const IpAddress& address) {
  return address.is_v4() ? AF_INET : AF_INET6;
}

class RtNetlink {
 public:
  using Message = std::function<void(const nlmsghdr& message)>;

  // `groups`: a mask of RTMGRP_*, 0 for a socket that only asks. Null: `error` says why.
  static std::unique_ptr<RtNetlink> open(uint32_t groups, std::string* error);
  ~RtNetlink();
  RtNetlink(const RtNetlink&) = delete;
  RtNetlink& operator=(const RtNetlink&) = delete;

  int fd() const { return fd_; }

  // Sends a request and hands all of the answer to `each`. The kernel answers at once. 0 or a negative errno.
  int ask(NetlinkRequest& request, const Message& each);
  // Hands over what has come by itself. False: the kernel had more to say than it had room for; what is known
  // must be asked for anew.
  bool receive(const Message& each);

 private:
  static constexpr size_t kDatagramBytes = 32768;  // the kernel packs no more into one datagram

  explicit RtNetlink(int fd) : fd_(fd) {}
  const int fd_;
  uint32_t sequence_ = 0;
  alignas(nlmsghdr) uint8_t datagram_[kDatagramBytes];  // the one being read
};

}  // namespace mrc
