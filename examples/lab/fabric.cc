// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/fabric.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace mrc::lab {
namespace {

constexpr uint32_t kLoopback = 1;
// A device that is never taken down carries the node's own uSID; lo cannot (a route over lo rejects).
constexpr uint32_t kUsidDevice = 2;
constexpr uint32_t kManagementBridge = 2;

bool write_setting(const std::string& name, const char* value) {
  const Fd file(::open(("/proc/sys/net/" + name).c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), value, std::strlen(value)) > 0;
}

// Before there are links: without duplicate address detection an address can be used at once.
bool set_defaults(bool is_switch) {
  bool done = true;
  for (const char* set : {"all", "default"}) {
    const std::string conf = std::string("ipv6/conf/") + set + "/";
    for (const auto& [name, value] : {std::pair{"disable_ipv6", "0"},
                                      {"accept_dad", "0"},
                                      {"accept_ra", "0"},
                                      {"keep_addr_on_down", "1"},
                                      {"seg6_enabled", "1"}})
      done = write_setting(conf + name, value) && done;
    write_setting(conf + "router_solicitations", "0");
    // A dead link's packets are dropped, not answered.
    write_setting(conf + "ignore_routes_with_linkdown", "1");
  }
  if (is_switch) done = write_setting("ipv6/conf/all/forwarding", "1") && done;
  return done;
}

std::string plane_prefix(const char* base, uint32_t plane) {
  char text[32];
  std::snprintf(text, sizeof text, "%s:%x::", base, plane);
  return text;
}

std::string host_prefix(uint32_t plane, uint32_t host) {
  char text[32];
  std::snprintf(text, sizeof text, "fd00:%x:%x::", plane, host);
  return text;
}

// The first error of a row of requests.
class Errors {
 public:
  void operator+=(int error) {
    if (first_ == 0) first_ = error;
  }
  int first() const { return first_; }

 private:
  int first_ = 0;
};

}  // namespace

InNamespace::InNamespace(int namespace_fd)
    : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  if (::setns(namespace_fd, CLONE_NEWNET) != 0) std::perror("mrc_lab: setns");
}

InNamespace::~InNamespace() {
  if (::setns(before_.get(), CLONE_NEWNET) != 0) std::perror("mrc_lab: setns");
}

bool Fabric::build(std::string* error) {
  const auto& nodes = topology_.nodes();
  spaces_.resize(nodes.size());
  link_up_.assign(topology_.links().size(), true);
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (!make_space(node, error)) return false;
  for (const Link& link : topology_.links())
    if (!make_link(link, error)) return false;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (!configure(node, error)) return false;
  return true;
}

bool Fabric::make_space(uint32_t node, std::string* error) {
  const Node& plan = topology_.nodes()[node];
  const bool is_switch = plan.kind == Kind::kLeaf || plan.kind == Kind::kSpine;
  Space& space = spaces_[node];
  const auto fail = [&](const char* what, int why) {
    *error = plan.name + ": " + what + ": " + std::strerror(why);
    return false;
  };
  if (::unshare(CLONE_NEWNET) != 0) return fail("cannot make a network namespace", errno);
  space.net = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!space.net) return fail("/proc/thread-self/ns/net", errno);
  if (const int why = space.netlink.open(); why != 0) return fail("cannot open a netlink socket", why);
  Netlink& netlink = space.netlink;
  Errors errors;
  errors += netlink.set_up(kLoopback, true);
  if (is_switch) errors += netlink.add_bridge("usid", kUsidDevice);
  if (plan.kind == Kind::kManagement) errors += netlink.add_bridge("br0", kManagementBridge);
  if (errors.first() != 0) return fail("cannot make its first interfaces", errors.first());
  if (!set_defaults(is_switch))
    return fail("cannot write to /proc/sys/net/ipv6 (is there IPv6, SRv6?)", errno);
  return true;
}

bool Fabric::make_link(const Link& link, std::string* error) {
  const Port& lower = topology_.ports()[link.lower];
  const Port& upper = topology_.ports()[link.upper];
  const auto end = [this](const Port& port) {
    return VethEnd{port.name, port.ifindex, port.mac, namespace_fd(port.node)};
  };
  Errors errors;
  errors += netlink(lower.node).add_veth(end(lower), end(upper), topology_.shape().mtu);
  errors += netlink(lower.node).set_up(lower.ifindex, true);
  errors += netlink(upper.node).set_up(upper.ifindex, true);
  if (errors.first() == 0) return true;
  *error = "link " + link.name + ": cannot make it: " + std::strerror(errors.first());
  return false;
}

NextHop Fabric::hop_over(const Port& port) const {
  return {link_local(topology_.ports()[port.peer]), port.ifindex};
}

int Fabric::configure_host(uint32_t node) {
  const Node& host = topology_.nodes()[node];
  Netlink& net = netlink(node);
  Errors errors;
  for (const uint32_t number : host.ports) {
    const Port& port = topology_.ports()[number];
    const Node& leaf = peer_of(port);
    if (leaf.kind == Kind::kManagement) {
      errors += net.add_address(port.ifindex, management_address(host.index), 16);
      continue;
    }
    if (!port_is_up(port)) continue;
    const std::string gateway = gateway_address(leaf.plane, host.index);
    const NextHop hop{gateway, port.ifindex};
    errors += net.add_address(port.ifindex, host_address(leaf.plane, host.index), 64);
    errors += net.add_neighbour(port.ifindex, gateway, topology_.ports()[port.peer].mac);
    errors += net.set_route(plane_prefix("fd00", leaf.plane), 32, {hop});
    errors += net.set_route(plane_prefix("fd02", leaf.plane), 32, {hop});
    errors += net.set_route(usid_prefix(usid(Kind::kLeaf, leaf.plane, leaf.index)), 48, {hop});
  }
  return errors.first();
}

