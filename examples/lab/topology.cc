// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/topology.h"

#include <cstdio>
#include <utility>

namespace mrc::lab {
namespace {

constexpr uint32_t kFirstIfindex = 16;  // below are those that every namespace has of its own
constexpr uint32_t kHostsMax = 64;
constexpr uint32_t kPlanesMax = 16;
constexpr uint32_t kSwitchesMax = 32;
constexpr uint32_t kNodesMax = 256;

std::string text(const char* format, auto... values) {
  char buffer[128];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

bool within(uint32_t value, uint32_t low, uint32_t high) {
  return value >= low && value <= high;
}

}  // namespace

std::string Shape::problem() const {
  if (!within(hosts, 1, kHostsMax)) return text("--hosts must be 1 to %u", kHostsMax);
  if (!within(planes, 1, kPlanesMax)) return text("--planes must be 1 to %u", kPlanesMax);
  if (!within(leaves, 1, kSwitchesMax)) return text("--leaves must be 1 to %u", kSwitchesMax);
  if (!within(spines, 1, kSwitchesMax)) return text("--spines must be 1 to %u", kSwitchesMax);
  if (!within(mtu, 1280, 65535)) return "--mtu must be 1280 to 65535";
  if (hosts + planes * (leaves + spines) > kNodesMax)
    return text("more than %u nodes: fewer planes, leaves or spines, please", kNodesMax);
  return {};
}

Topology::Topology(const Shape& shape) : shape_(shape) {
  for (uint32_t h = 1; h <= shape.hosts; ++h) add_node(text("h%u", h), Kind::kHost, 0, h);
  for (uint32_t p = 1; p <= shape.planes; ++p) {
    const auto leaves = static_cast<uint32_t>(nodes_.size());
    for (uint32_t l = 1; l <= shape.leaves; ++l) add_node(text("p%ul%u", p, l), Kind::kLeaf, p, l);
    const auto spines = static_cast<uint32_t>(nodes_.size());
    for (uint32_t s = 1; s <= shape.spines; ++s) add_node(text("p%us%u", p, s), Kind::kSpine, p, s);
    for (uint32_t h = 1; h <= shape.hosts; ++h)
      join(h - 1, text("p%u", p), leaves + leaf_of_host(h) - 1, text("h%u", h));
    for (uint32_t l = 1; l <= shape.leaves; ++l)
      for (uint32_t s = 1; s <= shape.spines; ++s)
        join(leaves + l - 1, text("s%u", s), spines + s - 1, text("l%u", l));
  }
  const auto management = static_cast<uint32_t>(nodes_.size());
  add_node("mgmt", Kind::kManagement, 0, 1);
  for (uint32_t h = 1; h <= shape.hosts; ++h) join(h - 1, "m0", management, text("h%u", h));
}

void Topology::add_node(std::string name, Kind kind, uint32_t plane, uint32_t index) {
  nodes_.push_back({std::move(name), kind, plane, index, {}});
}

void Topology::join(uint32_t lower, const std::string& lower_port, uint32_t upper,
                    const std::string& upper_port) {
  const auto link = static_cast<uint32_t>(links_.size());
  const auto first = static_cast<uint32_t>(ports_.size());
  const auto make = [&](uint32_t node, uint32_t number, uint32_t peer, const std::string& name) {
    const uint32_t ifindex = kFirstIfindex + number;
    ports_.push_back({node,
                      link,
                      peer,
                      name,
                      ifindex,
                      {0x02, 0, 0, 0, static_cast<uint8_t>(ifindex >> 8), static_cast<uint8_t>(ifindex)}});
    nodes_[node].ports.push_back(number);
  };
  make(lower, first, first + 1, lower_port);
  make(upper, first + 1, first, upper_port);
  links_.push_back({nodes_[lower].name + "-" + nodes_[upper].name, first, first + 1, nodes_[upper].plane});
}

int Topology::find_node(const std::string& name) const {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].name == name) return static_cast<int>(i);
  return -1;
}

int Topology::find_link(const std::string& one, const std::string& other) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    const std::string& lower = nodes_[ports_[links_[i].lower].node].name;
    const std::string& upper = nodes_[ports_[links_[i].upper].node].name;
    if ((lower == one && upper == other) || (lower == other && upper == one)) return static_cast<int>(i);
  }
  return -1;
}

uint16_t usid(Kind kind, uint32_t plane, uint32_t index) {
  const uint32_t tier = kind == Kind::kHost ? 9 : kind == Kind::kLeaf ? 2 : 1;
  return static_cast<uint16_t>(tier << 12 | ((plane - 1) & 0xF) << 8 | ((index - 1) & 0xFF));
}

std::string usid_prefix(uint16_t usid) {
  return text("%s:%x::", kBlock, usid);
}

std::string usid_route(const Topology& topology, uint32_t source, uint32_t destination, uint32_t plane,
                       uint32_t spine) {
  const uint16_t host = usid(Kind::kHost, plane, destination);
  const uint16_t first = usid(Kind::kLeaf, plane, topology.leaf_of_host(source));
  const uint16_t last = usid(Kind::kLeaf, plane, topology.leaf_of_host(destination));
  if (first == last) return text("%s:%x:%x::", kBlock, first, host);
  return text("%s:%x:%x:%x:%x::", kBlock, first, usid(Kind::kSpine, plane, spine), last, host);
}

std::string host_address(uint32_t plane, uint32_t host) {
  return text("fd00:%x:%x::1", plane, host);
}

std::string gateway_address(uint32_t plane, uint32_t host) {
  return text("fd00:%x:%x::ff", plane, host);
}

std::string node_address(const Node& node) {
  return text("fd02:%x:%x::%x", node.plane, node.kind == Kind::kLeaf ? 2 : 1, node.index);
}

std::string management_address(uint32_t host) {
  return text("10.77.0.%u", host);
}

std::string link_local(const Port& port) {
  const auto& m = port.mac;
  return text("fe80::%x:%xff:fe%02x:%x", (m[0] ^ 2) << 8 | m[1], m[2], m[3], m[4] << 8 | m[5]);
}

std::string mac_text(const std::array<uint8_t, 6>& m) {
  return text("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

}  // namespace mrc::lab
