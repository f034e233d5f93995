// SPDX-License-Identifier: BSD-2-Clause
// What the connection manager does with messages (IBTA 12.9.7). Messages may be lost, come twice, late, or
// from nowhere.
#include <algorithm>

#include "libmrc/cm/manager.h"
#include "libmrc/wire/bytes.h"

namespace mrc::cm {
namespace {

template <size_t kBytes>
std::vector<uint8_t> all_of(const PrivateData<kBytes>& data) {
  return {data.begin(), data.end()};
}

template <size_t kBytes>
std::vector<uint8_t> behind_addresses(const PrivateData<kBytes>& data) {
  return {data.begin() + IpServiceHeader::kBytes, data.end()};
}

constexpr uint8_t kMtuMin = 1;
constexpr uint8_t kMtuMax = 5;

// As service requests have no GUID, their sender is known by its GID.
uint64_t name_of(const IpAddress& gid) {
  uint64_t name = 0xCBF29CE484222325u;  // FNV-1a
  for (const uint8_t byte : gid.bytes) name = (name ^ byte) * 0x100000001B3u;
  return name;
}

Target process_of(CommunicationId id) {
  Target target;
  target.kind = Target::Kind::kProcess;
  target.slot = slot_of(id);
  return target;
}

}  // namespace

void Manager::receive(std::span<const uint8_t> mad, const GidPair& gids, Nanoseconds now) {
  ++counters_.received;
  const auto message = decode(mad);
  if (!message) {
    ++counters_.malformed;
    return;
  }
  std::visit([&](const auto& body) { on(body, gids, message->transaction, now); }, message->body);
}

// The connection that a message names by both ids.
Connection* Manager::look_up(CommunicationId id, CommunicationId remote) {
  Connection* connection = look_up(id);
  if (connection != nullptr && connection->remote == remote) return connection;
  ++counters_.unexpected;
  return nullptr;
}

// --- REQ ---

void Manager::on(const Request& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  if (repeats_request(message)) return;
  const auto refuse = [&](RejectReason reason) { answer_reject(message, gids, transaction, reason); };
  if (message.transport != kTransportReliable && message.transport != kTransportUnreliable)
    return refuse(RejectReason::kInvalidTransport);
  if (message.mtu < kMtuMin || message.mtu > kMtuMax) return refuse(RejectReason::kInvalidMtu);
  const auto addresses = read_ip_service(message.private_data);
  if (!addresses) return refuse(RejectReason::kUnsupportedRequest);
  const Listener* listener = find_listener(message.service, addresses->destination, false);
  if (listener == nullptr) return refuse(RejectReason::kInvalidServiceId);
  if (end_stale(message, now)) return refuse(RejectReason::kStaleConnection);
  Connection* connection = create();
  if (connection == nullptr) return refuse(RejectReason::kNoResources);
  connection->remote = message.local;
  connection->guid_there = message.guid;
  connection->service = message.service;
  connection->addresses = *addresses;
  connection->gids = gids;
  connection->mtu = std::min(message.mtu, config_.mtu);
  connection->ack_timeout = message.ack_timeout;
  connection->transaction = transaction;
  EndPoint& there = connection->there;
  there.qpn = message.qpn;
  there.first_psn = message.first_psn;
  there.queue_key = message.queue_key;
  there.responder_resources = message.responder_resources;
  there.initiator_depth = message.initiator_depth;
  there.retry_count = message.retry_count;
  there.rnr_retry_count = message.rnr_retry_count;
  there.flow_control = message.flow_control;
  there.shared_receives = message.shared_receives;
  by_remote_[{message.guid, static_cast<uint32_t>(message.local)}] = connection->local;
  set_state(*connection, State::kRequestReceived);
  Event& event = tell(*connection, Event::Kind::kRequest);
  event.owner = listener->owner;
  event.private_data = behind_addresses(message.private_data);
}

// True: the request is known and has been dealt with.
bool Manager::repeats_request(const Request& message) {
  const auto known = by_remote_.find({message.guid, static_cast<uint32_t>(message.local)});
  if (known == by_remote_.end()) return false;
  Connection* connection = look_up(known->second);
  if (connection->state == State::kIdle) {
    by_remote_.erase(known);
    return false;
  }
  ++counters_.unexpected;
  if (connection->state == State::kRequestReceived) send_receipt(*connection, Subject::kRequest);
  // The reply, or that it was rejected.
  const bool answered = connection->state == State::kReplySent || connection->state == State::kTimeWait;
  if (answered && connection->repeated)
    send_to(connection->gids, target_of_peer(*connection), *connection->repeated);
  return true;
}

// IBTA 12.9.8.3.1: a queue pair that asks for a connection has none; if we think otherwise we are wrong.
bool Manager::end_stale(const Request& message, Nanoseconds now) {
  if (message.qpn == Qpn{}) return false;
  for (auto& [id, connection] : connections_) {
    if (connection.state != State::kEstablished || connection.there.qpn != message.qpn) continue;
    if (connection.guid_there != message.guid) continue;
    lost(connection.local, now);
    return true;
  }
  return false;
}

void Manager::answer_reject(const Request& message, const GidPair& gids, uint64_t transaction,
                            RejectReason reason) {
  Rejection rejection;
  rejection.remote = message.local;
  rejection.reason = reason;
  send_to(gids, process_of(message.local), encode({transaction, rejection}));
}

// --- MRA, REJ ---

void Manager::on(const Receipt& message, const GidPair&, uint64_t, Nanoseconds now) {
  Connection* connection = look_up(message.remote);
  const bool expected = connection != nullptr &&
                        ((connection->state == State::kRequestSent && message.subject == Subject::kRequest) ||
                         (connection->state == State::kReplySent && message.subject == Subject::kReply));
  if (!expected) {
    ++counters_.unexpected;
    return;
  }
  set_deadline(*connection, now + (Nanoseconds{4096} << message.service_timeout));
}

void Manager::on(const Rejection& message, const GidPair&, uint64_t, Nanoseconds now) {
  Connection* connection = look_up(message.remote);
  if (connection == nullptr && message.reason == RejectReason::kTimeout && message.info_bytes >= 8) {
    const auto known =
        by_remote_.find({load_be<uint64_t>(message.info.data()), static_cast<uint32_t>(message.local)});
    if (known != by_remote_.end()) connection = look_up(known->second);
  }
  if (connection == nullptr) {
    ++counters_.unexpected;
    return;
  }
  switch (connection->state) {
    case State::kRequestSent:
    case State::kRequestReceived:
    case State::kReplySent:
    case State::kReplyReceived: {
      Event& event = tell(*connection, Event::Kind::kRejected);
      event.reason = static_cast<uint16_t>(message.reason);
      event.private_data = all_of(message.private_data);
      return end(*connection);
    }
    case State::kDisconnectSent:
      tell(*connection, Event::Kind::kDisconnected);
      return enter_time_wait(*connection, now);
    default:
      ++counters_.unexpected;
  }
}

// --- REP, RTU ---

void Manager::on(const Reply& message, const GidPair& gids, uint64_t transaction, Nanoseconds) {
  Connection* connection = look_up(message.remote);
  if (connection == nullptr || !connection->active) {
    ++counters_.unexpected;
    Rejection rejection;
    rejection.local = message.remote;
    rejection.remote = message.local;
    rejection.subject = Subject::kReply;
    rejection.reason = RejectReason::kInvalidCommunicationId;
    return send_to(gids, process_of(message.local), encode({transaction, rejection}));
  }
  if (connection->state != State::kRequestSent) {
    ++counters_.unexpected;
    if (connection->remote != message.local) return;
    if (connection->state == State::kReplyReceived) send_receipt(*connection, Subject::kReply);
    // The ready message, or that it was rejected.
    const bool answered = connection->state == State::kEstablished || connection->state == State::kTimeWait;
    if (answered && connection->repeated)
      send_to(connection->gids, target_of_peer(*connection), *connection->repeated);
    return;
  }
  connection->remote = message.local;
  connection->guid_there = message.guid;
  EndPoint& there = connection->there;
  there.qpn = message.qpn;
  there.first_psn = message.first_psn;
  there.queue_key = message.queue_key;
  there.responder_resources = message.responder_resources;
  there.initiator_depth = message.initiator_depth;
  there.rnr_retry_count = message.rnr_retry_count;
  there.flow_control = message.flow_control;
  there.shared_receives = message.shared_receives;
  set_state(*connection, State::kReplyReceived);
  tell(*connection, Event::Kind::kReply).private_data = all_of(message.private_data);
}

void Manager::on(const Ready& message, const GidPair&, uint64_t, Nanoseconds) {
  Connection* connection = look_up(message.remote, message.local);
  if (connection == nullptr) return;
  if (connection->state != State::kReplySent) {
    ++counters_.unexpected;
    return;
  }
  set_state(*connection, State::kEstablished);
  tell(*connection, Event::Kind::kEstablished).private_data = all_of(message.private_data);
}

// --- DREQ, DREP ---

void Manager::on(const DisconnectRequest& message, const GidPair& gids, uint64_t transaction,
                 Nanoseconds now) {
  // Always answered: who asks to end a connection shall not wait for one that is over here.
  const DisconnectReply reply{message.remote, message.local, {}};
  Connection* connection = look_up(message.remote, message.local);
  if (connection != nullptr && connection->here.qpn != message.remote_qpn) {
    ++counters_.unexpected;
    return;
  }
  send_to(gids, process_of(message.local), encode({transaction, reply}));
  if (connection == nullptr) return;
  switch (connection->state) {
    case State::kReplySent:
      // It was ready, then; but the message that says so is late or lost.
      tell(*connection, Event::Kind::kEstablished).private_data.assign(224, 0);
      [[fallthrough]];
    case State::kEstablished:
    case State::kDisconnectSent:
      tell(*connection, Event::Kind::kDisconnected).private_data = all_of(message.private_data);
      return enter_time_wait(*connection, now);
    default:
      ++counters_.unexpected;
  }
}

void Manager::on(const DisconnectReply& message, const GidPair&, uint64_t, Nanoseconds now) {
  Connection* connection = look_up(message.remote, message.local);
  if (connection == nullptr) return;
  if (connection->state != State::kDisconnectSent) {
    ++counters_.unexpected;
    return;
  }
  tell(*connection, Event::Kind::kDisconnected).private_data = all_of(message.private_data);
  enter_time_wait(*connection, now);
}

// --- SIDR ---

void Manager::answer_unsupported(const ServiceRequest& message, const GidPair& gids, uint64_t transaction) {
  ServiceReply reply;
  reply.request = message.request;
  reply.service = message.service;
  reply.status = ServiceStatus::kUnsupported;
  send_to(gids, process_of(message.request), encode({transaction, reply}));
}

void Manager::on(const ServiceRequest& message, const GidPair& gids, uint64_t transaction, Nanoseconds) {
  const RemoteName name{name_of(gids.remote), static_cast<uint32_t>(message.request)};
  if (const auto known = by_remote_.find(name); known != by_remote_.end()) {
    Connection* connection = look_up(known->second);
    if (connection->state != State::kIdle) {
      ++counters_.unexpected;
      if (connection->repeated) send_to(connection->gids, process_of(message.request), *connection->repeated);
      return;
    }
    by_remote_.erase(known);
  }
  const auto addresses = read_ip_service(message.private_data);
  const Listener* listener =
      addresses ? find_listener(message.service, addresses->destination, true) : nullptr;
  Connection* connection = listener != nullptr ? create() : nullptr;
  if (connection == nullptr) return answer_unsupported(message, gids, transaction);
  connection->remote = message.request;
  connection->guid_there = name.first;
  connection->service = message.service;
  connection->addresses = *addresses;
  connection->gids = gids;
  connection->mtu = config_.mtu;
  connection->transaction = transaction;
  by_remote_[name] = connection->local;
  set_state(*connection, State::kServiceRequestReceived);
  Event& event = tell(*connection, Event::Kind::kServiceRequest);
  event.owner = listener->owner;
  event.private_data = behind_addresses(message.private_data);
}

void Manager::on(const ServiceReply& message, const GidPair&, uint64_t, Nanoseconds) {
  Connection* connection = look_up(message.request);
  if (connection == nullptr || connection->state != State::kServiceRequestSent) {
    ++counters_.unexpected;
    return;
  }
  connection->there.qpn = message.qpn;
  connection->there.queue_key = message.queue_key;
  Event& event = tell(*connection, Event::Kind::kServiceReply);
  event.service_status = message.status;
  event.private_data = all_of(message.private_data);
  end(*connection);
}

}  // namespace mrc::cm
