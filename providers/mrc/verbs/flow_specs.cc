// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/flow_specs.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "providers/mrc/presence/limits.h"

namespace mrc::provider {
namespace {

constexpr uint8_t kSpecsMax = 10;  // as the kernel's

// Verbs have all fields as they are in a frame, so they are copied as they are.
template <typename Field, typename From>
void take(Field* to, const From& from) {
  static_assert(sizeof(Field) == sizeof(From));
  std::memcpy(to, &from, sizeof from);
}

template <typename Ip>
void take_v4(Ip* to, uint32_t from) {
  std::memcpy(to, &from, sizeof from);
}

void take_filter(const ibv_flow_eth_filter& from, FlowKey* to) {
  take(&to->destination_mac, from.dst_mac);
  take(&to->source_mac, from.src_mac);
  take(&to->ether_type, from.ether_type);
  take(&to->vlan_tag, from.vlan_tag);
}
void take_filter(const ibv_flow_ipv4_filter& from, FlowKey* to) {
  take_v4(&to->source_ip, from.src_ip);
  take_v4(&to->destination_ip, from.dst_ip);
}
void take_filter(const ibv_flow_ipv4_ext_filter& from, FlowKey* to) {
  take_v4(&to->source_ip, from.src_ip);
  take_v4(&to->destination_ip, from.dst_ip);
  to->protocol = from.proto;
  to->traffic_class = from.tos;
  to->hop_limit = from.ttl;
  to->ip_flags = from.flags;
}
void take_filter(const ibv_flow_ipv6_filter& from, FlowKey* to) {
  take(&to->source_ip, from.src_ip);
  take(&to->destination_ip, from.dst_ip);
  take(&to->flow_label, from.flow_label);
  to->protocol = from.next_hdr;
  to->traffic_class = from.traffic_class;
  to->hop_limit = from.hop_limit;
}
void take_filter(const ibv_flow_tcp_udp_filter& from, FlowKey* to) {
  take(&to->source_port, from.src_port);
  take(&to->destination_port, from.dst_port);
}

template <typename Spec>
int take_spec(const uint8_t* at, uint8_t layer, FlowMatch* to) {
  Spec spec;
  std::memcpy(&spec, at, sizeof spec);
  if (spec.size != sizeof spec) return EINVAL;
  if ((to->layers & layer) != 0) return EINVAL;  // twice
  to->layers |= layer;
  take_filter(spec.val, &to->value);
  take_filter(spec.mask, &to->mask);
  return 0;
}

int take_any_spec(ibv_flow_spec_type type, const uint8_t* at, FlowMatch* to) {
  switch (type) {
    case IBV_FLOW_SPEC_ETH: {
      const int error = take_spec<ibv_flow_spec_eth>(at, kLayerEthernet, to);
      if (to->mask.vlan_tag != FlowKey{}.vlan_tag) to->layers |= kLayerVlan;
      return error;
    }
    case IBV_FLOW_SPEC_IPV4:
      return take_spec<ibv_flow_spec_ipv4>(at, kLayerIpv4, to);
    case IBV_FLOW_SPEC_IPV4_EXT:
      return take_spec<ibv_flow_spec_ipv4_ext>(at, kLayerIpv4, to);
    case IBV_FLOW_SPEC_IPV6:
      return take_spec<ibv_flow_spec_ipv6>(at, kLayerIpv6, to);
    case IBV_FLOW_SPEC_TCP:
      return take_spec<ibv_flow_spec_tcp_udp>(at, kLayerTcp, to);
    case IBV_FLOW_SPEC_UDP:
      return take_spec<ibv_flow_spec_tcp_udp>(at, kLayerUdp, to);
    default:
      return EOPNOTSUPP;  // tunnels, and what else to do with a frame
  }
}

int take_specs(const ibv_flow_attr& from, FlowMatch* to) {
  const uint8_t* at = reinterpret_cast<const uint8_t*>(&from + 1);
  for (uint8_t i = 0; i < from.num_of_specs; ++i) {
    decltype(ibv_flow_spec::hdr) head;
    std::memcpy(&head, at, sizeof head);
    if (const int error = take_any_spec(head.type, at, to); error != 0) return error;
    at += head.size;
  }
  const bool both_versions = (to->layers & kLayerIpv4) != 0 && (to->layers & kLayerIpv6) != 0;
  const bool both_transports = (to->layers & kLayerTcp) != 0 && (to->layers & kLayerUdp) != 0;
  return both_versions || both_transports ? EINVAL : 0;
}

int take_kind(const ibv_flow_attr& from, Flow* to) {
  switch (from.type) {
    case IBV_FLOW_ATTR_NORMAL:
      to->kind = FlowKind::kMatching;
      return 0;
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      to->kind = FlowKind::kAllElse;
      break;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      to->kind = FlowKind::kToManyElse;
      break;
    case IBV_FLOW_ATTR_SNIFFER:
      to->kind = FlowKind::kSniffer;
      break;
    default:
      return EINVAL;
  }
  return from.num_of_specs == 0 ? 0 : EINVAL;
}

}  // namespace

int to_flow(const ibv_flow_attr& from, Flow* to) {
  if (from.comp_mask != 0 || from.port != limits::kPort || from.num_of_specs > kSpecsMax) return EINVAL;
  constexpr uint32_t kKnown = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
  if ((from.flags & ~kKnown) != 0) return EINVAL;
  if ((from.flags & IBV_FLOW_ATTR_FLAGS_EGRESS) != 0) return EOPNOTSUPP;
  to->priority = from.priority;
  to->lets_pass = (from.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
  if (const int error = take_kind(from, to); error != 0) return error;
  return take_specs(from, &to->match);
}

}  // namespace mrc::provider
