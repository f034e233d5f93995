// SPDX-License-Identifier: BSD-2-Clause
// Compares the encoder and the decoder with a golden frame. Free of any test framework, because the program
// that runs on the other architecture uses it too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "libmrc/wire/frame.h"
#include "libmrc/wire/packet.h"
#include "tests/unit/golden/golden_frame.h"

namespace mrc::golden {

inline std::vector<uint8_t> from_hex(const char* hex) {
  std::vector<uint8_t> bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (; hex[0] != 0; hex += 2) bytes.push_back(static_cast<uint8_t>(digit(hex[0]) << 4 | digit(hex[1])));
  return bytes;
}

// A heap block of exactly the frame's size, so that a sanitizer sees a read one byte past it.
class ExactBuffer {
 public:
  explicit ExactBuffer(std::span<const uint8_t> bytes)
      : bytes_(new uint8_t[bytes.size()]), size_(bytes.size()) {
    if (size_ > 0) std::memcpy(bytes_.get(), bytes.data(), size_);
  }
  std::span<const uint8_t> view() const { return {bytes_.get(), size_}; }
  uint8_t* data() { return bytes_.get(); }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  size_t size_;
};

inline IpAddress address(const char* hex) {
  IpAddress out;
  const auto bytes = from_hex(hex);
  if (bytes.size() == out.bytes.size()) std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  return out;
}

inline MacAddress mac(const char* hex) {
  MacAddress out;
  std::memcpy(out.bytes.data(), from_hex(hex).data(), out.bytes.size());
  return out;
}

inline uint32_t immediate(const Frame& f) {
  uint32_t value;
  std::memcpy(&value, from_hex(f.immediate).data(), sizeof value);
  return value;
}

inline std::vector<uint8_t> payload(const Frame& f) {
  std::vector<uint8_t> bytes(f.payload_bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(f.payload_seed + 7 * i);
  return bytes;
}

inline Bth bth(const Frame& f) {
  Bth out;
  out.opcode = static_cast<Opcode>(f.opcode);
  out.pad_bytes = f.pad;
  out.partition_key = f.pkey;
  out.destination = Qpn(f.dqpn);
  out.ack_request = f.ack_request;
  out.retransmission = f.retransmission;
  out.has_timestamp = f.has_timestamp;
  out.psn = Psn(f.psn);
  out.solicited = f.solicited;
  out.migrated = f.migrated;
  return out;
}

inline Sack sack(const Frame& f) {
  Sack out;
  out.mark = static_cast<PathMark>(f.mark);
  out.answers_probe = f.answers_probe;
  out.trigger = f.trigger;
  out.entropy = Entropy{f.echo_entropy};
  out.source_qpn_low = f.sqpn_low;
  out.destination_qpn_low = f.dqpn_low;
  out.cumulative_psn = Psn(f.control_psn);
  out.mpr = f.mpr;
  out.bitmap_offset = f.bitmap_offset;
  out.bitmap = f.bitmap;
  out.timestamp = f.echo_stamp;
  out.out_of_order = f.out_of_order;
  out.restore_window = f.restore;
  out.window_penalty = f.penalty;
  out.received_units = f.received_units;
  return out;
}

inline Neth neth(const Frame& f) {
  Neth out;
  out.reason = static_cast<NackReason>(f.reason);
  out.vendor_info = f.vendor;
  out.entropy = Entropy{f.echo_entropy};
  out.source_qpn_low = f.sqpn_low;
  out.destination_qpn_low = f.dqpn_low;
  out.psn = Psn(f.control_psn);
  out.timestamp = f.echo_stamp;
  return out;
}

inline Peth peth(const Frame& f) {
  return {f.vendor, f.probe_id, f.sqpn_low, f.dqpn_low, {f.stamp, f.coarse}};
}

inline Erth erth(const Frame& f) {
  return {static_cast<EndpointOperation>(f.operation), f.vendor, f.port_mask, {f.stamp, f.coarse}};
}

inline Eeth eeth(const Frame& f) {
  return {static_cast<EndpointOperation>(f.operation), f.vendor, f.echo_stamp};
}

// Calls `visit` with the name of each header behind BTH.
template <typename Visit>
void for_each_header(const Frame& f, Visit visit) {
  for (std::string_view rest = f.layout; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    visit(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

inline size_t header_bytes(std::string_view name) {
  if (name == "meth") return Meth::kBytes;
  if (name == "time") return Tseth::kBytes;
  if (name == "reth") return Reth::kBytes;
  if (name == "immediate") return ImmDt::kBytes;
  if (name == "ieth") return Ieth::kBytes;
  if (name == "atomic") return AtomicEth::kBytes;
  if (name == "atomic_ack") return AtomicAckEth::kBytes;
  if (name == "deth") return Deth::kBytes;
  if (name == "aeth") return Aeth::kBytes;
  if (name == "sack") return Sack::kBytes;
  if (name == "neth") return Neth::kBytes;
  if (name == "peth") return Peth::kBytes;
  if (name == "erth") return Erth::kBytes;
  if (name == "eeth") return Eeth::kBytes;
  throw std::invalid_argument("no header " + std::string(name));
}

inline size_t transport_bytes(const Frame& f) {
  size_t bytes = Bth::kBytes + f.payload_bytes + f.pad;
  for_each_header(f, [&](std::string_view name) { bytes += header_bytes(name); });
  return bytes;
}

inline void add_header(const Frame& f, std::string_view name, FrameWriter* writer) {
  if (name == "meth") writer->add(Meth{f.rqmsn, f.msn});
  if (name == "time") writer->add(Tseth{f.stamp, f.coarse});
  if (name == "reth") writer->add(Reth{f.va, MemoryKey{f.rkey}, f.message_bytes});
  if (name == "immediate") writer->add_immediate(immediate(f));
  if (name == "ieth") writer->add(Ieth{MemoryKey{f.invalidate}});
  if (name == "atomic") writer->add(AtomicEth{f.va, MemoryKey{f.rkey}, f.swap_or_add, f.compare});
  if (name == "atomic_ack") writer->add(AtomicAckEth{f.original});
  if (name == "deth") writer->add(Deth{f.qkey, Qpn(f.sqpn)});
  if (name == "aeth") writer->add(Aeth{f.syndrome, f.ack_msn});
  if (name == "sack") writer->add(sack(f));
  if (name == "neth") writer->add(neth(f));
  if (name == "peth") writer->add(peth(f));
  if (name == "erth") writer->add(erth(f));
  if (name == "eeth") writer->add(eeth(f));
}

// The payload goes in as two pieces, split at `split`, as a gather list of two would.
inline std::vector<uint8_t> encode(const Frame& f, size_t split) {
  NetworkHeader network;
  network.partition_key = f.pkey;
  network.source_mac = mac(f.source_mac);
  network.destination_mac = mac(f.destination_mac);
  network.source = address(f.source);
  network.destination = address(f.destination);
  network.srv6 = f.srv6;
  network.outer_source = address(f.outer_source);
  network.outer_destination = address(f.outer_destination);
  network.hop_limit = f.hop_limit;
  std::vector<uint8_t> buffer(kFrameBytesMax, 0xEE);
  FrameWriter writer(buffer.data(), network, Entropy{f.entropy}, f.dscp, static_cast<Ecn>(f.sent_ecn),
                     transport_bytes(f));
  writer.add(bth(f));
  for_each_header(f, [&](std::string_view name) { add_header(f, name, &writer); });
  writer.end_headers();
  const auto data = payload(f);
  writer.add_payload(data.data(), split);
  writer.add_payload(data.data() + split, data.size() - split);
  buffer.resize(writer.finish(f.pad));
  return buffer;
}

#define MRC_GOLDEN_SAME(got, expected) \
  if (!((got) == (expected))) return std::string(f.name) + ": " #got " is not " #expected

inline std::string compare_sack(const Frame& f, const Sack& got) {
  const Sack expected = sack(f);
  MRC_GOLDEN_SAME(got.mark, expected.mark);
  MRC_GOLDEN_SAME(got.answers_probe, expected.answers_probe);
  MRC_GOLDEN_SAME(got.trigger, expected.trigger);
  MRC_GOLDEN_SAME(got.entropy, expected.entropy);
  MRC_GOLDEN_SAME(got.source_qpn_low, expected.source_qpn_low);
  MRC_GOLDEN_SAME(got.destination_qpn_low, expected.destination_qpn_low);
  MRC_GOLDEN_SAME(got.cumulative_psn, expected.cumulative_psn);
  MRC_GOLDEN_SAME(got.mpr, expected.mpr);
  MRC_GOLDEN_SAME(got.bitmap_offset, expected.bitmap_offset);
  MRC_GOLDEN_SAME(got.bitmap, expected.bitmap);
  MRC_GOLDEN_SAME(got.timestamp, expected.timestamp);
  MRC_GOLDEN_SAME(got.out_of_order, expected.out_of_order);
  MRC_GOLDEN_SAME(got.restore_window, expected.restore_window);
  MRC_GOLDEN_SAME(got.window_penalty, expected.window_penalty);
  MRC_GOLDEN_SAME(got.received_units, expected.received_units);
  return "";
}

inline std::string compare_neth(const Frame& f, const Neth& got) {
  MRC_GOLDEN_SAME(got.reason, static_cast<NackReason>(f.reason));
  MRC_GOLDEN_SAME(got.vendor_info, f.vendor);
  MRC_GOLDEN_SAME(got.entropy, Entropy{f.echo_entropy});
  MRC_GOLDEN_SAME(got.source_qpn_low, f.sqpn_low);
  MRC_GOLDEN_SAME(got.destination_qpn_low, f.dqpn_low);
  MRC_GOLDEN_SAME(got.psn, Psn(f.control_psn));
  MRC_GOLDEN_SAME(got.timestamp, f.echo_stamp);
  return "";
}

inline std::string compare_peth(const Frame& f, const Peth& got) {
  MRC_GOLDEN_SAME(got.vendor_info, f.vendor);
  MRC_GOLDEN_SAME(got.probe_id, f.probe_id);
  MRC_GOLDEN_SAME(got.source_qpn_low, f.sqpn_low);
  MRC_GOLDEN_SAME(got.destination_qpn_low, f.dqpn_low);
  MRC_GOLDEN_SAME(got.time.timestamp, f.stamp);
  MRC_GOLDEN_SAME(got.time.coarse, f.coarse);
  return "";
}

inline std::string compare_endpoint(const Frame& f, std::string_view name, const Packet& got) {
  if (name == "erth") {
    MRC_GOLDEN_SAME(got.erth.operation, static_cast<EndpointOperation>(f.operation));
    MRC_GOLDEN_SAME(got.erth.vendor_info, f.vendor);
    MRC_GOLDEN_SAME(got.erth.port_status_mask, f.port_mask);
    MRC_GOLDEN_SAME(got.erth.time.timestamp, f.stamp);
    MRC_GOLDEN_SAME(got.erth.time.coarse, f.coarse);
  } else {
    MRC_GOLDEN_SAME(got.eeth.operation, static_cast<EndpointOperation>(f.operation));
    MRC_GOLDEN_SAME(got.eeth.vendor_info, f.vendor);
    MRC_GOLDEN_SAME(got.eeth.timestamp, f.echo_stamp);
  }
  return "";
}

// METH and TSETH, which are all that a trimmed packet keeps.
inline std::string compare_stream(const Frame& f, const Packet& got) {
  const Tseth time = f.has_timestamp ? Tseth{f.stamp, f.coarse} : Tseth{};
  MRC_GOLDEN_SAME(got.meth.receive_msn, f.rqmsn);
  MRC_GOLDEN_SAME(got.meth.msn, f.msn);
  MRC_GOLDEN_SAME(got.time.timestamp, time.timestamp);
  MRC_GOLDEN_SAME(got.time.coarse, time.coarse);
  return "";
}

inline std::string compare_atomic(const Frame& f, const AtomicEth& got) {
  MRC_GOLDEN_SAME(got.address, f.va);
  MRC_GOLDEN_SAME(got.key, MemoryKey{f.rkey});
  MRC_GOLDEN_SAME(got.swap_or_add, f.swap_or_add);
  MRC_GOLDEN_SAME(got.compare, f.compare);
  return "";
}

inline std::string compare_header(const Frame& f, std::string_view name, const Packet& got) {
  if (name == "meth" || name == "time") return compare_stream(f, got);
  if (name == "sack") return compare_sack(f, got.sack);
  if (name == "neth") return compare_neth(f, got.neth);
  if (name == "peth") return compare_peth(f, got.peth);
  if (name == "erth" || name == "eeth") return compare_endpoint(f, name, got);
  if (name == "atomic") return compare_atomic(f, got.atomic);
  if (name == "reth") {
    MRC_GOLDEN_SAME(got.reth.address, f.va);
    MRC_GOLDEN_SAME(got.reth.key, MemoryKey{f.rkey});
    MRC_GOLDEN_SAME(got.reth.message_bytes, f.message_bytes);
  } else if (name == "immediate") {
    MRC_GOLDEN_SAME(got.immediate, immediate(f));
  } else if (name == "ieth") {
    MRC_GOLDEN_SAME(got.invalidate_key, MemoryKey{f.invalidate});
  } else if (name == "atomic_ack") {
    MRC_GOLDEN_SAME(got.atomic_ack.original, f.original);
  } else if (name == "deth") {
    MRC_GOLDEN_SAME(got.deth.queue_key, f.qkey);
    MRC_GOLDEN_SAME(got.deth.source, Qpn(f.sqpn));
  } else if (name == "aeth") {
    MRC_GOLDEN_SAME(got.aeth.syndrome, f.syndrome);
    MRC_GOLDEN_SAME(got.aeth.msn, f.ack_msn);
  } else {
    return std::string(f.name) + ": a header without a comparison: " + std::string(name);
  }
  return "";
}

inline std::string compare_network(const Frame& f, const Packet& got) {
  const bool v4 = address(f.source).is_v4();
  MRC_GOLDEN_SAME(got.source_mac, mac(f.source_mac));
  MRC_GOLDEN_SAME(got.source, address(f.source));
  MRC_GOLDEN_SAME(got.destination, address(f.destination));
  MRC_GOLDEN_SAME(got.dscp, f.dscp);
  MRC_GOLDEN_SAME(got.ecn, static_cast<Ecn>(f.ecn));
  MRC_GOLDEN_SAME(got.srv6, f.srv6);
  MRC_GOLDEN_SAME(got.entropy, Entropy{v4 ? f.entropy & 0xFFFF : f.entropy});
  return "";
}

inline std::string compare_bth(const Frame& f, const Bth& got) {
  MRC_GOLDEN_SAME(got.opcode, static_cast<Opcode>(f.opcode));
  MRC_GOLDEN_SAME(got.pad_bytes, f.pad);
  MRC_GOLDEN_SAME(got.partition_key, f.pkey);
  MRC_GOLDEN_SAME(got.destination, Qpn(f.dqpn));
  MRC_GOLDEN_SAME(got.ack_request, f.ack_request);
  MRC_GOLDEN_SAME(got.retransmission, f.retransmission);
  MRC_GOLDEN_SAME(got.has_timestamp, f.has_timestamp);
  MRC_GOLDEN_SAME(got.psn, Psn(f.psn));
  MRC_GOLDEN_SAME(got.solicited, f.solicited);
  MRC_GOLDEN_SAME(got.migrated, f.migrated);
  return "";
}

// Both return "" if all is well, else what differs.
inline std::string check_encode(const Frame& f) {
  const auto expected = from_hex(f.hex);
  for (const size_t split : {size_t{0}, size_t{f.payload_bytes / 3}, size_t{f.payload_bytes}}) {
    const auto got = encode(f, split);
    if (got.size() != expected.size()) {
      return std::string(f.name) + ": " + std::to_string(got.size()) + " bytes, not " +
             std::to_string(expected.size());
    }
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] != expected[i]) return std::string(f.name) + ": byte " + std::to_string(i) + " differs";
    }
  }
  return "";
}

inline std::string check_decode(const Frame& f) {
  const ExactBuffer buffer(from_hex(f.hex));
  Packet got;
  const DecodeError error = decode(buffer.view(), &got);
  if (error != DecodeError::kNone) return std::string(f.name) + ": " + to_string(error);
  if (!icrc_matches(got)) return std::string(f.name) + ": ICRC";
  std::string difference = compare_network(f, got);
  if (difference.empty()) difference = compare_bth(f, got.bth);
  for_each_header(f, [&](std::string_view name) {
    if (difference.empty()) difference = compare_header(f, name, got);
  });
  if (!difference.empty()) return difference;
  MRC_GOLDEN_SAME(got.trimmed, false);
  const auto data = payload(f);
  MRC_GOLDEN_SAME(std::vector<uint8_t>(got.payload.begin(), got.payload.end()), data);
  return "";
}

#undef MRC_GOLDEN_SAME

}  // namespace mrc::golden
