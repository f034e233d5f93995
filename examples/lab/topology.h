// SPDX-License-Identifier: BSD-2-Clause
// The plan of a fabric: its nodes, their ports, the links between them, and all names, addresses and uSIDs.
// Pure data; fabric.cc makes it real.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mrc::lab {

struct Shape {
  uint32_t hosts = 2;
  uint32_t planes = 4;
  uint32_t leaves = 2;  // per plane
  uint32_t spines = 4;  // per plane
  uint32_t mtu = 9000;
  // Empty if the shape can be built, else what is wrong with it.
  std::string problem() const;
};

enum class Kind : uint8_t { kHost, kLeaf, kSpine, kManagement };

struct Node {
  std::string name;  // h1, p1l1, p1s1, mgmt
  Kind kind = Kind::kHost;
  uint32_t plane = 0;  // 1, 2, ...; 0: none
  uint32_t index = 0;  // 1, 2, ...
  std::vector<uint32_t> ports;
};

struct Port {
  uint32_t node = 0;
  uint32_t link = 0;
  uint32_t peer = 0;     // the port at the other end
  std::string name;      // of the interface in its node
  uint32_t ifindex = 0;  // differs between all ports of a fabric, so that a BPF program can tell them apart
  std::array<uint8_t, 6> mac{};
};

// `lower` is nearer to the host: host-leaf, leaf-spine.
struct Link {
  std::string name;  // h1-p1l1, p1l1-p1s1
  uint32_t lower = 0;
  uint32_t upper = 0;
  uint32_t plane = 0;  // 0: of the management network
};

class Topology {
 public:
  explicit Topology(const Shape& shape);

  const Shape& shape() const { return shape_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Port>& ports() const { return ports_; }
  const std::vector<Link>& links() const { return links_; }
  // -1: there is none of this name.
  int find_node(const std::string& name) const;
  // Either order of the two ends; -1: none.
  int find_link(const std::string& one, const std::string& other) const;
  uint32_t leaf_of_host(uint32_t host) const { return (host - 1) % shape_.leaves + 1; }

 private:
  void add_node(std::string name, Kind kind, uint32_t plane, uint32_t index);
  void join(uint32_t lower, const std::string& lower_port, uint32_t upper, const std::string& upper_port);

  Shape shape_;
  std::vector<Node> nodes_;
  std::vector<Port> ports_;
  std::vector<Link> links_;
};

// uSID = tier(4) | plane(4) | index(8), counted from 0, as libmrc/path/usid_plan.h has it.
inline constexpr const char* kBlock = "fcbb:bbbb";
uint16_t usid(Kind kind, uint32_t plane, uint32_t index);
std::string usid_prefix(uint16_t usid);  // fcbb:bbbb:2000::
// The whole uSID list from one host to another through spine `spine` of `plane`.
std::string usid_route(const Topology& topology, uint32_t source, uint32_t destination, uint32_t plane,
                       uint32_t spine);

std::string host_address(uint32_t plane, uint32_t host);     // fd00:1:1::1, on the plane's interface
std::string gateway_address(uint32_t plane, uint32_t host);  // fd00:1:1::ff, its leaf
std::string node_address(const Node& node);                  // on lo, for ping: of switches
std::string management_address(uint32_t host);               // 10.77.0.1
std::string link_local(const Port& port);
std::string mac_text(const std::array<uint8_t, 6>& mac);

}  // namespace mrc::lab
