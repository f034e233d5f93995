// SPDX-License-Identifier: BSD-2-Clause
// The connection manager of one process (IBTA chapter 12): listeners, connections, repetition of messages
// and time wait. Sans-I/O: time, messages and requests come in, messages and events are taken out. It works
// when connections are made and ended, so it may allocate.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libmrc/cm/connection.h"
#include "libmrc/cm/mad.h"
#include "libmrc/guard/random_source.h"
#include "libmrc/guard/source_budget.h"
#include "libmrc/wire/time.h"

namespace mrc::cm {

struct ManagerConfig {
  uint32_t slot = 1;  // of this process: the upper bits of its communication ids
  uint64_t guid = 0;
  uint64_t seed = 1;
  // Of communication ids and transactions, which nobody may guess. Outlives the manager; null: of the seed.
  RandomSource* random = nullptr;
  // An unanswered message is repeated after this, then after twice as long, and so on up to the maximum.
  Nanoseconds repeat_first = 100 * kMillisecond;  // by another plane each time
  Nanoseconds repeat_max = 4 * kSecond;
  unsigned tries_max = 15;
  unsigned disconnect_tries_max = 5;
  uint8_t mtu = 5;               // IBTA code
  uint8_t packet_lifetime = 16;  // 4.096 us * 2^n
  size_t connections_max = 1u << 16;
  // Requests of one source that are not yet connections: more are not heard, and come again.
  uint32_t pending_per_source_max = 1024;
  // What concerns no connection of ours is answered so often: every source, a second and at once.
  uint32_t answers_per_second = 256;
  uint32_t answers_at_once = 256;
};

struct ManagerCounters {
  uint64_t received = 0;
  uint64_t malformed = 0;   // no message of a connection manager
  uint64_t unexpected = 0;  // of no connection, or not in its state
  uint64_t mismatched = 0;  // of a connection, but not from its peer or not of its transaction
  uint64_t unheard = 0;     // of a source that asks for too much
  uint64_t sent = 0;
  uint64_t repeated = 0;
};

class Manager {
 public:
  static constexpr size_t kRequestDataMax = 92 - IpServiceHeader::kBytes;
  static constexpr size_t kServiceRequestDataMax = 216 - IpServiceHeader::kBytes;

  explicit Manager(const ManagerConfig& config);

  // --- the owner's requests; false: the state does not allow it ---

  struct Listener {
    ServiceId service{};
    BoundAddress address;
    bool datagrams = false;
    uint64_t owner = 0;
  };
  void listen(const Listener& listener) { listeners_.push_back(listener); }
  void stop_listening(uint64_t owner);

  struct Call {
    ServiceId service{};
    IpServiceHeader addresses;
    GidPair gids;
    EndPoint here;
    std::span<const uint8_t> private_data;
    uint64_t owner = 0;
  };
  // CommunicationId{0}: too many connections.
  CommunicationId connect(const Call& call, Nanoseconds now);
  CommunicationId request_service(const Call& call, Nanoseconds now);

  bool accept(CommunicationId id, uint64_t owner, const EndPoint& here, std::span<const uint8_t> private_data,
              Nanoseconds now);
  bool ready(CommunicationId id, std::span<const uint8_t> private_data);
  // Data have arrived although the message that says so has not (IBTA 12.9.7.2, communication established).
  bool established_by_data(CommunicationId id);
  bool reject(CommunicationId id, RejectReason reason, std::span<const uint8_t> private_data,
              Nanoseconds now);
  bool disconnect(CommunicationId id, std::span<const uint8_t> private_data, Nanoseconds now);
  // The owner has no interest any more: ends what there is, and tells the other side. Any state, any time.
  void release(CommunicationId id, Nanoseconds now);
  // The other side is known to be gone.
  void lost(CommunicationId id, Nanoseconds now);

