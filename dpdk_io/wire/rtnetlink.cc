// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/rtnetlink.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace mrc {
namespace {

constexpr int kReceiveBytes = 1 << 20;   // of the socket: a burst of events
constexpr timeval kAnswerTimeout{1, 0};  // it answers at once; this is against a hang

}  // namespace

Attributes::Attributes(const rtattr* first, size_t bytes) {
  auto left = static_cast<unsigned>(bytes);
  for (const rtattr* at = first; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    const unsigned type = at->rta_type & ~static_cast<unsigned>(NLA_F_NESTED | NLA_F_NET_BYTEORDER);
    if (type < kMax) by_type_[type] = at;
  }
}

std::optional<IpAddress> Attributes::address(unsigned type) const {
  const rtattr* found = (*this)[type];
  if (found == nullptr) return std::nullopt;
  const auto* bytes = static_cast<const uint8_t*>(RTA_DATA(found));
  if (RTA_PAYLOAD(found) == 4) return IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
  IpAddress address;
  if (RTA_PAYLOAD(found) != address.bytes.size()) return std::nullopt;
  std::memcpy(address.bytes.data(), bytes, address.bytes.size());
  return address;
}

std::optional<MacAddress> Attributes::mac(unsigned type) const {
  const rtattr* found = (*this)[type];
  MacAddress mac;
  if (found == nullptr || RTA_PAYLOAD(found) != mac.bytes.size()) return std::nullopt;
  std::memcpy(mac.bytes.data(), RTA_DATA(found), mac.bytes.size());
  return mac;
}

std::optional<uint32_t> Attributes::number(unsigned type) const {
  const rtattr* found = (*this)[type];
  uint32_t number = 0;
  if (found == nullptr || RTA_PAYLOAD(found) != sizeof number) return std::nullopt;
  std::memcpy(&number, RTA_DATA(found), sizeof number);
  return number;
}

void NetlinkRequest::start(uint16_t type, uint16_t flags, const void* body, size_t bytes) {
  header()->nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(bytes));
  header()->nlmsg_type = type;
  header()->nlmsg_flags = flags | NLM_F_REQUEST;
  std::memcpy(NLMSG_DATA(header()), body, bytes);
}

void NetlinkRequest::add(uint16_t type, const void* data, size_t bytes) {
  const size_t begin = NLMSG_ALIGN(header()->nlmsg_len);
  // Not by a packet: requests to the kernel have fixed attributes.
  assert(begin + RTA_SPACE(bytes) <= sizeof bytes_);
  auto* attribute = reinterpret_cast<rtattr*>(bytes_ + begin);
  attribute->rta_type = type;
  attribute->rta_len = static_cast<uint16_t>(RTA_LENGTH(bytes));
  std::memcpy(RTA_DATA(attribute), data, bytes);
  header()->nlmsg_len = static_cast<uint32_t>(begin + RTA_SPACE(bytes));
}

void NetlinkRequest::add(uint16_t type, const IpAddress& address) {
  if (address.is_v4()) return add(type, address.v4_bytes(), 4);
  add(type, address.bytes.data(), address.bytes.size());
}

std::unique_ptr<RtNetlink> RtNetlink::open(uint32_t groups, std::string* error) {
  const int kind = SOCK_RAW | SOCK_CLOEXEC | (groups != 0 ? SOCK_NONBLOCK : 0);
  const int fd = socket(AF_NETLINK, kind, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    *error = std::string("mrc: no rtnetlink, which tells of links and neighbours: ") + std::strerror(errno);
    if (fd >= 0) close(fd);
    return nullptr;
  }
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  return std::unique_ptr<RtNetlink>(new RtNetlink(fd));
}

RtNetlink::~RtNetlink() {
  close(fd_);
}

int RtNetlink::ask(NetlinkRequest& request, const Message& each) {
  nlmsghdr* header = request.header();
  header->nlmsg_seq = ++sequence_;
  header->nlmsg_flags |= NLM_F_ACK;
  if (send(fd_, header, header->nlmsg_len, 0) < 0) return -errno;
  for (;;) {
    const ssize_t bytes = recv(fd_, datagram_, sizeof datagram_, 0);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    auto left = static_cast<uint32_t>(bytes);
    for (const auto* at = reinterpret_cast<const nlmsghdr*>(datagram_); NLMSG_OK(at, left);
         at = NLMSG_NEXT(at, left)) {
      if (at->nlmsg_seq != sequence_) continue;  // of a request that was given up
      if (at->nlmsg_type == NLMSG_DONE) return 0;
      if (at->nlmsg_type == NLMSG_ERROR) return static_cast<const nlmsgerr*>(NLMSG_DATA(at))->error;
      each(*at);
    }
  }
}

bool RtNetlink::receive(const Message& each) {
  bool complete = true;
  for (;;) {
    const ssize_t bytes = recv(fd_, datagram_, sizeof datagram_, MSG_DONTWAIT);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      if (errno != ENOBUFS) return complete;
      complete = false;
      continue;
    }
    auto left = static_cast<uint32_t>(bytes);
    for (const auto* at = reinterpret_cast<const nlmsghdr*>(datagram_); NLMSG_OK(at, left);
         at = NLMSG_NEXT(at, left))
      each(*at);
  }
}

}  // namespace mrc
