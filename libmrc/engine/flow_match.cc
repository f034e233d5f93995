// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/engine/flow_match.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "libmrc/wire/ethernet.h"

namespace mrc {

namespace {
constexpr uint16_t kEtherTypeVlan = 0x8100;
constexpr size_t kVlanBytes = 4;
constexpr uint8_t kProtocolTcp = 6;
constexpr size_t kPortBytes = 4;

static_assert(std::has_unique_object_representations_v<FlowKey>);  // compared byte by byte

uint16_t type_in(const uint8_t* at) {
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

template <size_t kBytes>
void take(std::array<uint8_t, kBytes>* to, const uint8_t* from, size_t bytes = kBytes) {
  std::copy_n(from, bytes, to->begin());
}
}  // namespace

FlowView::FlowView(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return;
  layers_ |= kLayerEthernet;
  take(&key_.destination_mac, frame.data());
  take(&key_.source_mac, frame.data() + 6);
  size_t type_at = 12;
  if (type_in(&frame[type_at]) == kEtherTypeVlan && frame.size() >= kEthernetBytes + kVlanBytes) {
    layers_ |= kLayerVlan;
    take(&key_.vlan_tag, &frame[type_at + 2]);
    type_at += kVlanBytes;
  }
  take(&key_.ether_type, &frame[type_at]);
  const uint16_t type = type_in(&frame[type_at]);
  const auto packet = frame.subspan(type_at + 2);
  if (type == kEtherTypeIpv4) read_ipv4(packet);
  if (type == kEtherTypeIpv6) read_ipv6(packet);
}

void FlowView::read_ipv4(std::span<const uint8_t> packet) {
  if (packet.size() < kIpv4Bytes || packet[0] >> 4 != 4) return;
  const size_t header = size_t{4} * (packet[0] & 15);
  if (header < kIpv4Bytes || header > packet.size()) return;
  layers_ |= kLayerIpv4;
  key_.traffic_class = packet[1];
  const bool more = (packet[6] & 0x20) != 0;
  const bool whole = (packet[6] & 0x40) != 0;
  key_.ip_flags = static_cast<uint8_t>((more ? 1 : 0) | (whole ? 2 : 0));
  key_.hop_limit = packet[8];
  key_.protocol = packet[9];
  take(&key_.source_ip, &packet[12], 4);
  take(&key_.destination_ip, &packet[16], 4);
  const bool first = ((packet[6] & 0x1F) | packet[7]) == 0;  // later fragments have no ports
  if (first) read_ports(packet.subspan(header));
}

// Without extension headers: behind those nothing is looked at.
void FlowView::read_ipv6(std::span<const uint8_t> packet) {
  if (packet.size() < kIpv6Bytes || packet[0] >> 4 != 6) return;
  layers_ |= kLayerIpv6;
  key_.traffic_class = static_cast<uint8_t>(packet[0] << 4 | packet[1] >> 4);
  key_.flow_label = {0, static_cast<uint8_t>(packet[1] & 15), packet[2], packet[3]};
  key_.protocol = packet[6];
  key_.hop_limit = packet[7];
  take(&key_.source_ip, &packet[8]);
  take(&key_.destination_ip, &packet[24]);
  read_ports(packet.subspan(kIpv6Bytes));
}

void FlowView::read_ports(std::span<const uint8_t> segment) {
  if (segment.size() < kPortBytes) return;
  if (key_.protocol == kProtocolTcp) layers_ |= kLayerTcp;
  if (key_.protocol == kProtocolUdp) layers_ |= kLayerUdp;
  if ((layers_ & (kLayerTcp | kLayerUdp)) == 0) return;
  take(&key_.source_port, segment.data());
  take(&key_.destination_port, segment.data() + 2);
}

bool FlowView::matches(const FlowMatch& wanted) const {
  if ((layers_ & wanted.layers) != wanted.layers) return false;
  uint8_t key[sizeof(FlowKey)];
  uint8_t value[sizeof(FlowKey)];
  uint8_t mask[sizeof(FlowKey)];
  std::memcpy(key, &key_, sizeof key);
  std::memcpy(value, &wanted.value, sizeof value);
  std::memcpy(mask, &wanted.mask, sizeof mask);
  uint8_t different = 0;
  for (size_t i = 0; i < sizeof key; ++i) different |= static_cast<uint8_t>((key[i] ^ value[i]) & mask[i]);
  return different == 0;
}

}  // namespace mrc
