// SPDX-License-Identifier: BSD-2-Clause
// What the owner asks of the connection manager. Messages are in manager_receive.cc, time in
// manager_time.cc.
#include "libmrc/cm/manager.h"

#include <algorithm>

namespace mrc::cm {
namespace {

constexpr uint32_t kNumberMask = (1u << kSlotShift) - 1;
// IBTA 12.7.3: the other side may take 4.096 us * 2^n to answer; what hardware managers say, too.
constexpr uint8_t kResponseTimeout = 20;
constexpr uint8_t kRate100G = 16;  // IBTA: 100 Gb/s
constexpr uint8_t kHopLimit = 64;

template <size_t kBytes>
PrivateData<kBytes> padded(std::span<const uint8_t> data) {
  PrivateData<kBytes> result{};
  std::copy_n(data.begin(), std::min(data.size(), kBytes), result.begin());
  return result;
}

// The addresses, then what the program has to say.
template <size_t kBytes>
PrivateData<kBytes> with_addresses(const IpServiceHeader& addresses, std::span<const uint8_t> data) {
  PrivateData<kBytes> result{};
  const std::span<uint8_t> all(result);
  write_ip_service(addresses, all.first<IpServiceHeader::kBytes>());
  const size_t room = kBytes - IpServiceHeader::kBytes;
  std::copy_n(data.begin(), std::min(data.size(), room), result.begin() + IpServiceHeader::kBytes);
  return result;
}

}  // namespace

Manager::Manager(const ManagerConfig& config)
    : config_(config),
      seeded_(config.seed),
      random_(config.random != nullptr ? *config.random : seeded_),
      answers_(random_, config.answers_per_second, config.answers_at_once) {}

void Manager::stop_listening(uint64_t owner) {
  std::erase_if(listeners_, [owner](const Listener& listener) { return listener.owner == owner; });
}

const Manager::Listener* Manager::find_listener(ServiceId service, const IpAddress& address,
                                                bool datagrams) const {
  const Listener* best = nullptr;
  for (const Listener& listener : listeners_) {
    if (listener.service != service || listener.datagrams != datagrams) continue;
    if (!listener.address.accepts(address)) continue;
    if (best == nullptr || best->address.any) best = &listener;  // one that names the address comes first
  }
  return best;
}

// --- the table ---

const Connection* Manager::find(CommunicationId id) const {
  const auto found = connections_.find(static_cast<uint32_t>(id));
  return found == connections_.end() ? nullptr : &found->second;
}

Connection* Manager::look_up(CommunicationId id) {
  const auto found = connections_.find(static_cast<uint32_t>(id));
  return found == connections_.end() ? nullptr : &found->second;
}

Connection* Manager::create() {
  if (connections_.size() >= std::min<size_t>(config_.connections_max, kNumberMask)) return nullptr;
  uint32_t id;
  do {
    id = config_.slot << kSlotShift | (static_cast<uint32_t>(random_.next()) & kNumberMask);
  } while (id == 0 || connections_.contains(id));
  Connection& connection = connections_[id];
  connection.local = CommunicationId{id};
  connection.transaction = random_.next();
  return &connection;
}

void Manager::erase(Connection& connection) {
  set_state(connection, State::kIdle);
  if (!connection.active) {
    const RemoteName name{connection.gids.remote.bytes, connection.guid_there,
                          static_cast<uint32_t>(connection.remote)};
    const auto found = by_remote_.find(name);
    if (found != by_remote_.end() && found->second == connection.local) by_remote_.erase(found);
  }
  connections_.erase(static_cast<uint32_t>(connection.local));
}

// --- the active side ---

CommunicationId Manager::connect(const Call& call, Nanoseconds now) {
  Connection* connection = create();
  if (connection == nullptr) return {};
  connection->owner = call.owner;
  connection->active = true;
  connection->service = call.service;
  connection->addresses = call.addresses;
  connection->gids = call.gids;
  connection->here = call.here;
  connection->mtu = config_.mtu;
  connection->ack_timeout = static_cast<uint8_t>(config_.packet_lifetime + 1);
  Request request;
  request.local = connection->local;
  request.service = call.service;
  request.guid = config_.guid;
  request.queue_key = call.here.queue_key;
  request.qpn = call.here.qpn;
  request.first_psn = call.here.first_psn;
  request.responder_resources = call.here.responder_resources;
  request.initiator_depth = call.here.initiator_depth;
  request.remote_response_timeout = kResponseTimeout;
  request.local_response_timeout = kResponseTimeout;
  request.flow_control = call.here.flow_control;
  request.retry_count = call.here.retry_count;
  request.rnr_retry_count = call.here.rnr_retry_count;
  request.mtu = connection->mtu;
  request.retries_max = static_cast<uint8_t>(std::min(config_.tries_max, 15u));
  request.shared_receives = call.here.shared_receives;
  request.local_gid = call.gids.local;
  request.remote_gid = call.gids.remote;
  request.hop_limit = kHopLimit;
  request.rate = kRate100G;
  request.ack_timeout = connection->ack_timeout;
  request.private_data = with_addresses<92>(call.addresses, call.private_data);
  set_state(*connection, State::kRequestSent);
  send_until_answered(*connection, request, now);
  return connection->local;
}

CommunicationId Manager::request_service(const Call& call, Nanoseconds now) {
  Connection* connection = create();
  if (connection == nullptr) return {};
  connection->owner = call.owner;
  connection->active = true;
  connection->service = call.service;
  connection->addresses = call.addresses;
  connection->gids = call.gids;
  ServiceRequest request;
  request.request = connection->local;
  request.service = call.service;
  request.private_data = with_addresses<216>(call.addresses, call.private_data);
  set_state(*connection, State::kServiceRequestSent);
  send_until_answered(*connection, request, now);
  return connection->local;
}

bool Manager::ready(CommunicationId id, std::span<const uint8_t> private_data) {
  Connection* connection = look_up(id);
  if (connection == nullptr || connection->state != State::kReplyReceived) return false;
  set_state(*connection, State::kEstablished);
  const Message message{connection->transaction,
                        Ready{connection->local, connection->remote, padded<224>(private_data)}};
  connection->repeated = encode(message);  // should the reply come again
  send_to(connection->gids, target_of_peer(*connection), *connection->repeated);
  return true;
}

// --- the passive side ---

bool Manager::accept(CommunicationId id, uint64_t owner, const EndPoint& here,
                     std::span<const uint8_t> private_data, Nanoseconds now) {
  Connection* connection = look_up(id);
  if (connection == nullptr) return false;
  if (connection->state == State::kServiceRequestReceived) {
    connection->owner = owner;
    connection->here = here;
    ServiceReply reply;
    reply.request = connection->remote;
    reply.service = connection->service;
    reply.qpn = here.qpn;
    reply.queue_key = here.queue_key;
    reply.private_data = padded<136>(private_data);
    set_state(*connection, State::kServiceReplied);
    connection->repeated = encode({connection->transaction, reply});
    send_to(connection->gids, target_of_peer(*connection), *connection->repeated);
    return true;
  }
  if (connection->state != State::kRequestReceived) return false;
  connection->owner = owner;
  connection->here = here;
  // What was said in the request about retries stands.
  connection->here.retry_count = connection->there.retry_count;
  Reply reply;
  reply.local = connection->local;
  reply.remote = connection->remote;
  reply.queue_key = here.queue_key;
  reply.qpn = here.qpn;
  reply.first_psn = here.first_psn;
  reply.responder_resources = here.responder_resources;
  reply.initiator_depth = here.initiator_depth;
  reply.flow_control = here.flow_control;
  reply.rnr_retry_count = here.rnr_retry_count;
  reply.shared_receives = here.shared_receives;
  reply.guid = config_.guid;
  reply.private_data = padded<196>(private_data);
  set_state(*connection, State::kReplySent);
  send_until_answered(*connection, reply, now);
  return true;
}

bool Manager::established_by_data(CommunicationId id) {
  Connection* connection = look_up(id);
  if (connection == nullptr || connection->state != State::kReplySent) return false;
  set_state(*connection, State::kEstablished);
  tell(*connection, Event::Kind::kEstablished).private_data.assign(224, 0);
  return true;
}

// --- both ---

bool Manager::reject(CommunicationId id, RejectReason reason, std::span<const uint8_t> private_data,
                     Nanoseconds now) {
  Connection* connection = look_up(id);
  if (connection == nullptr) return false;
  switch (connection->state) {
    case State::kServiceRequestReceived: {
      ServiceReply reply;
      reply.request = connection->remote;
      reply.service = connection->service;
      reply.status = ServiceStatus::kRejected;
      reply.private_data = padded<136>(private_data);
      set_state(*connection, State::kServiceReplied);
      connection->repeated = encode({connection->transaction, reply});
      send_to(connection->gids, target_of_peer(*connection), *connection->repeated);
      return true;
    }
    case State::kRequestReceived:
      send_rejection(*connection, Subject::kRequest, reason, private_data);
      enter_time_wait(*connection, now, true);
      return true;
    case State::kReplyReceived:
      send_rejection(*connection, Subject::kReply, reason, private_data);
      enter_time_wait(*connection, now, true);
      return true;
    default:
      return false;
  }
}

bool Manager::disconnect(CommunicationId id, std::span<const uint8_t> private_data, Nanoseconds now) {
  Connection* connection = look_up(id);
  if (connection == nullptr) return false;
  // Also if the other side was first, however long ago.
  const bool over = connection->state == State::kIdle && connection->remote != CommunicationId{};
  if (over || connection->state == State::kDisconnectSent || connection->state == State::kTimeWait)
    return true;
  if (connection->state != State::kEstablished) return false;
  set_state(*connection, State::kDisconnectSent);
  send_until_answered(*connection,
                      DisconnectRequest{connection->local, connection->remote, connection->there.qpn,
                                        padded<220>(private_data)},
                      now);
  return true;
}

void Manager::release(CommunicationId id, Nanoseconds now) {
  Connection* connection = look_up(id);
  if (connection == nullptr || !connection->owned) return;
  connection->owned = false;
  switch (connection->state) {
    case State::kRequestSent:
      // IBTA 12.6.7.2: the other side knows the request by our GUID and id.
      send_rejection(*connection, Subject::kRequest, RejectReason::kTimeout, {});
      return erase(*connection);
    case State::kReplySent:
      send_rejection(*connection, Subject::kRequest, RejectReason::kConsumer, {});
      return enter_time_wait(*connection, now, true);
    case State::kRequestReceived:
    case State::kReplyReceived:
    case State::kServiceRequestReceived:
      reject(id, RejectReason::kConsumer, {}, now);
      if (connection->state == State::kServiceReplied) enter_time_wait(*connection, now, true);
      return;
    case State::kEstablished:
      disconnect(id, {}, now);
      return;
    case State::kServiceReplied:
      return enter_time_wait(*connection, now, true);  // the request may come again
    case State::kDisconnectSent:
    case State::kTimeWait:
      return;  // goes on alone
    case State::kIdle:
    case State::kServiceRequestSent:
      return erase(*connection);
  }
}

void Manager::lost(CommunicationId id, Nanoseconds now) {
  Connection* connection = look_up(id);
  if (connection == nullptr) return;
  switch (connection->state) {
    case State::kEstablished:
    case State::kDisconnectSent:
      tell(*connection, Event::Kind::kDisconnected);
      enter_time_wait(*connection, now);
      break;
    case State::kIdle:
    case State::kTimeWait:
    case State::kServiceReplied:
      break;
    default:
      tell(*connection, Event::Kind::kUnreachable);
      end(*connection);
  }
}

Event& Manager::tell(Connection& connection, Event::Kind kind) {
  unheard_ = {};
  Event& event = connection.owned ? events_.emplace_back() : unheard_;
  event.kind = kind;
  event.connection = connection.local;
  event.owner = connection.owner;
  event.there = connection.there;
  return event;
}

}  // namespace mrc::cm
