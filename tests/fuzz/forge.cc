// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/forge.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace mrc::fuzz {

namespace {

constexpr Opcode kOpcodes[] = {
    Opcode::kSendFirst,
    Opcode::kSendMiddle,
    Opcode::kSendLast,
    Opcode::kSendLastImm,
    Opcode::kSendOnly,
    Opcode::kSendOnlyImm,
    Opcode::kWriteFirst,
    Opcode::kWriteMiddle,
    Opcode::kWriteLast,
    Opcode::kWriteLastImm,
    Opcode::kWriteOnly,
    Opcode::kWriteOnlyImm,
    Opcode::kReadRequest,
    Opcode::kReadResponseFirst,
    Opcode::kReadResponseMiddle,
    Opcode::kReadResponseLast,
    Opcode::kReadResponseOnly,
    Opcode::kAcknowledge,
    Opcode::kAtomicAcknowledge,
    Opcode::kCompareSwap,
    Opcode::kFetchAdd,
    Opcode::kSendLastInvalidate,
    Opcode::kSendOnlyInvalidate,
    Opcode::kEndpointRequest,
    Opcode::kEndpointResponse,
    Opcode::kSack,
    Opcode::kNack,
    Opcode::kProbe,
};
constexpr uint8_t kDscpTrimmed = 12;
constexpr uint8_t kDscpTrimmedLastHop = 16;

class Forger {
 public:
  Forger(World& world, End& to, Input& input)
      : world_(world), to_(to), from_(world.peer_of(to)), input_(input) {}

  void send() {
    const uint8_t how = input_.byte();
    const uint8_t opcode = input_.byte();
    bth_.opcode = kOpcodes[opcode % std::size(kOpcodes)];
    if (to_.victim->config().type == QueuePairType::kDatagram && opcode < 0xC0)
      bth_.opcode = opcode % 2 == 0 ? Opcode::kUdSendOnly : Opcode::kUdSendOnlyImm;
    else if (to_.victim->transport() == Transport::kRc || (how & 0x40) != 0)
      bth_.opcode = to_plain_rc(bth_.opcode);
    if ((how & 0x38) == 0x38) bth_.opcode = Opcode{input_.byte()};
    endpoint_ = bth_.opcode == Opcode::kEndpointRequest || bth_.opcode == Opcode::kEndpointResponse;
    address(how);
    bth_.psn = near_psn();
    bth_.ack_request = (how & 1) != 0;
    bth_.retransmission = (how & 2) != 0;
    bth_.has_timestamp = is_mrc(bth_.opcode) && (how & 4) != 0;
    if ((how & 0x38) == 0x08) dscp_ = kDscpTrimmed;
    if ((how & 0x38) == 0x10) dscp_ = kDscpTrimmedLastHop;
    if (!control()) data();
  }

