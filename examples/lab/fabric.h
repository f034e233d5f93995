// SPDX-License-Identifier: BSD-2-Clause
// A fabric made of network namespaces that only this process knows: they are held by file descriptors, so the
// kernel takes everything down when the process ends, however it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/lab/netlink.h"
#include "examples/lab/topology.h"

namespace mrc::lab {

class Fabric {
 public:
  explicit Fabric(const Shape& shape) : topology_(shape) {}

  // False: `error` says what could not be made.
  bool build(std::string* error);

  const Topology& topology() const { return topology_; }
  int namespace_fd(uint32_t node) const { return spaces_[node].net.get(); }
  Netlink& netlink(uint32_t node) { return spaces_[node].netlink; }

  // A link that is down has lost its carrier at both ends. Coming up, its routes are set again, for the
  // kernel deletes them.
  bool set_link_up(uint32_t link, bool up, std::string* error);
  bool link_is_up(uint32_t link) const { return link_up_[link]; }

 private:
  struct Space {
    Fd net;
    Netlink netlink;
  };

  bool make_space(uint32_t node, std::string* error);
  bool make_link(const Link& link, std::string* error);
  bool port_is_up(const Port& port) const { return link_up_[port.link]; }
  // Addresses, neighbours and routes over all ports that are up; may be repeated.
  int configure(uint32_t node);
  int configure_host(uint32_t node);
  int configure_leaf(uint32_t node);
  int configure_spine(uint32_t node);
  int configure_management(uint32_t node);
  bool configure(uint32_t node, std::string* error);
  const Node& peer_of(const Port& port) const { return topology_.nodes()[topology_.ports()[port.peer].node]; }
  NextHop hop_over(const Port& port) const;

  Topology topology_;
  std::vector<Space> spaces_;
  std::vector<bool> link_up_;
};

// Enters a network namespace for as long as it lives.
class InNamespace {
 public:
  explicit InNamespace(int namespace_fd);
  ~InNamespace();
  InNamespace(const InNamespace&) = delete;
  InNamespace& operator=(const InNamespace&) = delete;

 private:
  Fd before_;
};

}  // namespace mrc::lab
