// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/netlink.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/seg6_local.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc::lab {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  fd_ = other.release();
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

int Fd::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

// A message under construction.
class Request {
 public:
  Request(uint16_t type, uint16_t flags) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    put(header);
  }

  template <typename T>
  void put(const T& value) {
    append(&value, sizeof value);
  }

  void attribute(uint16_t type, const void* data, size_t bytes) {
    rtattr header{};
    header.rta_type = type;
    header.rta_len = static_cast<uint16_t>(RTA_LENGTH(bytes));
    put(header);
    append(data, bytes);
  }
  template <typename T>
  void attribute(uint16_t type, const T& value) {
    attribute(type, &value, sizeof value);
  }
  void attribute(uint16_t type, const std::string& text) { attribute(type, text.c_str(), text.size() + 1); }

  size_t begin(uint16_t type) {
    const size_t at = bytes_.size();
    attribute(type, nullptr, 0);
    return at;
  }
  void end(size_t at) { set_length<rtattr>(at); }

  size_t begin_hop(uint32_t ifindex) {
    const size_t at = bytes_.size();
    rtnexthop hop{};
    hop.rtnh_ifindex = static_cast<int>(ifindex);
    put(hop);
    return at;
  }
  void end_hop(size_t at) { set_length<rtnexthop>(at); }

  int send(Netlink* netlink, std::vector<uint8_t>* answer = nullptr) {
    reinterpret_cast<nlmsghdr*>(bytes_.data())->nlmsg_len = static_cast<uint32_t>(bytes_.size());
    return netlink->talk(bytes_, answer);
  }

 private:
  void append(const void* data, size_t bytes) {
    const size_t at = bytes_.size();
    bytes_.resize(at + NLMSG_ALIGN(bytes), 0);
    if (bytes != 0) std::memcpy(bytes_.data() + at, data, bytes);
  }
  // Both kinds of header begin with their length.
  template <typename Header>
  void set_length(size_t at) {
    const auto length = static_cast<uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
  }

  std::vector<uint8_t> bytes_;
};

namespace {

struct Address {
  int family = AF_UNSPEC;
  uint8_t bytes[16]{};
  size_t size() const { return family == AF_INET ? 4 : 16; }
};

Address parse(const std::string& text) {
  Address address;
  address.family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (::inet_pton(address.family, text.c_str(), address.bytes) != 1) address.family = AF_UNSPEC;
  return address;
}

Request link_request(uint16_t flags, uint32_t ifindex) {
  Request request(RTM_NEWLINK, flags);
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(ifindex);
  request.put(link);
  return request;
}

// What a new route shares with all others; `type` is RTN_UNICAST or RTN_BLACKHOLE.
Request route_request(const Address& prefix, uint8_t prefix_bits, uint8_t type) {
  Request request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
  rtmsg route{};
  route.rtm_family = static_cast<uint8_t>(prefix.family);
  route.rtm_dst_len = prefix_bits;
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_STATIC;
  route.rtm_scope = RT_SCOPE_UNIVERSE;
  route.rtm_type = type;
  request.put(route);
  request.attribute(RTA_DST, prefix.bytes, prefix.size());
  return request;
}

void put_gateway(Request* request, const std::string& gateway) {
  if (gateway.empty()) return;
  const Address address = parse(gateway);
  request->attribute(RTA_GATEWAY, address.bytes, address.size());
}

}  // namespace

int Netlink::open() {
  socket_ = Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket_) return errno;
  // Acknowledgements need not repeat the request.
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  return 0;
}

int Netlink::talk(std::vector<uint8_t>& message, std::vector<uint8_t>* answer) {
  auto* header = reinterpret_cast<nlmsghdr*>(message.data());
  header->nlmsg_seq = ++sequence_;
  if (::send(socket_.get(), message.data(), message.size(), 0) < 0) return errno;
  alignas(nlmsghdr) uint8_t buffer[16384];
  for (;;) {
    const ssize_t bytes = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return errno;
    const auto* reply = reinterpret_cast<const nlmsghdr*>(buffer);
    if (reply->nlmsg_seq != sequence_) continue;
    if (reply->nlmsg_type == NLMSG_ERROR) return -static_cast<const nlmsgerr*>(NLMSG_DATA(reply))->error;
    if (answer != nullptr) answer->assign(buffer, buffer + bytes);
  }
}

