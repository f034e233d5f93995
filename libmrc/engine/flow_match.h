// SPDX-License-Identifier: BSD-2-Clause
// What a flow looks at in a frame: header fields, each with a mask. Fields lie side by side in a key, so that
// comparing is one loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc {

// Layers that a frame has, and that a flow may ask for.
enum FlowLayer : uint8_t {
  kLayerEthernet = 1,
  kLayerVlan = 2,
  kLayerIpv4 = 4,
  kLayerIpv6 = 8,
  kLayerTcp = 16,
  kLayerUdp = 32
};

// All as in the frame; what a frame does not have is zero.
struct FlowKey {
  std::array<uint8_t, 6> destination_mac{};
  std::array<uint8_t, 6> source_mac{};
  std::array<uint8_t, 2> ether_type{};  // behind the VLAN tag, if there is one
  std::array<uint8_t, 2> vlan_tag{};
  std::array<uint8_t, 16> source_ip{};  // of IPv4 the first four bytes
  std::array<uint8_t, 16> destination_ip{};
  uint8_t protocol = 0;  // of IPv6 the next header
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint8_t ip_flags = 0;  // of IPv4: bit 0 more fragments, bit 1 do not fragment
  std::array<uint8_t, 4> flow_label{};
  std::array<uint8_t, 2> source_port{};
  std::array<uint8_t, 2> destination_port{};
};

struct FlowMatch {
  uint8_t layers = 0;  // that must be there
  FlowKey value;
  FlowKey mask;  // zero: whatever it is
};

// A frame as flows see it.
class FlowView {
 public:
  // Nothing behind the end of the frame is read; what is cut off or not understood is not there.
  explicit FlowView(std::span<const uint8_t> frame);

  uint8_t layers() const { return layers_; }
  const FlowKey& key() const { return key_; }
  bool to_many() const { return (key_.destination_mac[0] & 1) != 0; }
  bool matches(const FlowMatch& wanted) const;

 private:
  void read_ipv4(std::span<const uint8_t> packet);
  void read_ipv6(std::span<const uint8_t> packet);
  void read_ports(std::span<const uint8_t> segment);

  uint8_t layers_ = 0;
  FlowKey key_;
};

}  // namespace mrc