 private:
  // Nearly always the peer. Else a stranger, or the peer by its address of the other family: these may say
  // anything, even to the innocent.
  void address(uint8_t how) {
    const bool stranger = (how & 0xB8) == 0xA0;
    const bool ipv6 = world_.options().ipv6 != ((how & 0xB8) == 0xA8);
    network_.source = world_.address_of(from_, ipv6);
    network_.destination = world_.address_of(to_, ipv6);
    if (stranger) network_.source.bytes[15] = 66;
    named_ = to_.victim;
    if (stranger && (how & 1) != 0) named_ = to_.innocents[world_.options().plain_innocents];
    bth_.destination = endpoint_ ? kEndpointQpn : named_->qpn();
  }
  Psn near_psn() {
    const uint8_t choice = input_.byte();
    const int32_t offset = static_cast<int8_t>(input_.byte());
    switch (choice % 4) {
      case 0:
        return (named_->mrc() != nullptr ? named_->mrc()->responder().expected() : Psn(kFirstPsn)) + offset;
      case 1:
        return named_->oldest_unacknowledged() + offset;
      case 2:
        return Psn(kFirstPsn) + offset;
      default:
        return Psn(input_.any32());
    }
  }
  uint16_t low(Qpn qpn) { return static_cast<uint16_t>(qpn.value() + (input_.byte() == 0xFF)); }
  Entropy entropy() {
    const PathSet& paths = named_->paths();
    const uint8_t choice = input_.byte();
    if (paths.size() == 0 || choice == 0xFF) return Entropy{input_.any32()};
    return paths.at(PathId(choice % paths.size())).entropy;
  }
  // As it stood in the packet with this PSN, or a little older than now.
  uint16_t stamp(std::optional<Psn> of = std::nullopt) {
    const uint8_t choice = input_.byte();
    const SentPacket* sent = of && choice < 0x80 ? sent_packet(*of) : nullptr;
    if (sent != nullptr) return to_wire_timestamp(sent->sent_at, true);
    return static_cast<uint16_t>(to_wire_timestamp(world_.now(), true) - choice);
  }
  Entropy entropy_of(Psn psn) {
    const SentPacket* sent = input_.byte() < 0xC0 ? sent_packet(psn) : nullptr;
    return sent != nullptr ? named_->paths().at(sent->path).entropy : entropy();
  }
  // That one, if it is under way.
  const SentPacket* sent_packet(Psn psn) {
    if (named_->mrc() == nullptr) return nullptr;
    const SentPackets& sent = named_->mrc()->requester().sent();
    return sent.contains(psn) ? &sent.at(psn) : nullptr;
  }
  MemoryKey key() {
    const MemoryKey known[] = {to_.granted, to_.granted,  to_.readable, to_.source,
                               to_.sink,    to_.innocent, to_.window,   MemoryKey{}};
    const uint8_t choice = input_.byte();
    return choice == 0xFF ? MemoryKey{input_.any32()} : known[choice % std::size(known)];
  }
  uint64_t offset() {
    const uint8_t choice = input_.byte();
    return choice == 0xFF ? input_.any64() : choice * uint64_t{kMtu / 8};
  }
  uint64_t place() {
    const uint8_t choice = input_.byte();
    if (choice == 0xFF) return input_.any64();
    return to_.address(kPlaces[choice % std::size(kPlaces)]) + static_cast<uint64_t>(int16_t(input_.word()));
  }

  bool control() {
    switch (bth_.opcode) {
      case Opcode::kSack: {
        Sack sack;
        sack.mark = static_cast<PathMark>(input_.below(4));
        sack.answers_probe = input_.byte() % 4 == 0;
        sack.cumulative_psn = near_psn();
        sack.trigger = static_cast<uint16_t>(static_cast<int8_t>(input_.byte()));
        const Psn trigger = sack.cumulative_psn + static_cast<int16_t>(sack.trigger);
        sack.entropy = entropy_of(trigger);
        sack.source_qpn_low = low(from_.victim->qpn());
        sack.destination_qpn_low = low(named_->qpn());
        sack.mpr = input_.byte();
        sack.bitmap_offset = static_cast<int16_t>(input_.word());
        sack.bitmap = input_.any64();
        sack.timestamp = stamp(trigger);
        sack.out_of_order = input_.word() & 0x7FFF;
        const uint8_t window = input_.byte();
        sack.window_penalty = window & 0x7F;
        sack.restore_window = (window & 0x80) != 0;
        sack.received_units = input_.any32() & 0xFFFFFF;
        write(0, sack);
        return true;
      }
      case Opcode::kNack: {
        Neth neth;
        const uint8_t reason = input_.byte();
        neth.reason = reason < 0x80 ? kNackReasons[reason % kNackReasons.size()] : NackReason{reason};
        neth.vendor_info = input_.byte();
        neth.psn = near_psn();
        neth.entropy = entropy_of(neth.psn);
        neth.source_qpn_low = low(from_.victim->qpn());
        neth.destination_qpn_low = low(named_->qpn());
        neth.timestamp = stamp(neth.psn);
        write(0, neth);
        return true;
      }
      case Opcode::kProbe: {
        Peth peth;
        peth.probe_id = input_.word();
        peth.source_qpn_low = low(from_.victim->qpn());
        peth.destination_qpn_low = low(named_->qpn());
        peth.time = {stamp(), true};
        write(0, peth);
        return true;
      }
      case Opcode::kEndpointRequest: {
        Erth erth;
        erth.operation = static_cast<EndpointOperation>(input_.below(4));
        erth.vendor_info = input_.byte();
        erth.port_status_mask = erth.operation == EndpointOperation::kCapabilities
                                    ? named_->qpn().value() + input_.below(2)
                                    : input_.byte();
        erth.time = {stamp(), true};
        if (erth.operation == EndpointOperation::kPortStatusUpdate) world_.note_lasting();
        write(0, erth);
        return true;
      }
      case Opcode::kEndpointResponse: {
        Eeth eeth;
        eeth.operation = static_cast<EndpointOperation>(input_.below(4));
        eeth.vendor_info = input_.byte();
        eeth.expected_psn = near_psn().value();
        write(0, eeth);
        return true;
      }
      case Opcode::kAcknowledge:
      case Opcode::kRcAcknowledge: {
        const uint8_t syndrome = input_.byte();
        write(0, Aeth{syndrome < 0x60 ? Aeth::kAck : syndrome, input_.byte()});
        return true;
      }
      default:
        return false;
    }
  }