int Netlink::add_veth(const VethEnd& one, const VethEnd& other, uint32_t mtu) {
  const auto describe = [mtu](Request* request, const VethEnd& end) {
    request->attribute(IFLA_IFNAME, end.name);
    request->attribute(IFLA_MTU, mtu);
    request->attribute(IFLA_ADDRESS, end.mac.data(), end.mac.size());
    request->attribute(IFLA_NET_NS_FD, end.namespace_fd);
  };
  Request request = link_request(NLM_F_CREATE | NLM_F_EXCL, one.ifindex);
  describe(&request, one);
  const size_t info = request.begin(IFLA_LINKINFO);
  request.attribute(IFLA_INFO_KIND, "veth", 4);
  const size_t data = request.begin(IFLA_INFO_DATA);
  const size_t peer = request.begin(VETH_INFO_PEER);
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(other.ifindex);
  request.put(link);
  describe(&request, other);
  request.end(peer);
  request.end(data);
  request.end(info);
  return request.send(this);
}

int Netlink::add_bridge(const std::string& name, uint32_t ifindex) {
  Request request = link_request(NLM_F_CREATE | NLM_F_EXCL, ifindex);
  request.attribute(IFLA_IFNAME, name);
  const size_t info = request.begin(IFLA_LINKINFO);
  request.attribute(IFLA_INFO_KIND, "bridge", 6);
  request.end(info);
  return request.send(this);
}

int Netlink::set_master(uint32_t ifindex, uint32_t bridge) {
  Request request = link_request(0, ifindex);
  request.attribute(IFLA_MASTER, bridge);
  return request.send(this);
}

int Netlink::set_up(uint32_t ifindex, bool up) {
  Request request(RTM_NEWLINK, 0);
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(ifindex);
  link.ifi_flags = up ? IFF_UP : 0;
  link.ifi_change = IFF_UP;
  request.put(link);
  return request.send(this);
}

int Netlink::count_traffic(uint32_t ifindex, TrafficCounts* counts) {
  Request request(RTM_GETLINK, 0);
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(ifindex);
  request.put(link);
  std::vector<uint8_t> answer;
  if (const int error = request.send(this, &answer); error != 0) return error;
  if (answer.size() < NLMSG_LENGTH(sizeof link)) return ENOENT;
  auto* header = reinterpret_cast<nlmsghdr*>(answer.data());
  auto left = static_cast<uint32_t>(IFLA_PAYLOAD(header));
  for (rtattr* part = IFLA_RTA(NLMSG_DATA(header)); RTA_OK(part, left); part = RTA_NEXT(part, left)) {
    rtnl_link_stats64 found{};
    if (part->rta_type != IFLA_STATS64 || RTA_PAYLOAD(part) < sizeof(uint64_t) * 4) continue;
    std::memcpy(&found, RTA_DATA(part), std::min<size_t>(sizeof found, RTA_PAYLOAD(part)));
    *counts = {found.rx_packets, found.rx_bytes, found.tx_packets, found.tx_bytes};
    return 0;
  }
  return ENOENT;
}

int Netlink::add_address(uint32_t ifindex, const std::string& address, uint8_t prefix_bits) {
  const Address value = parse(address);
  Request request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
  ifaddrmsg message{};
  message.ifa_family = static_cast<uint8_t>(value.family);
  message.ifa_prefixlen = prefix_bits;
  message.ifa_flags = IFA_F_NODAD;
  message.ifa_index = ifindex;
  request.put(message);
  request.attribute(IFA_LOCAL, value.bytes, value.size());
  request.attribute(IFA_ADDRESS, value.bytes, value.size());
  return request.send(this);
}

