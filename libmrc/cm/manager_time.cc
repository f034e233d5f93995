// SPDX-License-Identifier: BSD-2-Clause
// How the connection manager sends, repeats and gives up.
#include <algorithm>
#include <optional>

#include "libmrc/cm/manager.h"
#include "libmrc/wire/bytes.h"

namespace mrc::cm {
namespace {

// IBTA 12.6.6: how long the other side may take when it is told that we take a while.
constexpr uint8_t kReceiptTimeout = 24;  // 69 s

// Asked for by somebody who has not yet shown that he is where he says.
bool is_pending(const Connection& connection) {
  return !connection.active &&
         (connection.state == State::kRequestReceived || connection.state == State::kReplySent ||
          connection.state == State::kServiceRequestReceived);
}

}  // namespace

void Manager::set_state(Connection& connection, State state) {
  leave_state(connection);
  connection.state = state;
  enter_state(connection);
  connection.repeated.reset();
  set_deadline(connection, kNever);
}

// What is counted by source, and what is found by the peer's queue pair.
void Manager::enter_state(const Connection& connection) {
  if (is_pending(connection)) ++pending_[connection.gids.remote.bytes];
  if (connection.state == State::kEstablished) established_[peer_of(connection)] = connection.local;
}

void Manager::leave_state(const Connection& connection) {
  if (is_pending(connection)) {
    const auto found = pending_.find(connection.gids.remote.bytes);
    if (--found->second == 0) pending_.erase(found);
  }
  if (connection.state == State::kEstablished) {
    const auto found = established_.find(peer_of(connection));
    if (found != established_.end() && found->second == connection.local) established_.erase(found);
  }
}

void Manager::set_deadline(Connection& connection, Nanoseconds deadline) {
  const auto id = static_cast<uint32_t>(connection.local);
  if (connection.deadline != kNever) timers_.erase({connection.deadline, id});
  connection.deadline = deadline;
  if (deadline != kNever) timers_.insert({deadline, id});
}

// IBTA 12.9.8.3: twice a packet's lifetime and the acknowledgement delay, as the ack timeout counts them.
void Manager::enter_time_wait(Connection& connection, Nanoseconds now, bool keep_answer) {
  const std::optional<Mad> answer = connection.repeated;
  // A service that has answered has nothing else to wait for.
  set_state(connection, connection.state == State::kServiceReplied ? connection.state : State::kTimeWait);
  if (keep_answer) connection.repeated = answer;
  const uint8_t exponent = std::min<uint8_t>(
      std::max<uint8_t>(connection.ack_timeout, static_cast<uint8_t>(config_.packet_lifetime + 1)), 20);
  set_deadline(connection, now + (Nanoseconds{4096} << exponent));
}

void Manager::end(Connection& connection) {
  if (!connection.owned) return erase(connection);
  set_state(connection, State::kIdle);
}

// --- sending ---

Target Manager::target_of_peer(const Connection& connection) const {
  Target target;
  if (connection.remote != CommunicationId{}) {
    target.kind = Target::Kind::kProcess;
    target.slot = slot_of(connection.remote);
  } else {
    target.kind = Target::Kind::kService;
    target.service = connection.service;
    target.address = connection.addresses.destination;
  }
  return target;
}

void Manager::send_to(const GidPair& gids, const Target& target, const Mad& mad) {
  ++counters_.sent;
  outgoing_.push_back({mad, gids, target, false});
}

void Manager::send(Connection& connection, const Body& body) {
  send_to(connection.gids, target_of_peer(connection), encode({connection.transaction, body}));
}

void Manager::send_until_answered(Connection& connection, const Body& body, Nanoseconds now) {
  connection.repeated = encode({connection.transaction, body});
  connection.interval = config_.repeat_first;
  connection.tries = 1;
  set_deadline(connection, now + connection.interval);
  send_to(connection.gids, target_of_peer(connection), *connection.repeated);
}

void Manager::send_receipt(Connection& connection, Subject subject) {
  Receipt receipt;
  receipt.local = connection.local;
  receipt.remote = connection.remote;
  receipt.subject = subject;
  receipt.service_timeout = kReceiptTimeout;
  send(connection, receipt);
}

void Manager::send_rejection(Connection& connection, Subject subject, RejectReason reason,
                             std::span<const uint8_t> private_data) {
  Rejection rejection;
  rejection.local = connection.local;
  rejection.remote = connection.remote;
  rejection.subject = subject;
  rejection.reason = reason;
  std::copy_n(private_data.begin(), std::min(private_data.size(), rejection.private_data.size()),
              rejection.private_data.begin());
  if (reason == RejectReason::kTimeout) {
    rejection.info_bytes = sizeof config_.guid;
    store_be<uint64_t>(rejection.info.data(), config_.guid);
  }
  connection.repeated = encode({connection.transaction, rejection});
  send_to(connection.gids, target_of_peer(connection), *connection.repeated);
}

// --- time ---

void Manager::on_time(Nanoseconds now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Connection& connection = *look_up(CommunicationId{timers_.begin()->second});
    set_deadline(connection, kNever);
    if (connection.state == State::kTimeWait) {
      tell(connection, Event::Kind::kTimeWaitOver);
      end(connection);
    } else if (connection.state == State::kServiceReplied) {
      end(connection);
    } else {
      repeat(connection, now);
    }
  }
}

void Manager::repeat(Connection& connection, Nanoseconds now) {
  const bool disconnecting = connection.state == State::kDisconnectSent;
  if (!connection.repeated ||
      connection.tries >= (disconnecting ? config_.disconnect_tries_max : config_.tries_max))
    return give_up(connection, now);
  ++connection.tries;
  ++counters_.repeated;
  connection.interval = std::min(2 * connection.interval, config_.repeat_max);
  set_deadline(connection, now + connection.interval);
  send_to(connection.gids, target_of_peer(connection), *connection.repeated);
}

void Manager::give_up(Connection& connection, Nanoseconds now) {
  switch (connection.state) {
    case State::kRequestSent:
      send_rejection(connection, Subject::kRequest, RejectReason::kTimeout, {});
      break;
    case State::kReplySent:
      send_rejection(connection, Subject::kReply, RejectReason::kTimeout, {});
      break;
    default:
      break;
  }
  lost(connection.local, now);
}

}  // namespace mrc::cm
