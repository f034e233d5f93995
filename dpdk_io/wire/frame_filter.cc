// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/frame_filter.h"

#include <linux/if_packet.h>

#include <cstring>

#include "dpdk_io/host/process_slot.h"
#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/packet.h"

namespace mrc {
namespace {

constexpr size_t kQpnAt = kUdpBytes + 4;  // from the UDP header: BTH's second word, a byte and the QPN
constexpr size_t kIpv4ProtocolAt = 9;
constexpr size_t kIpv6NextAt = 6;
constexpr size_t kIpv4SourceAt = 12;
constexpr size_t kIpv6SourceAt = 8;
// From the UDP header: BTH's opcode, and in datagrams the DETH, whose second word has the QPN of the sender.
constexpr size_t kOpcodeAt = kUdpBytes;
constexpr size_t kSourceQpnAt = kUdpBytes + Bth::kBytes + 4;
constexpr uint8_t kDatagramOpcodes = 3;  // the upper three bits of UD's

bool is_roce_port(uint16_t port) {
  return port == kUdpPort || port == kUdpPortSpecPrint;
}

// Walks from header to header; each step moves the front of what is left.
class Walk {
 public:
  explicit Walk(std::span<const uint8_t> frame) : left_(frame) {}

  bool step(size_t bytes) {
    if (left_.size() < bytes) return false;
    left_ = left_.subspan(bytes);
    return true;
  }
  bool ipv4(uint8_t* protocol) {
    if (left_.size() < kIpv4Bytes || left_[0] != 0x45) return false;
    source_ = left_.data() + kIpv4SourceAt;
    source_is_v4_ = true;
    *protocol = left_[kIpv4ProtocolAt];
    return step(kIpv4Bytes);
  }
  bool ipv6(uint8_t* protocol) {
    if (left_.size() < kIpv6Bytes || left_[0] >> 4 != 6) return false;
    source_ = left_.data() + kIpv6SourceAt;
    source_is_v4_ = false;
    *protocol = left_[kIpv6NextAt];
    return step(kIpv6Bytes);
  }
  bool routing(uint8_t* protocol) {
    if (left_.size() < 8) return false;
    *protocol = left_[0];
    return step(8 + size_t{8} * left_[1]);
  }
  // False: not RoCE.
  bool qpn(uint32_t* qpn) const {
    if (left_.size() < kQpnAt + 4 || !is_roce_port(load_be<uint16_t>(left_.data() + 2))) return false;
    *qpn = load_be<uint32_t>(left_.data() + kQpnAt) & Qpn::kMask;
    return true;
  }
  // Behind qpn(): false: a datagram that is cut.
  bool source_qpn(std::optional<Qpn>* qpn) const {
    if (left_[kOpcodeAt] >> 5 != kDatagramOpcodes) return true;
    if (left_.size() < kSourceQpnAt + 4) return false;
    *qpn = Qpn{load_be<uint32_t>(left_.data() + kSourceQpnAt)};
    return true;
  }
  // Of the IP header that was stepped over last.
  IpAddress source() const {
    if (source_is_v4_) return IpAddress::v4(source_[0], source_[1], source_[2], source_[3]);
    IpAddress address;
    std::memcpy(address.bytes.data(), source_, address.bytes.size());
    return address;
  }

 private:
  std::span<const uint8_t> left_;
  const uint8_t* source_ = nullptr;
  bool source_is_v4_ = false;
};

// `outer`: the source of the header around an inner one, if anybody wants to know.
bool walk_to_udp(uint16_t ether_type, Walk* walk, std::optional<IpAddress>* outer = nullptr) {
  uint8_t protocol = 0;
  if (ether_type == kEtherTypeIpv4) return walk->ipv4(&protocol) && protocol == kProtocolUdp;
  if (ether_type != kEtherTypeIpv6 || !walk->ipv6(&protocol)) return false;
  if (protocol == kProtocolRouting && !walk->routing(&protocol)) return false;
  if (outer != nullptr && (protocol == kProtocolIpv6 || protocol == kProtocolIpv4)) *outer = walk->source();
  if (protocol == kProtocolIpv6) {
    if (!walk->ipv6(&protocol)) return false;
  } else if (protocol == kProtocolIpv4) {
    if (!walk->ipv4(&protocol)) return false;
  }
  return protocol == kProtocolUdp;
}

// Classic BPF jumps forward by a number of instructions; labels make them from places.
class Program {
 public:
  enum Label : uint8_t {
    kNext,
    kDrop,
    kTake,
    kHeard,
    kIpv4,
    kIpv6,
    kInIpv4,
    kInIpv6,
    kUdp,
    kQpn,
    kOneHost,
    kGroup,
    kLabels
  };

  void statement(uint16_t code, uint32_t k) { code_.push_back({BPF_STMT(code, k), kNext, kNext}); }
  void equals(uint32_t k, Label yes, Label no) {
    code_.push_back({BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, 0), yes, no});
  }
  void go(Label to) { code_.push_back({BPF_STMT(BPF_JMP | BPF_JA, 0), to, kNext}); }
  void mark(Label label) { at_[label] = code_.size(); }
  void load(uint16_t size, size_t at) { statement(BPF_LD | size | BPF_ABS, static_cast<uint32_t>(at)); }
  // Offsets behind this are from X.
  void udp_at(size_t at) {
    statement(BPF_LDX | BPF_IMM, static_cast<uint32_t>(at));
    go(kUdp);
  }