  const Connection* find(CommunicationId id) const;
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [id, connection] : connections_) visit(connection);
  }

  // --- messages and time ---

  void receive(std::span<const uint8_t> mad, const GidPair& gids, Nanoseconds now);
  void on_time(Nanoseconds now);
  Nanoseconds next_deadline() const { return timers_.empty() ? kNever : timers_.begin()->first; }

  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

  const ManagerConfig& config() const { return config_; }
  const ManagerCounters& counters() const { return counters_; }

 private:
  using Gid = std::array<uint8_t, 16>;
  // Where it comes from, GUID (0: service requests have none) and communication id.
  using RemoteName = std::tuple<Gid, uint64_t, uint32_t>;
  using RemoteQueuePair = std::tuple<Gid, uint64_t, uint32_t>;  // GID, GUID and QPN

  Connection* look_up(CommunicationId id);
  // The connection that a message names by both ids, if it comes from the peer; with or without a transaction
  // that must be the connection's.
  Connection* look_up(CommunicationId id, CommunicationId remote, const GidPair& gids);
  Connection* look_up(CommunicationId id, CommunicationId remote, const GidPair& gids, uint64_t transaction);
  bool belongs(const Connection& connection, const GidPair& gids, uint64_t transaction);
  Connection* create();
  void erase(Connection& connection);
  const Listener* find_listener(ServiceId service, const IpAddress& address, bool datagrams) const;

  void on(const Request& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const Receipt& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const Rejection& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const Reply& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const Ready& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const DisconnectRequest& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const DisconnectReply& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const ServiceRequest& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  void on(const ServiceReply& message, const GidPair& gids, uint64_t transaction, Nanoseconds now);
  bool repeats_request(const Request& message, const GidPair& gids, uint64_t transaction);
  Connection* named_by(const Rejection& message, const GidPair& gids);
  Connection* connected_to(const Request& message, const GidPair& gids);
  bool doubts(Connection& connection, Nanoseconds now);
  bool takes_more_of(const GidPair& gids) const;
  void answer_reject(const Request& message, const GidPair& gids, uint64_t transaction, RejectReason reason,
                     Nanoseconds now);
  void answer_unsupported(const ServiceRequest& message, const GidPair& gids, uint64_t transaction,
                          Nanoseconds now);
  // To somebody with whom there is no connection.
  void answer_stranger(const GidPair& gids, CommunicationId asker, const Message& message, Nanoseconds now);

  void send(Connection& connection, const Body& body);
  void send_until_answered(Connection& connection, const Body& body, Nanoseconds now);
  void send_to(const GidPair& gids, const Target& target, const Mad& mad);
  void send_receipt(Connection& connection, Subject subject);
  void send_rejection(Connection& connection, Subject subject, RejectReason reason,
                      std::span<const uint8_t> private_data);
  Target target_of_peer(const Connection& connection) const;

  void set_state(Connection& connection, State state);
  void enter_state(const Connection& connection);
  void leave_state(const Connection& connection);
  static RemoteQueuePair peer_of(const Connection& connection) {
    return {connection.gids.remote.bytes, connection.guid_there, connection.there.qpn.value()};
  }
  void set_deadline(Connection& connection, Nanoseconds deadline);
  // `keep_answer`: what was sent last is sent again if it is asked for again.
  void enter_time_wait(Connection& connection, Nanoseconds now, bool keep_answer = false);
  void end(Connection& connection);  // kIdle, or erased if nobody owns it
  void repeat(Connection& connection, Nanoseconds now);
  void give_up(Connection& connection, Nanoseconds now);
  Event& tell(Connection& connection, Event::Kind kind);

  ManagerConfig config_;
  ManagerCounters counters_;
  std::vector<Listener> listeners_;
  std::unordered_map<uint32_t, Connection> connections_;  // by local communication id
  std::map<RemoteName, CommunicationId> by_remote_;       // of those who called us, to know repetitions
  std::set<std::pair<Nanoseconds, uint32_t>> timers_;
  std::map<Gid, uint32_t> pending_;  // requests that are not yet connections, by source
  std::map<RemoteQueuePair, CommunicationId> established_;  // to know queue pairs that ask again
  SeededRandom seeded_;
  RandomSource& random_;
  SourceBudget answers_;
  std::vector<Outgoing> outgoing_;
  std::vector<Event> events_;
  Event unheard_;  // where events go that nobody is told
};

}  // namespace mrc::cm
