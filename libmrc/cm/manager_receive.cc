// SPDX-License-Identifier: BSD-2-Clause
// What the connection manager does with messages (IBTA 12.9.7). Messages may be lost, come twice, late, from
// nowhere, or from somebody who says that he is somebody else: docs/threat-model.md has what each must match.
#include <algorithm>
#include <variant>

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

// A peer that was asked whether it still has a connection is not asked again so soon.
constexpr Nanoseconds kDoubtInterval = 10 * kSecond;

Target asker_process(CommunicationId id) {
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

bool Manager::belongs(const Connection& connection, const GidPair& gids, uint64_t transaction) {
  if (connection.gids == gids && connection.transaction == transaction) return true;
  ++counters_.mismatched;
  return false;
}

Connection* Manager::look_up(CommunicationId id, CommunicationId remote, const GidPair& gids) {
  Connection* connection = look_up(id);
  if (connection == nullptr || connection->remote != remote) {
    ++counters_.unexpected;
    return nullptr;
  }
  if (connection->gids == gids) return connection;
  ++counters_.mismatched;
  return nullptr;
}

Connection* Manager::look_up(CommunicationId id, CommunicationId remote, const GidPair& gids,
                             uint64_t transaction) {
  Connection* connection = look_up(id, remote, gids);
  return connection != nullptr && belongs(*connection, gids, transaction) ? connection : nullptr;
}

void Manager::answer_stranger(const GidPair& gids, CommunicationId asker, const Message& message,
                              Nanoseconds now) {
  if (!answers_.take(gids.remote, now)) {
    ++counters_.unheard;
    return;
  }
  send_to(gids, asker_process(asker), encode(message));
  outgoing_.back().to_stranger = true;
}

bool Manager::takes_more_of(const GidPair& gids) const {
  const auto found = pending_.find(gids.remote.bytes);
  return found == pending_.end() || found->second < config_.pending_per_source_max;
}

// --- REQ ---

void Manager::on(const Request& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  if (repeats_request(message, gids, transaction)) return;
  const auto refuse = [&](RejectReason reason) { answer_reject(message, gids, transaction, reason, now); };
  if (message.local_gid != gids.remote || message.remote_gid != gids.local)
    return refuse(RejectReason::kInvalidGid);
  if (message.transport != kTransportReliable && message.transport != kTransportUnreliable)
    return refuse(RejectReason::kInvalidTransport);
  if (message.mtu < kMtuMin || message.mtu > kMtuMax) return refuse(RejectReason::kInvalidMtu);
  const auto addresses = read_ip_service(message.private_data);
  if (!addresses) return refuse(RejectReason::kUnsupportedRequest);
  const Listener* listener = find_listener(message.service, addresses->destination, false);
  if (listener == nullptr) return refuse(RejectReason::kInvalidServiceId);
  if (Connection* known = connected_to(message, gids); known != nullptr)
    return doubts(*known, now) ? void() : refuse(RejectReason::kStaleConnection);
  if (!takes_more_of(gids)) {
    ++counters_.unheard;
    return;
  }
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
  by_remote_[{gids.remote.bytes, message.guid, static_cast<uint32_t>(message.local)}] = connection->local;
  set_state(*connection, State::kRequestReceived);
  Event& event = tell(*connection, Event::Kind::kRequest);
  event.owner = listener->owner;
  event.private_data = behind_addresses(message.private_data);
}

// True: the request is known and has been dealt with.
bool Manager::repeats_request(const Request& message, const GidPair& gids, uint64_t transaction) {
  const auto known = by_remote_.find({gids.remote.bytes, message.guid, static_cast<uint32_t>(message.local)});
  if (known == by_remote_.end()) return false;
  Connection* connection = look_up(known->second);
  if (connection->state == State::kIdle) {
    by_remote_.erase(known);
    return false;
  }
  if (!belongs(*connection, gids, transaction)) return true;
  ++counters_.unexpected;
  if (connection->state == State::kRequestReceived) send_receipt(*connection, Subject::kRequest);
  // The reply, or that it was rejected.
  const bool answered = connection->state == State::kReplySent || connection->state == State::kTimeWait;
  if (answered && connection->repeated)
    send_to(connection->gids, target_of_peer(*connection), *connection->repeated);
  return true;
}

// IBTA 12.9.8.3: a queue pair that asks for a connection has none, and if we think otherwise we may be wrong;
// but anybody can ask in its name.
Connection* Manager::connected_to(const Request& message, const GidPair& gids) {
  if (message.qpn == Qpn{}) return nullptr;
  const auto found = established_.find({gids.remote.bytes, message.guid, message.qpn.value()});
  return found == established_.end() ? nullptr : look_up(found->second);
}

// So its peer is asked, by a disconnect that names no queue pair: who has the connection takes no notice, who
// does not know it says so. The request is not answered; when it comes again, the connection is gone or real.
// False: the peer was asked not long ago.
bool Manager::doubts(Connection& connection, Nanoseconds now) {
  if (connection.doubt != 0 && now - connection.doubted_at < kDoubtInterval) return false;
  do {
    connection.doubt = random_.next();
  } while (connection.doubt == 0);
  connection.doubted_at = now;
  const DisconnectRequest question{connection.local, connection.remote, Qpn{}, {}};
  send_to(connection.gids, target_of_peer(connection), encode({connection.doubt, question}));
  return true;
}

void Manager::answer_reject(const Request& message, const GidPair& gids, uint64_t transaction,
                            RejectReason reason, Nanoseconds now) {
  Rejection rejection;
  rejection.remote = message.local;
  rejection.reason = reason;
  answer_stranger(gids, message.local, {transaction, rejection}, now);
}

// --- MRA, REJ ---

void Manager::on(const Receipt& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  Connection* connection = look_up(message.remote);
  const bool expected = connection != nullptr &&
                        ((connection->state == State::kRequestSent && message.subject == Subject::kRequest) ||
                         (connection->state == State::kReplySent && message.subject == Subject::kReply));
  if (!expected) {
    ++counters_.unexpected;
    return;
  }
  if (!belongs(*connection, gids, transaction)) return;
  set_deadline(*connection, now + (Nanoseconds{4096} << message.service_timeout));
}

// Who gives up before he has heard of us knows no id of ours, but we know his.
Connection* Manager::named_by(const Rejection& message, const GidPair& gids) {
  Connection* connection = look_up(message.remote);
  if (connection != nullptr || message.reason != RejectReason::kTimeout || message.info_bytes < 8)
    return connection;
  const auto known = by_remote_.find(
      {gids.remote.bytes, load_be<uint64_t>(message.info.data()), static_cast<uint32_t>(message.local)});
  return known == by_remote_.end() ? nullptr : look_up(known->second);
}

void Manager::on(const Rejection& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  Connection* connection = named_by(message, gids);
  if (connection == nullptr) {
    ++counters_.unexpected;
    return;
  }
  if (!belongs(*connection, gids, transaction)) return;
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

void Manager::on(const Reply& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  Connection* connection = look_up(message.remote);
  if (connection == nullptr || !connection->active) {
    ++counters_.unexpected;
    Rejection rejection;
    rejection.local = message.remote;
    rejection.remote = message.local;
    rejection.subject = Subject::kReply;
    rejection.reason = RejectReason::kInvalidCommunicationId;
    return answer_stranger(gids, message.local, {transaction, rejection}, now);
  }
  if (!belongs(*connection, gids, transaction)) return;
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

void Manager::on(const Ready& message, const GidPair& gids, uint64_t transaction, Nanoseconds) {
  Connection* connection = look_up(message.remote, message.local, gids, transaction);
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
  const DisconnectReply reply{message.remote, message.local, {}};
  const Connection* known = find(message.remote);
  if (known == nullptr || known->remote != message.local) {
    // Who asks to end a connection shall not wait for one that is over here.
    ++counters_.unexpected;
    return answer_stranger(gids, message.local, {transaction, reply}, now);
  }
  // The transaction is a new one of theirs, but they know our queue pair.
  Connection* connection = look_up(message.remote, message.local, gids);
  if (connection == nullptr) return;
  if (connection->here.qpn != message.remote_qpn) {
    ++counters_.unexpected;
    return;
  }
  send_to(gids, asker_process(message.local), encode({transaction, reply}));
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

void Manager::on(const DisconnectReply& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  Connection* connection = look_up(message.remote, message.local, gids);
  if (connection == nullptr) return;
  if (connection->doubt != 0 && connection->doubt == transaction) {
    // It was right to doubt: the peer knows nothing of it.
    if (connection->state == State::kEstablished) lost(connection->local, now);
    return;
  }
  if (!belongs(*connection, gids, transaction)) return;
  if (connection->state != State::kDisconnectSent) {
    ++counters_.unexpected;
    return;
  }
  tell(*connection, Event::Kind::kDisconnected).private_data = all_of(message.private_data);
  enter_time_wait(*connection, now);
}

// --- SIDR ---

void Manager::answer_unsupported(const ServiceRequest& message, const GidPair& gids, uint64_t transaction,
                                 Nanoseconds now) {
  ServiceReply reply;
  reply.request = message.request;
  reply.service = message.service;
  reply.status = ServiceStatus::kUnsupported;
  answer_stranger(gids, message.request, {transaction, reply}, now);
}

void Manager::on(const ServiceRequest& message, const GidPair& gids, uint64_t transaction, Nanoseconds now) {
  const RemoteName name{gids.remote.bytes, 0, static_cast<uint32_t>(message.request)};
  if (const auto known = by_remote_.find(name); known != by_remote_.end()) {
    Connection* connection = look_up(known->second);
    if (connection->state != State::kIdle) {
      if (!belongs(*connection, gids, transaction)) return;
      ++counters_.unexpected;
      if (connection->repeated)
        send_to(connection->gids, asker_process(message.request), *connection->repeated);
      return;
    }
    by_remote_.erase(known);
  }
  const auto addresses = read_ip_service(message.private_data);
  const Listener* listener =
      addresses ? find_listener(message.service, addresses->destination, true) : nullptr;
  if (listener != nullptr && !takes_more_of(gids)) {
    ++counters_.unheard;
    return;
  }
  Connection* connection = listener != nullptr ? create() : nullptr;
  if (connection == nullptr) return answer_unsupported(message, gids, transaction, now);
  connection->remote = message.request;
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

void Manager::on(const ServiceReply& message, const GidPair& gids, uint64_t transaction, Nanoseconds) {
  Connection* connection = look_up(message.request);
  if (connection == nullptr || connection->state != State::kServiceRequestSent) {
    ++counters_.unexpected;
    return;
  }
  if (!belongs(*connection, gids, transaction)) return;
  connection->there.qpn = message.qpn;
  connection->there.queue_key = message.queue_key;
  Event& event = tell(*connection, Event::Kind::kServiceReply);
  event.service_status = message.status;
  event.private_data = all_of(message.private_data);
  end(*connection);
}

}  // namespace mrc::cm
