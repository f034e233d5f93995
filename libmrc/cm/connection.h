// SPDX-License-Identifier: BSD-2-Clause
// One connection as the connection manager of this process knows it, and what its owner is told about it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/cm/identifiers.h"
#include "libmrc/cm/ip_service.h"
#include "libmrc/cm/mad.h"
#include "libmrc/cm/target.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/psn.h"
#include "libmrc/wire/time.h"

namespace mrc::cm {

// The GIDs between which the messages travel, and later the data.
struct GidPair {
  IpAddress local;
  IpAddress remote;
  friend bool operator==(const GidPair&, const GidPair&) = default;
};

// What one end says about its queue pair.
struct EndPoint {
  Qpn qpn;
  Psn first_psn;
  uint32_t queue_key = 0;
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t retry_count = 7;
  uint8_t rnr_retry_count = 7;
  bool flow_control = true;
  bool shared_receives = false;
};

// IBTA 12.9.5, without those of alternate paths and redirection.
enum class State : uint8_t {
  kIdle,  // over; kept until its owner releases it
  kRequestSent,
  kRequestReceived,
  kReplySent,
  kReplyReceived,
  kEstablished,
  kDisconnectSent,
  kTimeWait,
  kServiceRequestSent,
  kServiceRequestReceived,
  kServiceReplied,
};

struct Connection {
  CommunicationId local{};
  CommunicationId remote{};
  State state = State::kIdle;
  uint64_t owner = 0;   // as the owner calls it
  bool owned = true;    // false: nobody is told anything any more
  bool active = false;  // we asked
  ServiceId service{};
  IpServiceHeader addresses;  // as the active side sees them
  GidPair gids;
  EndPoint here;
  EndPoint there;
  uint64_t guid_there = 0;
  uint8_t mtu = 0;
  uint8_t ack_timeout = 0;
  uint64_t transaction = 0;  // every message of the connection has it, but for a disconnect that they begin

  // Somebody asked for a connection in the name of the peer's queue pair: the peer was asked whether it still
  // has this one, in a transaction of its own.
  uint64_t doubt = 0;  // 0: nobody did
  Nanoseconds doubted_at = 0;

  // The message that is repeated until it is answered.
  std::optional<Mad> repeated;
  Nanoseconds deadline = kNever;
  Nanoseconds interval = 0;
  unsigned tries = 0;
};

struct Event {
  enum class Kind : uint8_t {
    kRequest,       // `owner` is the listener's; the connection has none before it is accepted
    kReply,         // the other side has accepted: ready() is expected
    kEstablished,   // the side that asked is ready
    kRejected,      // `reason`
    kUnreachable,   // no answer
    kDisconnected,  // by either side
    kTimeWaitOver,
    kServiceRequest,  // as kRequest, for datagrams
    kServiceReply,    // `service_status`, there.qpn and there.queue_key
  };
  Kind kind{};
  CommunicationId connection{};
  uint64_t owner = 0;
  uint16_t reason = 0;
  ServiceStatus service_status{};
  EndPoint there;
  std::vector<uint8_t> private_data;  // always as long as the message has room for, as its length is not sent
};

// A MAD to be sent from QP 1 to QP 1.
struct Outgoing {
  Mad mad;
  GidPair gids;
  Target target;             // which process there, if it is one of this host
  bool to_stranger = false;  // with whom there is no connection, and who may not be there
};

}  // namespace mrc::cm
