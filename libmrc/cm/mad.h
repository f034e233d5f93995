// SPDX-License-Identifier: BSD-2-Clause
// The messages of the InfiniBand connection manager as they stand in MADs (IBTA 12.6, 12.11): 256 bytes each,
// sent to QP 1. Encoding and decoding only; what they mean is the manager's business.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "libmrc/cm/identifiers.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/psn.h"

namespace mrc::cm {

inline constexpr size_t kMadBytes = 256;
inline constexpr size_t kMadHeaderBytes = 24;
using Mad = std::array<uint8_t, kMadBytes>;

template <size_t kBytes>
using PrivateData = std::array<uint8_t, kBytes>;

enum class Attribute : uint16_t {
  kRequest = 0x10,
  kReceipt = 0x11,
  kRejection = 0x12,
  kReply = 0x13,
  kReady = 0x14,
  kDisconnectRequest = 0x15,
  kDisconnectReply = 0x16,
  kServiceRequest = 0x17,
  kServiceReply = 0x18,
};

// IBTA 12.6.8 and 12.6.6: which message is meant.
enum class Subject : uint8_t { kRequest = 0, kReply = 1, kOther = 2 };

inline constexpr uint8_t kTransportReliable = 0;
inline constexpr uint8_t kTransportUnreliable = 1;

// REQ. What concerns the alternate path, end-to-end contexts and partitions has one value only: none.
struct Request {
  static constexpr Attribute kAttribute = Attribute::kRequest;
  CommunicationId local{};
  ServiceId service{};
  uint64_t guid = 0;
  uint32_t queue_key = 0;
  Qpn qpn;
  Psn first_psn;
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t remote_response_timeout = 0;  // 4.096 us * 2^n, as all timeouts here
  uint8_t local_response_timeout = 0;
  uint8_t transport = kTransportReliable;
  bool flow_control = false;
  uint8_t retry_count = 0;
  uint8_t rnr_retry_count = 0;
  uint8_t mtu = 0;  // IBTA code: 1 = 256 ... 5 = 4096
  uint8_t retries_max = 0;
  bool shared_receives = false;
  uint16_t partition_key = 0xFFFF;
  IpAddress local_gid;
  IpAddress remote_gid;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint8_t rate = 0;
  uint8_t ack_timeout = 0;
  PrivateData<92> private_data{};
};

// MRA: "received, but it takes a while".
struct Receipt {
  static constexpr Attribute kAttribute = Attribute::kReceipt;
  CommunicationId local{};
  CommunicationId remote{};
  Subject subject = Subject::kRequest;
  uint8_t service_timeout = 0;
  PrivateData<222> private_data{};
};

// REJ
struct Rejection {
  static constexpr Attribute kAttribute = Attribute::kRejection;
  CommunicationId local{};
  CommunicationId remote{};
  Subject subject = Subject::kRequest;
  RejectReason reason{};
  uint8_t info_bytes = 0;
  std::array<uint8_t, 72> info{};
  PrivateData<148> private_data{};
};

// REP
struct Reply {
  static constexpr Attribute kAttribute = Attribute::kReply;
  CommunicationId local{};
  CommunicationId remote{};
  uint32_t queue_key = 0;
  Qpn qpn;
  Psn first_psn;
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t target_ack_delay = 0;
  bool flow_control = false;
  uint8_t rnr_retry_count = 0;
  bool shared_receives = false;
  uint64_t guid = 0;
  PrivateData<196> private_data{};
};

// RTU
struct Ready {
  static constexpr Attribute kAttribute = Attribute::kReady;
  CommunicationId local{};
  CommunicationId remote{};
  PrivateData<224> private_data{};
};

// DREQ
struct DisconnectRequest {
  static constexpr Attribute kAttribute = Attribute::kDisconnectRequest;
  CommunicationId local{};
  CommunicationId remote{};
  Qpn remote_qpn;  // the receiver's
  PrivateData<220> private_data{};
};

// DREP
struct DisconnectReply {
  static constexpr Attribute kAttribute = Attribute::kDisconnectReply;
  CommunicationId local{};
  CommunicationId remote{};
  PrivateData<224> private_data{};
};

// SIDR_REQ: which queue pair takes datagrams for a service?
struct ServiceRequest {
  static constexpr Attribute kAttribute = Attribute::kServiceRequest;
  CommunicationId request{};
  uint16_t partition_key = 0xFFFF;
  ServiceId service{};
  PrivateData<216> private_data{};
};

// SIDR_REP
struct ServiceReply {
  static constexpr Attribute kAttribute = Attribute::kServiceReply;
  CommunicationId request{};
  ServiceStatus status{};
  Qpn qpn;
  ServiceId service{};
  uint32_t queue_key = 0;
  PrivateData<136> private_data{};
};

using Body = std::variant<Request, Receipt, Rejection, Reply, Ready, DisconnectRequest, DisconnectReply,
                          ServiceRequest, ServiceReply>;

struct Message {
  uint64_t transaction = 0;
  Body body;
};

Mad encode(const Message& message);
// Nothing: not a whole MAD, not of the connection manager, or of a kind that is not known here.
std::optional<Message> decode(std::span<const uint8_t> bytes);

}  // namespace mrc::cm