int Netlink::add_neighbour(uint32_t ifindex, const std::string& address, const std::array<uint8_t, 6>& mac) {
  const Address value = parse(address);
  Request request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
  ndmsg message{};
  message.ndm_family = static_cast<uint8_t>(value.family);
  message.ndm_ifindex = static_cast<int>(ifindex);
  message.ndm_state = NUD_PERMANENT;
  request.put(message);
  request.attribute(NDA_DST, value.bytes, value.size());
  request.attribute(NDA_LLADDR, mac.data(), mac.size());
  return request.send(this);
}

int Netlink::set_route(const std::string& prefix, uint8_t prefix_bits, const std::vector<NextHop>& hops) {
  Request request = route_request(parse(prefix), prefix_bits, RTN_UNICAST);
  if (hops.size() == 1) {
    put_gateway(&request, hops[0].gateway);
    request.attribute(RTA_OIF, hops[0].ifindex);
    return request.send(this);
  }
  const size_t multipath = request.begin(RTA_MULTIPATH);
  for (const NextHop& hop : hops) {
    const size_t at = request.begin_hop(hop.ifindex);
    put_gateway(&request, hop.gateway);
    request.end_hop(at);
  }
  request.end(multipath);
  return request.send(this);
}

int Netlink::set_usid(const std::string& prefix, uint32_t ifindex) {
  Request request = route_request(parse(prefix), 48, RTN_UNICAST);
  request.attribute(RTA_OIF, ifindex);
  request.attribute(RTA_ENCAP_TYPE, uint16_t{LWTUNNEL_ENCAP_SEG6_LOCAL});
  const size_t encap = request.begin(RTA_ENCAP | NLA_F_NESTED);
  request.attribute(SEG6_LOCAL_ACTION, uint32_t{SEG6_LOCAL_ACTION_END});
  const size_t flavors = request.begin(SEG6_LOCAL_FLAVORS | NLA_F_NESTED);
  request.attribute(SEG6_LOCAL_FLV_OPERATION, uint32_t{1U << SEG6_LOCAL_FLV_OP_NEXT_CSID});
  request.attribute(SEG6_LOCAL_FLV_LCBLOCK_BITS, uint8_t{32});
  request.attribute(SEG6_LOCAL_FLV_LCNODE_FN_BITS, uint8_t{16});
  request.end(flavors);
  request.end(encap);
  return request.send(this);
}

int Netlink::set_blackhole(const std::string& prefix, uint8_t prefix_bits) {
  return route_request(parse(prefix), prefix_bits, RTN_BLACKHOLE).send(this);
}

int Netlink::set_rate(uint32_t ifindex, uint64_t bits_per_second, uint32_t burst_bytes,
                      uint32_t queue_bytes) {
  Request request(bits_per_second == 0 ? RTM_DELQDISC : RTM_NEWQDISC,
                  bits_per_second == 0 ? 0 : NLM_F_CREATE | NLM_F_REPLACE);
  tcmsg message{};
  message.tcm_family = AF_UNSPEC;
  message.tcm_ifindex = static_cast<int>(ifindex);
  message.tcm_parent = TC_H_ROOT;
  request.put(message);
  if (bits_per_second == 0) {
    const int error = request.send(this);
    return error == ENOENT || error == EINVAL ? 0 : error;  // there was none
  }
  const uint64_t bytes_per_second = bits_per_second / 8;
  tc_tbf_qopt options{};
  options.rate.rate = static_cast<uint32_t>(std::min<uint64_t>(bytes_per_second, UINT32_MAX));
  options.rate.linklayer = TC_LINKLAYER_ETHERNET;
  options.limit = queue_bytes;
  request.attribute(TCA_KIND, std::string("tbf"));
  const size_t nest = request.begin(TCA_OPTIONS);
  request.attribute(TCA_TBF_PARMS, options);
  request.attribute(TCA_TBF_BURST, burst_bytes);
  if (bytes_per_second > UINT32_MAX) request.attribute(TCA_TBF_RATE64, bytes_per_second);
  request.end(nest);
  return request.send(this);
}

}  // namespace mrc::lab
