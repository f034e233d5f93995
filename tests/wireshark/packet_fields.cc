// SPDX-License-Identifier: BSD-2-Clause
// packet_fields FILE: what our own decoder reads in each frame of a capture (pcap, Ethernet), a line per
// frame, in the names of the Wireshark dissector: "mrc.bth.psn=5 ...". Frames that are not MRC's are a line
// that says why.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/packet.h"

namespace {

using mrc::Opcode;
using mrc::OpcodeTraits;
using mrc::Packet;

constexpr size_t kFileHeaderBytes = 24;
constexpr size_t kRecordHeaderBytes = 16;
// As in the settings' defaults and in the dissector's.
constexpr uint8_t kDscpTrimmed = 12;
constexpr uint8_t kDscpTrimmedLastHop = 16;

void say(const char* name, uint64_t value) {
  std::printf("mrc.%s=%" PRIu64 " ", name, value);
}
template <typename Enumerator>
void say_enum(const char* name, Enumerator value) {
  say(name, static_cast<uint64_t>(value));
}

void say_time(const mrc::Tseth& time) {
  say("tseth.timestamp", time.timestamp);
  say("tseth.tsr", time.coarse);
}

void say_bth(const Packet& packet) {
  const mrc::Bth& bth = packet.bth;
  say_enum("bth.opcode", packet.xrc ? mrc::to_xrc(bth.opcode) : bth.opcode);
  say("bth.se", bth.solicited);
  say("bth.m", bth.migrated);
  say("bth.pad", bth.pad_bytes);
  say("bth.pkey", bth.partition_key);
  say("bth.dqpn", bth.destination.value());
  say("bth.ackreq", bth.ack_request);
  say("bth.rtx", bth.retransmission);
  say("bth.ts", bth.has_timestamp);
  say("bth.psn", bth.psn.value());
  if (packet.xrc && mrc::names_queue(bth.opcode)) say("xeth.srq", packet.xeth.queue);
}

void say_reth(const mrc::Reth& reth) {
  say("reth.va", reth.address);
  say_enum("reth.rkey", reth.key);
  say("reth.length", reth.message_bytes);
}

void say_atomic(const mrc::AtomicEth& atomic) {
  say("atomiceth.va", atomic.address);
  say_enum("atomiceth.rkey", atomic.key);
  say("atomiceth.swap_add", atomic.swap_or_add);
  say("atomiceth.compare", atomic.compare);
}

void say_request(const Packet& packet) {
  const Opcode opcode = packet.bth.opcode;
  const uint16_t traits = mrc::traits_of(opcode);
  say("meth.rqmsn", packet.meth.receive_msn);
  say("meth.msn", packet.meth.msn);
  if (packet.bth.has_timestamp) say_time(packet.time);
  if (packet.trimmed) return;
  if ((traits & OpcodeTraits::kFlush) != 0) {
    say("feth.selectivity", packet.feth.selectivity);
    say("feth.placement", packet.feth.placement);
  }
  if ((traits & OpcodeTraits::kAtomicRequest) != 0)
    say_atomic(packet.atomic);
  else if ((traits & OpcodeTraits::kAtomicAck) != 0)
    say("atomicack", packet.atomic_ack.original);
  else
    say_reth(packet.reth);
  if (mrc::has_immediate(opcode))
    say("immdt", mrc::load_be<uint32_t>(reinterpret_cast<const uint8_t*>(&packet.immediate)));
  if (mrc::has_invalidate(opcode)) say_enum("ieth", packet.invalidate_key);
}

void say_sack(const mrc::Sack& sack) {
  say_enum("seth.mark", sack.mark);
  say("seth.pr", sack.answers_probe);
  say("seth.trigger", sack.trigger);
  say_enum("seth.entropy", sack.entropy);
  say("seth.spdcid", sack.source_qpn_low);
  say("seth.dpdcid", sack.destination_qpn_low);
  say("seth.cack", sack.cumulative_psn.value());
  say("seth.mpr", sack.mpr);
  std::printf("mrc.seth.offset=%d ", sack.bitmap_offset);
  say("seth.bitmap", sack.bitmap);
  say("cc.timestamp", sack.timestamp);
  say("cc.ooo", sack.out_of_order);
  say("cc.restore", sack.restore_window);
  say("cc.penalty", sack.window_penalty);
  say("cc.received", sack.received_units);
}

void say_nack(const mrc::Neth& neth) {
  say_enum("neth.reason", neth.reason);
  say("neth.vendor", neth.vendor_info);
  say_enum("neth.entropy", neth.entropy);
  say("neth.spdcid", neth.source_qpn_low);
  say("neth.dpdcid", neth.destination_qpn_low);
  say("neth.psn", neth.psn.value());
  say("neth.timestamp", neth.timestamp);
}

void say_probe(const mrc::Peth& peth) {
  say("peth.vendor", peth.vendor_info);
  say("peth.id", peth.probe_id);
  say("peth.spdcid", peth.source_qpn_low);
  say("peth.dpdcid", peth.destination_qpn_low);
  say_time(peth.time);
}

void say_control(const Packet& packet) {
  switch (packet.bth.opcode) {
    case Opcode::kAcknowledge:
      say("aeth.syndrome", packet.aeth.syndrome);
      say("aeth.msn", packet.aeth.msn);
      break;
    case Opcode::kSack:
      say_sack(packet.sack);
      break;
    case Opcode::kNack:
      say_nack(packet.neth);
      break;
    case Opcode::kProbe:
      say_probe(packet.peth);
      break;
    case Opcode::kEndpointRequest:
      say_enum("erth.operation", packet.erth.operation);
      say("erth.vendor", packet.erth.vendor_info);
      say("erth.mask", packet.erth.port_status_mask);
      say_time(packet.erth.time);
      break;
    default:
      say_enum("eeth.operation", packet.eeth.operation);
      say("eeth.vendor", packet.eeth.vendor_info);
      say("eeth.timestamp", packet.eeth.timestamp);
      say("eeth.expected", packet.eeth.expected_psn);
      break;
  }
}

// As the dissector numbers it: left out where no ICRC is needed.
uint64_t icrc_status(const Packet& packet) {
  enum : uint64_t { kBad, kGood, kUnchecked, kLeftOut };
  const uint8_t zero[4] = {};
  if (std::memcmp(packet.icrc_end, zero, sizeof zero) == 0) return kLeftOut;
  return mrc::icrc_matches(packet) ? kGood : kBad;
}

bool is_trimmed(std::span<const uint8_t> frame) {
  uint8_t dscp = 0;
  return mrc::peek_dscp(frame, &dscp) && (dscp == kDscpTrimmed || dscp == kDscpTrimmedLastHop);
}

void say_frame(std::span<const uint8_t> frame) {
  Packet packet;
  const auto error = is_trimmed(frame) ? mrc::decode_trimmed(frame, &packet) : mrc::decode(frame, &packet);
  if (error != mrc::DecodeError::kNone) {
    std::printf("error %s\n", mrc::to_string(error));
    return;
  }
  if (!mrc::is_mrc(packet.bth.opcode)) {
    std::printf("plain\n");
    return;
  }
  say_bth(packet);
  mrc::is_request(packet.bth.opcode) ? say_request(packet) : say_control(packet);
  say_enum("ev", packet.entropy);
  say("srv6", packet.srv6);
  say("trimmed", packet.trimmed);
  say("ce", packet.ecn == mrc::Ecn::kCongestion);
  if (!packet.trimmed) {
    if (!packet.payload.empty()) std::printf("payload_bytes=%zu ", packet.payload.size());
    say("icrc.status", icrc_status(packet));
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: packet_fields FILE\n");
    return 2;
  }
  std::ifstream file(words[1], std::ios::binary);
  const std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
  const auto* bytes = reinterpret_cast<const uint8_t*>(read.data());
  size_t at = kFileHeaderBytes;
  while (at + kRecordHeaderBytes <= read.size()) {
    uint32_t length;
    std::memcpy(&length, bytes + at + 8, sizeof length);
    at += kRecordHeaderBytes;
    if (length > read.size() - at) break;
    say_frame({bytes + at, length});
    at += length;
  }
  if (at == read.size() && at > kFileHeaderBytes) return 0;
  std::fprintf(stderr, "packet_fields: %s: not a whole capture\n", words[1]);
  return 1;
}
