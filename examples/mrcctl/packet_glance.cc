// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/packet_glance.h"

#include <algorithm>
#include <iterator>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/packet.h"

namespace mrc {
namespace {

constexpr size_t kRoutingBytesMin = 8;

constexpr std::string_view kClasses[] = {"write", "send", "read",  "atomic",   "flush", "ack",
                                         "sack",  "nack", "probe", "endpoint", "plain"};

// Walks over the headers, outermost first. Every step says how many bytes must be there.
class Walk {
 public:
  explicit Walk(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool has(size_t count) const { return bytes_.size() >= count; }
  const uint8_t* at() const { return bytes_.data(); }
  void skip(size_t count) { bytes_ = bytes_.subspan(count); }

 private:
  std::span<const uint8_t> bytes_;
};

// Over one IP header, and the routing header behind it. The protocol that follows; 0: it ends here.
uint8_t step_over_ip(Walk& walk, uint16_t* flow_label) {
  if (!walk.has(kIpv4Bytes)) return 0;
  if (walk.at()[0] >> 4 == 4) {
    const uint8_t protocol = walk.at()[9];
    *flow_label = 0;
    walk.skip(kIpv4Bytes);
    return protocol;
  }
  if (!walk.has(kIpv6Bytes)) return 0;
  uint8_t protocol = walk.at()[6];
  *flow_label = load_be<uint16_t>(walk.at() + 2);
  walk.skip(kIpv6Bytes);
  if (protocol != kProtocolRouting) return protocol;
  if (!walk.has(kRoutingBytesMin)) return 0;
  protocol = walk.at()[0];
  const size_t length = kRoutingBytesMin + size_t{8} * walk.at()[1];
  if (!walk.has(length)) return 0;
  walk.skip(length);
  return protocol;
}

}  // namespace

std::optional<PacketGlance> glance_at(std::span<const uint8_t> frame) {
  Walk walk(frame);
  if (!walk.has(kEthernetBytes)) return std::nullopt;
  const auto type = load_be<uint16_t>(walk.at() + 12);
  if (type != kEtherTypeIpv4 && type != kEtherTypeIpv6) return std::nullopt;
  walk.skip(kEthernetBytes);
  uint16_t flow_label = 0;
  uint8_t protocol = step_over_ip(walk, &flow_label);
  if (protocol == kProtocolIpv4 || protocol == kProtocolIpv6) protocol = step_over_ip(walk, &flow_label);
  if (protocol != kProtocolUdp || !walk.has(kUdpBytes + Bth::kBytes)) return std::nullopt;
  const auto port = load_be<uint16_t>(walk.at() + 2);
  if (port != kUdpPort && port != kUdpPortSpecPrint) return std::nullopt;
  PacketGlance glance;
  glance.ev = static_cast<uint32_t>(flow_label) << 16 | load_be<uint16_t>(walk.at());
  const uint8_t* bth = walk.at() + kUdpBytes;
  glance.opcode = bth[0];
  glance.qpn = load_be24(bth + 5);
  return glance;
}

std::string_view class_of(uint8_t code) {
  const auto opcode = static_cast<Opcode>(code >> 5 == kMrcXrcFamily ? 0xC0 | (code & 0x1F) : code);
  if (!is_mrc(opcode)) return "plain";
  using T = OpcodeTraits;
  const uint16_t traits = traits_of(opcode);
  if ((traits & T::kWrite) != 0) return "write";
  if ((traits & T::kSend) != 0) return "send";
  if ((traits & (T::kReadRequest | T::kReadResponse)) != 0) return "read";
  if ((traits & (T::kAtomicRequest | T::kAtomicAck)) != 0) return "atomic";
  if ((traits & T::kFlush) != 0) return "flush";
  switch (opcode) {
    case Opcode::kAcknowledge:
      return "ack";
    case Opcode::kSack:
      return "sack";
    case Opcode::kNack:
      return "nack";
    case Opcode::kProbe:
      return "probe";
    default:
      return "endpoint";
  }
}

bool is_class(std::string_view word) {
  return std::find(std::begin(kClasses), std::end(kClasses), word) != std::end(kClasses);
}

}  // namespace mrc