  // Everything else: the headers that the opcode has, in their order.
  void data() {
    const uint16_t traits = traits_of(bth_.opcode);
    using T = OpcodeTraits;
    const bool stream = is_mrc(bth_.opcode);
    const bool only = (traits & T::kOnly) == T::kOnly;
    const bool carries = (traits & (T::kSend | T::kWrite | T::kReadResponse)) != 0;
    const uint8_t size = input_.byte();
    payload_bytes_ = !carries ? 0 : size < 0xC0 ? kMtu : size - 0xC0u;
    const uint32_t message = only && input_.byte() < 0xF0 ? payload_bytes_ : input_.word();
    const Meth meth{input_.byte(), input_.byte()};
    const Tseth time{stamp(), true};
    size_t at = 0;
    const auto put = [&](const auto& header) {
      header.store(headers_ + at);
      at += header.kBytes;
    };
    const bool acknowledges =
        !stream && ((traits & T::kAtomicAck) != 0 ||
                    ((traits & T::kReadResponse) != 0 && (traits & (T::kStart | T::kEnd)) != 0));
    if (is_ud(bth_.opcode))
      put(Deth{input_.byte() == 0xFF ? input_.any32() : kQueueKey, from_.victim->qpn()});
    if (stream) put(meth);
    if (stream && bth_.has_timestamp) put(time);
    if (acknowledges) put(Aeth{Aeth::kAck, input_.byte()});
    const bool placed = stream && (traits & (T::kSend | T::kReadResponse)) != 0;
    const bool addressed = (traits & T::kReadRequest) != 0 ||
                           ((traits & T::kWrite) != 0 && (stream || (traits & T::kStart) != 0));
    if (placed) put(Reth{(traits & T::kStart) != 0 ? 0u : offset(), MemoryKey{}, message});
    if (addressed) put(Reth{place(), key(), message});
    if ((traits & T::kAtomicRequest) != 0) put(AtomicEth{place(), key(), input_.any32(), input_.any32()});
    if ((traits & T::kAtomicAck) != 0) put(AtomicAckEth{input_.any64()});
    if ((traits & T::kImmediate) != 0) put(Ieth{MemoryKey{input_.any32()}});
    if ((traits & T::kInvalidate) != 0) put(Ieth{key()});
    write(at);
  }

  template <typename... Headers>
  void write(size_t raw_bytes, const Headers&... headers) {
    const uint32_t pad = -payload_bytes_ & 3;
    bth_.pad_bytes = static_cast<uint8_t>(pad);
    uint8_t frame[kFrameBytesMax];
    const size_t bytes = Bth::kBytes + raw_bytes + (Headers::kBytes + ... + 0) + payload_bytes_ + pad;
    const Entropy by = entropy();
    const uint8_t mark = input_.byte();
    FrameWriter writer(frame, network_, by, dscp_, mark % 4 == 1 ? Ecn::kCongestion : Ecn::kEct0, bytes);
    writer.add(bth_);
    (writer.add(headers), ...);
    writer.end_headers();
    // The checksum does not mind what is header and what is payload.
    writer.add_payload(headers_, raw_bytes);
    static const uint8_t kPayload[kMtu] = {0xEE};
    writer.add_payload(kPayload, payload_bytes_);
    size_t length = writer.finish(pad);
    // A switch cuts where it likes.
    if (dscp_ != 0) length = std::min<size_t>(length, 60u + mark);
    to_.ports[input_.below(kPlanes)].deliver(frame, length);
  }

  World& world_;
  End& to_;
  End& from_;
  Input& input_;
  QueuePair* named_ = nullptr;
  NetworkHeader network_;
  Bth bth_;
  bool endpoint_ = false;
  uint8_t dscp_ = 0;
  uint32_t payload_bytes_ = 0;
  uint8_t headers_[128];
};

}  // namespace

void send_forged(World& world, End& to, Input& input) {
  Forger(world, to, input).send();
}

}  // namespace mrc::fuzz
