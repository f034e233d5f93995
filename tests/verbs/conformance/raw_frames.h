// SPDX-License-Identifier: BSD-2-Clause
// Ethernet frames that differ in what flows look at, and what listens to them.
#pragma once

#include <cstdint>
#include <vector>

#include "objects.h"

namespace conformance {

// Frames of kinds 0 to kFrameKinds - 1; the last byte is the kind.
enum FrameKind : uint32_t {
  kPlainFrame,     // of no protocol that anybody knows
  kUdpFrame,       // IPv4, UDP port 5000
  kOtherUdpFrame,  // from another address, UDP port 5001
  kTcpFrame,       // IPv4, TCP port 80
  kUdp6Frame,      // IPv6, UDP port 5000
  kGroupFrame,     // to an Ethernet group
  kVlanFrame,      // UDP port 5000 with a VLAN tag
  kFrameKinds
};
std::vector<uint8_t> make_frame(uint32_t kind);
constexpr uint8_t kStation[6] = {0x02, 0, 0, 0, 0, 1};  // where all go but for the group's

// Whether this process may use raw packets; throws Skip if not.
bool has_net_raw();
void need_net_raw();

// A flow as verbs want it: the attributes, and specifications right behind.
class FlowWanted {
 public:
  explicit FlowWanted(ibv_flow_attr_type type = IBV_FLOW_ATTR_NORMAL, uint16_t priority = 0,
                      uint32_t flags = 0);
  template <typename Spec>
  FlowWanted& add(const Spec& spec) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&spec);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof spec);
    ++get()->num_of_specs;
    return *this;
  }
  FlowWanted& to_station(const uint8_t (&mac)[6]);
  FlowWanted& from_ipv4(uint32_t address, uint32_t mask = UINT32_MAX);
  FlowWanted& ipv6_hops(uint8_t hops);
  FlowWanted& to_port(uint16_t port, ibv_flow_spec_type type = IBV_FLOW_SPEC_UDP);
  FlowWanted& vlan(uint16_t tag);
  ibv_flow_attr* get() { return reinterpret_cast<ibv_flow_attr*>(bytes_.data()); }

 private:
  std::vector<uint8_t> bytes_;
};

// A queue pair of raw packets.
struct RawSide {
  static constexpr uint32_t kReceives = 128;
  static constexpr uint32_t kFrameBytes = 8192;

  explicit RawSide(ibv_context* context = device(), ibv_qp_state until = IBV_QPS_RTS,
                   ibv_comp_channel* channel = nullptr);
  Owned<ibv_flow> listen(FlowWanted wanted);
  // Frames that come: so many, and then none for a while.
  std::vector<std::vector<uint8_t>> hear(size_t expected);
  std::vector<uint32_t> hear_kinds(size_t expected);
  std::vector<uint8_t> hear_one();
  void receive(uint64_t id);
  void send(const std::vector<uint8_t>& frame);

  Owned<ibv_pd> pd;
  Owned<ibv_cq> cq;  // of receives
  Owned<ibv_cq> send_cq;
  Memory memory;
  Owned<ibv_qp> qp;
};

}  // namespace conformance