int Fabric::configure_leaf(uint32_t node) {
  const Node& leaf = topology_.nodes()[node];
  Netlink& net = netlink(node);
  Errors errors;
  errors += net.set_up(kUsidDevice, true);
  errors += net.add_address(kLoopback, node_address(leaf), 128);
  errors += net.set_usid(usid_prefix(usid(Kind::kLeaf, leaf.plane, leaf.index)), kUsidDevice);
  errors += net.set_blackhole("::", 0);
  std::vector<NextHop> uplinks;
  for (const uint32_t number : leaf.ports) {
    const Port& port = topology_.ports()[number];
    const Port& other = topology_.ports()[port.peer];
    const Node& peer = peer_of(port);
    if (!port_is_up(port)) continue;
    const NextHop hop = hop_over(port);
    errors += net.add_neighbour(port.ifindex, hop.gateway, other.mac);
    errors += net.set_route(usid_prefix(usid(peer.kind, leaf.plane, peer.index)), 48, {hop});
    if (peer.kind == Kind::kHost) {
      errors += net.add_address(port.ifindex, gateway_address(leaf.plane, peer.index), 64);
      errors += net.add_neighbour(port.ifindex, host_address(leaf.plane, peer.index), other.mac);
    } else {
      errors += net.set_route(node_address(peer), 128, {hop});
      uplinks.push_back(hop);
    }
  }
  if (uplinks.empty()) return errors.first();
  // Plain IPv6 between leaves, for ping and for programs without SRv6: equal-cost over the spines.
  for (uint32_t host = 1; host <= topology_.shape().hosts; ++host)
    if (topology_.leaf_of_host(host) != leaf.index)
      errors += net.set_route(host_prefix(leaf.plane, host), 64, uplinks);
  for (const Node& other : topology_.nodes())
    if (other.kind == Kind::kLeaf && other.plane == leaf.plane && other.index != leaf.index)
      errors += net.set_route(node_address(other), 128, uplinks);
  return errors.first();
}

int Fabric::configure_spine(uint32_t node) {
  const Node& spine = topology_.nodes()[node];
  Netlink& net = netlink(node);
  Errors errors;
  errors += net.set_up(kUsidDevice, true);
  errors += net.add_address(kLoopback, node_address(spine), 128);
  errors += net.set_usid(usid_prefix(usid(Kind::kSpine, spine.plane, spine.index)), kUsidDevice);
  errors += net.set_blackhole("::", 0);
  for (const uint32_t number : spine.ports) {
    const Port& port = topology_.ports()[number];
    if (!port_is_up(port)) continue;
    const Node& leaf = peer_of(port);
    const NextHop hop = hop_over(port);
    errors += net.add_neighbour(port.ifindex, hop.gateway, topology_.ports()[port.peer].mac);
    errors += net.set_route(usid_prefix(usid(Kind::kLeaf, leaf.plane, leaf.index)), 48, {hop});
    errors += net.set_route(node_address(leaf), 128, {hop});
    for (uint32_t host = 1; host <= topology_.shape().hosts; ++host)
      if (topology_.leaf_of_host(host) == leaf.index)
        errors += net.set_route(host_prefix(spine.plane, host), 64, {hop});
  }
  return errors.first();
}

int Fabric::configure_management(uint32_t node) {
  Errors errors;
  errors += netlink(node).set_up(kManagementBridge, true);
  for (const uint32_t number : topology_.nodes()[node].ports)
    errors += netlink(node).set_master(topology_.ports()[number].ifindex, kManagementBridge);
  return errors.first();
}

int Fabric::configure(uint32_t node) {
  switch (topology_.nodes()[node].kind) {
    case Kind::kHost:
      return configure_host(node);
    case Kind::kLeaf:
      return configure_leaf(node);
    case Kind::kSpine:
      return configure_spine(node);
    case Kind::kManagement:
      return configure_management(node);
  }
  return EINVAL;
}

bool Fabric::configure(uint32_t node, std::string* error) {
  const int why = configure(node);
  if (why == 0) return true;
  *error = topology_.nodes()[node].name + ": cannot set its addresses and routes: " + std::strerror(why);
  return false;
}

bool Fabric::set_link_up(uint32_t link, bool up, std::string* error) {
  if (link_up_[link] == up) return true;
  const Link& plan = topology_.links()[link];
  const Port& upper = topology_.ports()[plan.upper];
  if (const int why = netlink(upper.node).set_up(upper.ifindex, up); why != 0) {
    *error = "link " + plan.name + ": cannot take it " + (up ? "up: " : "down: ") + std::strerror(why);
    return false;
  }
  link_up_[link] = up;
  return !up || (configure(upper.node, error) && configure(topology_.ports()[plan.lower].node, error));
}

}  // namespace mrc::lab