  std::vector<sock_filter> finish() const {
    std::vector<sock_filter> program;
    for (size_t i = 0; i < code_.size(); ++i) {
      sock_filter instruction = code_[i].instruction;
      const auto distance = [&](Label label) { return label == kNext ? 0 : at_[label] - i - 1; };
      if (instruction.code == (BPF_JMP | BPF_JA)) {
        instruction.k = static_cast<uint32_t>(distance(code_[i].yes));
      } else if (BPF_CLASS(instruction.code) == BPF_JMP) {
        instruction.jt = static_cast<uint8_t>(distance(code_[i].yes));
        instruction.jf = static_cast<uint8_t>(distance(code_[i].no));
      }
      program.push_back(instruction);
    }
    return program;
  }

 private:
  struct Step {
    sock_filter instruction;
    Label yes;
    Label no;
  };
  std::vector<Step> code_;
  size_t at_[kLabels] = {};
};

}  // namespace

std::optional<uint32_t> destination_slot(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  Walk walk(frame);
  const auto type = load_be<uint16_t>(frame.data() + 12);
  uint32_t qpn = 0;
  if (!walk.step(kEthernetBytes) || !walk_to_udp(type, &walk) || !walk.qpn(&qpn)) return std::nullopt;
  // IBTA 9.2.1: only this one is everybody's, and only it comes by a group address.
  const bool to_group = (frame[0] & 1) != 0;
  if (to_group != (Qpn{qpn} == kMulticastQpn)) return std::nullopt;
  return to_group ? 0 : slot_of(Qpn{qpn});
}

bool frame_is_for(uint32_t slot, std::span<const uint8_t> frame) {
  const auto owner = destination_slot(frame);
  return owner && (*owner == slot || *owner == 0);
}

std::optional<FrameSources> sources_of(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  Walk walk(frame);
  FrameSources sources;
  uint32_t qpn = 0;
  if (!walk.step(kEthernetBytes) ||
      !walk_to_udp(load_be<uint16_t>(frame.data() + 12), &walk, &sources.outer) || !walk.qpn(&qpn) ||
      !walk.source_qpn(&sources.qpn))
    return std::nullopt;
  sources.address = walk.source();
  return sources;
}

std::vector<sock_filter> kernel_filter(std::optional<uint32_t> slot, SlotPart part) {
  const Program::Label take_undivided = part.number == 0 ? Program::kTake : Program::kDrop;
  constexpr size_t kInner = kEthernetBytes + kIpv6Bytes;
  Program p;
  // To this host or to a group, not broadcast, not what it sends itself.
  p.statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE));
  p.equals(PACKET_HOST, Program::kHeard, Program::kNext);
  p.equals(PACKET_MULTICAST, Program::kNext, Program::kDrop);
  p.mark(Program::kHeard);
  p.load(BPF_H, 12);
  p.equals(kEtherTypeIpv4, Program::kIpv4, Program::kNext);
  p.equals(kEtherTypeIpv6, Program::kIpv6, Program::kDrop);

  p.mark(Program::kIpv4);
  p.load(BPF_B, kEthernetBytes + kIpv4ProtocolAt);
  p.equals(kProtocolUdp, Program::kNext, Program::kDrop);
  p.udp_at(kEthernetBytes + kIpv4Bytes);

  p.mark(Program::kIpv6);
  p.load(BPF_B, kEthernetBytes + kIpv6NextAt);
  p.equals(kProtocolIpv6, Program::kInIpv6, Program::kNext);
  p.equals(kProtocolIpv4, Program::kInIpv4, Program::kNext);
  p.equals(kProtocolRouting, take_undivided, Program::kNext);
  p.equals(kProtocolUdp, Program::kNext, Program::kDrop);
  p.udp_at(kInner);

  p.mark(Program::kInIpv4);
  p.load(BPF_B, kInner + kIpv4ProtocolAt);
  p.equals(kProtocolUdp, Program::kNext, Program::kDrop);
  p.udp_at(kInner + kIpv4Bytes);

  p.mark(Program::kInIpv6);
  p.load(BPF_B, kInner + kIpv6NextAt);
  p.equals(kProtocolUdp, Program::kNext, Program::kDrop);
  p.udp_at(kInner + kIpv6Bytes);

  p.mark(Program::kUdp);
  p.statement(BPF_LD | BPF_H | BPF_IND, 2);
  p.equals(kUdpPort, Program::kQpn, Program::kNext);
  p.equals(kUdpPortSpecPrint, Program::kNext, Program::kDrop);
  p.mark(Program::kQpn);
  p.statement(BPF_LD | BPF_W | BPF_IND, kQpnAt);
  p.statement(BPF_ALU | BPF_AND | BPF_K, Qpn::kMask);
  p.equals(kMulticastQpn.value(), Program::kGroup, Program::kNext);
  p.statement(BPF_ALU | BPF_RSH | BPF_K, kLocalQpnBits);
  if (slot) {
    p.equals(*slot, Program::kOneHost, Program::kNext);
    p.equals(0, Program::kOneHost, Program::kDrop);
  } else if (part.count > 1) {
    p.statement(BPF_ALU | BPF_MOD | BPF_K, part.count);
    p.equals(part.number, Program::kOneHost, Program::kDrop);
  }
  p.mark(Program::kOneHost);
  p.load(BPF_B, 0);
  p.statement(BPF_ALU | BPF_AND | BPF_K, 1);
  p.equals(0, Program::kTake, Program::kDrop);
  p.mark(Program::kGroup);
  p.load(BPF_B, 0);
  p.statement(BPF_ALU | BPF_AND | BPF_K, 1);
  p.equals(1, take_undivided, Program::kDrop);
  p.mark(Program::kTake);
  p.statement(BPF_RET | BPF_K, UINT32_MAX);
  p.mark(Program::kDrop);
  p.statement(BPF_RET | BPF_K, 0);
  return p.finish();
}

}  // namespace mrc
