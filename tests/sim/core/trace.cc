// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/core/trace.h"

#include <algorithm>
#include <cstring>

#include "libmrc/wire/packet.h"
#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

namespace {

constexpr size_t kHeaderBytes = 112;

std::string name_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWriteFirst:
      return "WRITE_FIRST";
    case Opcode::kWriteMiddle:
      return "WRITE_MIDDLE";
    case Opcode::kWriteLast:
      return "WRITE_LAST";
    case Opcode::kWriteLastImm:
      return "WRITE_LAST_IMM";
    case Opcode::kWriteOnly:
      return "WRITE_ONLY";
    case Opcode::kWriteOnlyImm:
      return "WRITE_ONLY_IMM";
    case Opcode::kAcknowledge:
      return "ACK";
    case Opcode::kSack:
      return "SACK";
    case Opcode::kNack:
      return "NACK";
    case Opcode::kProbe:
      return "PROBE";
    case Opcode::kEndpointRequest:
      return "ENDPOINT_REQUEST";
    case Opcode::kEndpointResponse:
      return "ENDPOINT_RESPONSE";
    default:
      break;
  }
  char text[16];
  std::snprintf(text, sizeof text, "OP_%02X", static_cast<unsigned>(opcode));
  return text;
}

// What an acknowledging packet says.
std::string details_of(const Packet& packet) {
  char text[160] = "";
  if (packet.bth.opcode == Opcode::kSack) {
    const Sack& sack = packet.sack;
    std::snprintf(text, sizeof text, " cum %u base %+d bits %016llx ev %08x%s%s ooo %u",  // NOLINT
                  sack.cumulative_psn.value(), sack.bitmap_offset,
                  static_cast<unsigned long long>(sack.bitmap), static_cast<unsigned>(sack.entropy),
                  sack.answers_probe ? " probe" : "", sack.mark == PathMark::kNone ? "" : " skip",
                  sack.out_of_order);
  } else if (packet.bth.opcode == Opcode::kNack) {
    std::snprintf(text, sizeof text, " reason %02x", static_cast<unsigned>(packet.neth.reason));
  } else if (packet.bth.opcode == Opcode::kAcknowledge) {
    std::snprintf(text, sizeof text, " syndrome %02x msn %u", packet.aeth.syndrome, packet.aeth.msn);
  } else if (packet.bth.opcode == Opcode::kProbe) {
    std::snprintf(text, sizeof text, " id %u", packet.peth.probe_id);
  }
  return text;
}

}  // namespace

const char* to_string(Fate fate) {
  static constexpr const char* kNames[] = {
      "sent",       "delivered",    "marked",     "trimmed",   "corrupted",     "duplicated",
      "delayed",    "lost",         "lost_burst", "lost_ev",   "black_hole",    "link_down",
      "queue_full", "control_full", "no_route",   "hop_limit", "receiver_full",
  };
  static_assert(std::size(kNames) == static_cast<size_t>(Fate::kCount));
  return kNames[static_cast<size_t>(fate)];
}

uint64_t Trace::gone() const {
  uint64_t sum = 0;
  for (size_t i = static_cast<size_t>(Fate::kLostRandom); i < counts_.size(); ++i) sum += counts_[i];
  return sum;
}

void Trace::fold_bytes(const Frame& frame) {
  const uint8_t* bytes = frame.bytes();
  uint64_t word;
  const size_t headers = std::min<size_t>(frame.length, kHeaderBytes);
  for (size_t at = 0; at + sizeof word <= headers; at += sizeof word) {
    std::memcpy(&word, bytes + at, sizeof word);
    fold(word);
  }
  if (frame.length < sizeof word) return;
  static_assert(Frame::kFoldedHead >= kHeaderBytes && Frame::kFoldedTail >= sizeof word);
  std::memcpy(&word, bytes + frame.stored_bytes() - sizeof word, sizeof word);
  fold(word);
}

void Trace::print(Picoseconds now, uint32_t channel, const Frame& frame, Fate fate) const {
  const char* name = channel < names_.size() ? names_[channel].c_str() : "?";
  std::fprintf(out_, "%14.6f us  %-24s %-13s ", to_microseconds(now), name, to_string(fate));
  Packet packet;
  std::vector<uint8_t> bytes(frame.length);
  write_bytes(frame, bytes.data());
  const DecodeError error = decode(bytes, &packet);
  if (error == DecodeError::kNone) {
    std::fprintf(out_, "%-15s qpn %u psn %u ev %08x%s%s%s bytes %u%s\n", name_of(packet.bth.opcode).c_str(),
                 packet.bth.destination.value(), packet.bth.psn.value(),
                 static_cast<unsigned>(packet.entropy), packet.bth.retransmission ? " rtx" : "",
                 packet.bth.ack_request ? " ar" : "", packet.ecn == Ecn::kCongestion ? " ce" : "",
                 frame.length, details_of(packet).c_str());
  } else {
    std::fprintf(out_, "%-15s ev %08x dscp %u bytes %u (%s)\n", frame.trimmed ? "TRIMMED" : "UNREADABLE",
                 frame.entropy, frame.dscp, frame.length, mrc::to_string(error));
  }
}

}  // namespace mrc::sim
