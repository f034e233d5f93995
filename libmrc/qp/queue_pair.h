// SPDX-License-Identifier: BSD-2-Clause
// A queue pair: its state machine, its two work queues, and the transport that works on them. queue_pair.cc
// is the state machine, queue_pair_traffic.cc the data path.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "libmrc/containers/linked_list.h"
#include "libmrc/path/path_set.h"
#include "libmrc/path/path_turns.h"
#include "libmrc/path/retransmit_cause.h"
#include "libmrc/peer/connection.h"
#include "libmrc/qp/any_transport.h"
#include "libmrc/wire/cache_line.h"
#include "libmrc/wire/packet.h"
#include "libmrc/wire/time.h"
#include "libmrc/work/completion_queue.h"
#include "libmrc/work/services.h"
#include "libmrc/work/terms.h"
#include "libmrc/work/work_queue.h"
#include "libmrc/work/xrc_domain.h"

namespace mrc {

enum class QueuePairState : uint8_t { kReset, kInit, kReadyToReceive, kReadyToSend, kDraining, kError };

enum class QueuePairType : uint8_t { kReliable, kDatagram, kRaw };

// IBTA 3.9.3: datagrams of connection managers go to this queue pair, with this Q_Key.
inline constexpr Qpn kGeneralServiceQpn{1};
inline constexpr uint32_t kGeneralServiceKey = 0x80010000;

struct QueuePairConfig {
  QueuePairType type = QueuePairType::kReliable;
  bool lossy = false;            // kReliable: what cannot be taken is lost without a word, as in IBTA's UC
  bool general_service = false;  // kDatagram as QPN 1, of which an engine has one
  std::optional<Transport> transport;  // kReliable: what it speaks; none: as the device
  ProtectionDomain domain{};
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
  SharedReceiveQueue* shared_receives = nullptr;  // instead of a receive queue of its own
  bool xrc = false;                               // kReliable: one half of IBTA A14
  const XrcDomain* served = nullptr;              // xrc: of the half that is sent to
  uint32_t send_entries = 1;
  uint32_t receive_entries = 0;
  uint32_t send_segments_max = 1;
  uint32_t receive_segments_max = 1;
  uint32_t inline_bytes_max = 0;
  bool signal_all = false;
  // OCP's hint num_remote_recv_peers: how many send to the peer at once. None: as the device.
  std::optional<uint32_t> expected_senders;
  void* owner = nullptr;  // the caller's object for this queue pair; handed back in events
};

// What modify() sets: only what has a value is changed.
struct QueuePairAttributes {
  std::optional<QueuePairState> state;
  std::optional<Transport> transport;    // not after RTR
  std::optional<uint32_t> queue_key;     // datagrams only, and there needed for INIT (but for QPN 1)
  std::optional<uint8_t> remote_access;  // AccessRight bits that the peer gets
  std::optional<IpAddress> source;
  std::optional<IpAddress> destination;
  std::optional<Qpn> destination_qpn;
  std::optional<uint8_t> dscp;  // class of its data; 0 or one that MRC needs itself = the device's
  std::optional<uint32_t> mtu;  // 256, 512, 1024, 2048, 4096; of datagrams 4096 if it is not given
  std::optional<Psn> receive_psn;
  std::optional<Psn> send_psn;
  std::optional<Nanoseconds> timeout;  // 0 = never
  std::optional<uint8_t> retry_linear;
  std::optional<uint8_t> retry_exponential;  // 25 = for ever
  std::optional<uint8_t> rnr_retry;          // 7 = for ever
  std::optional<uint8_t> rnr_timer;          // IBTA code, 0..31
  std::optional<uint8_t> reads_max;          // max_rd_atomic
  std::optional<uint8_t> answers_max;        // max_dest_rd_atomic
  std::optional<uint32_t> mpr;  // MRC 2, dynamic MPR: packets the peer may have beyond the cumulative PSN
  std::optional<uint32_t> send_mpr;        // the same of ours, as long as the peer does not say
  std::optional<bool> dynamic_mpr;         // not after RTR; none: as the device
  std::optional<uint16_t> immediates_max;  // max_wimm
  // max_wimm_dest and how it sprays: until it is connected.
  std::optional<uint16_t> immediates_taken;
  std::optional<uint32_t> paths_per_plane;
  std::optional<uint32_t> paths_min_active;
  std::optional<uint64_t> path_profile;  // of ProfileSource; not after RTR, and the next two
  std::optional<uint64_t> congestion_profile;
  std::optional<uint32_t> expected_senders;  // instead of the QueuePairConfig's
};

// Told to the owner through EventSink.
enum class QueuePairEvent : uint8_t {
  kFatal,        // local catastrophe, such as a completion queue that overran
  kAccessError,  // the peer's request broke a rule and the queue pair is in error
  kRequestError,
  kConnected,           // first packet received in RTR
  kDrained,             // in SQD, and nothing is under way any more
  kLastReceiveReached,  // in error with a shared receive queue: it takes no more from it
};

class QueuePair {
 public:
  QueuePair(const QueuePairConfig& config, Qpn qpn, uint64_t seed);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // --- any thread ---
  Qpn qpn() const { return qpn_; }
  QueuePairState state() const { return state_.load(std::memory_order_acquire); }
  SendQueue& send_queue() { return send_queue_; }
  ReceiveQueue& receive_queue() { return receive_queue_; }
  const QueuePairConfig& config() const { return config_; }
  Transport transport() const { return terms_.transport; }  // of reliable connections

  // --- under the engine's lock ---
  uint32_t queue_key() const { return terms_.queue_key; }
  const Connection& connection() const { return connection_; }
  // Of the peer, or of a plain RC connection; none as long as it is not connected.
  const PathSet& paths() const { return *paths_; }
  // Its transport, if that is MRC and it is connected, or was.
  const MrcTransport* mrc() const { return transport_.as<MrcTransport>(); }
  // What happened lately, if somebody wanted to know: enable() with a number of events.
  EventTrace& trace() { return trace_; }

  // The first PSN of ours that the peer has not acknowledged: moves as the connection does.
  Psn oldest_unacknowledged() const {
    return transport_.call([](const auto& transport) { return transport.oldest_unacknowledged(); });
  }

  // How often it has sent packets again, by cause; since it was connected.
  RetransmitCounts retransmits() const {
    if (const MrcTransport* mrc_transport = mrc()) return mrc_transport->requester().retransmits();
    const auto* rc = transport_.as<RcTransport>();
    return rc != nullptr ? rc->retransmits() : RetransmitCounts{};
  }

  // The same as state(): whoever has the lock need not wait for what others have written before it changed.
  QueuePairState state_under_lock() const { return state_.load(std::memory_order_relaxed); }
  // RTR or beyond, not in error.
  static constexpr bool is_connected(QueuePairState state) {
    return state == QueuePairState::kReadyToReceive || state == QueuePairState::kReadyToSend ||
           state == QueuePairState::kDraining;
  }
  bool connected() const { return is_connected(state_under_lock()); }
  // In SQD, and something that was started is still under way.
  bool draining() const { return state_under_lock() == QueuePairState::kDraining && !drain_reported_; }
  bool sending() const {
    return transport_.call([](const auto& transport) { return transport.sending(); });
  }
  // Of datagrams: something that is complete has not left yet.
  bool holds_datagrams() const {
    const auto* datagrams = transport_.as<Datagram>();
    return connected() && datagrams != nullptr && datagrams->holds();
  }
  bool scheduled() const { return in_line_.listed(); }  // the engine will ask it to transmit
  // It was the first of those that wait for the peer's window, which is open now.
  void give_turn() {
    if (MrcTransport* to = own_mrc()) to->give_turn();
  }
  bool modify(const QueuePairAttributes& attributes, Services& services, Nanoseconds now);
  void receive(const Packet& packet, Plane plane, Services& services, Nanoseconds now);
  // kRaw: a frame that is steered here. Of all engines of the device, each under its own lock and with its
  // own services. False: its own engine has to look at it, so somebody must ring its doorbell.
  bool take_frame(std::span<const uint8_t> frame, Services& services, Nanoseconds now);

  // Sends up to `budget` packets and then the answers that are due. `fresh_answers`: what asks for them
  // arrived in this very burst, so they may wait for the next one.
  More transmit(size_t budget, bool fresh_answers, Services& services, Nanoseconds now);
  // Into the cache, in two steps, for a turn that comes soon: itself; then what it leads to.
  [[gnu::always_inline]] void fetch() const {
    for (size_t at = 0; at < sizeof *this; at += kCacheLine)
      __builtin_prefetch(reinterpret_cast<const char*>(this) + at);
  }
  [[gnu::always_inline]] void fetch_parts() const {
    if (mrc() == nullptr) return;
    turns_.fetch_next(*paths_);
    mrc()->fetch_next();
  }
  // Only what the peer waits for, out of turn. `fresh`: as above.
  More answer(bool fresh, Services& services, Nanoseconds now);
  void on_timer(Services& services, Nanoseconds now);
  // The answer to an endpoint request of ours.
  void on_endpoint_response(const Packet& packet, Nanoseconds now) {
    if (MrcTransport* to = own_mrc()) to->on_endpoint_response(packet, now);
  }
  // MRC 4.6: a local port lost or got its link; the peer said which of its ports are usable.
  void follow_ports(Services& services, Nanoseconds now);
  void follow_remote_ports(Nanoseconds now) {
    if (MrcTransport* to = own_mrc()) to->follow_remote_ports(now);
  }
  bool has_heard_of_remote_ports() const { return mrc() == nullptr || mrc()->has_heard_of_remote_ports(); }
  // Tells the peer which of our ports are usable; the engine hears the answer.
  void announce_ports(PlaneMask usable, uint32_t announcement, Services& services, Nanoseconds now);
  // The profile of its paths may have changed.
  void follow_profile(Services& services, Nanoseconds now) {
    if (MrcTransport* to = own_mrc(); to != nullptr && connected()) to->follow_profile(services, now);
  }
  uint64_t path_profile() const { return terms_.path_profile; }
  // What it shares with others who are connected to the same peer; null: nothing.
  PeerPaths* peer_paths() const { return mrc() != nullptr ? mrc()->peer_paths() : nullptr; }
  // Asks about those of the paths that are due, for all who share them; and whether that makes sense.
  void ask_about_paths(Services& services, Nanoseconds now);
  bool hears() const { return mrc() != nullptr && mrc()->hears(); }
  // Gives back what it holds of the device; the last call before it is destroyed.
  void disconnect(Services& services);
  Peer* peer() const { return mrc() != nullptr ? mrc()->peer() : nullptr; }
  Nanoseconds next_deadline();
  // Of datagrams: that plane leads to where they go.
  void on_plane_answer(const IpAddress& from, Qpn qpn, Plane plane) {
    if (auto* datagrams = transport_.as<Datagram>()) datagrams->on_plane_answer(from, qpn, plane);
  }

  // Bits 1 << QueuePairEvent that happened since the last call.
  uint32_t take_events();

 private:
  friend class Engine;

  // Packets that it may send before it is the next one's turn.
  static constexpr uint16_t kTurnPackets = 32;

  MrcTransport* own_mrc() { return transport_.as<MrcTransport>(); }

  Context context(Services& services, Nanoseconds now);
  bool acceptable(const QueuePairAttributes& attributes) const;
  void take_attributes(const QueuePairAttributes& attributes, const TransportConfig& config);
  void connect(Psn first, Services& services, Nanoseconds now);
  uint32_t copied_segments() const;
  void answer_before_leaving(Services& services, Nanoseconds now);
  void return_to_reset(Services& services);
  void enter_error(Services& services, CompletionStatus first, Nanoseconds now);
  void flush_receives(Services& services, CompletionStatus first);
  void note(QueuePairEvent event) { events_ |= 1u << static_cast<unsigned>(event); }
  // After work: whether the connection is over.
  void settle(Services& services, Nanoseconds now) {
    if (MrcTransport* to = own_mrc(); to != nullptr && !to->is_over()) [[likely]]
      return;
    settle_end(services, now);
  }
  void settle_end(Services& services, Nanoseconds now);
  // Whether packets are taken as they come: admit() and take_named_queue() have nothing to say about them.
  bool takes_all() const {
    return (state_under_lock() == QueuePairState::kReadyToSend || (established_ && connected())) &&
           !connection_.xrc;
  }
  bool take_named_queue(Context& cx, const Packet& packet);
  template <typename TheTransport>
  bool admit(Context& cx, Arrival arrival, TheTransport& transport);
  void report_drained(Context& cx);
  void hear_of_pauses(const Services& services);

  QueuePairConfig config_;
  Qpn qpn_;
  std::atomic<QueuePairState> state_{QueuePairState::kReset};
  uint32_t events_ = 0;
  SendQueue send_queue_;
  ReceiveQueue receive_queue_;
  Connection connection_;
  PathSet* paths_ = &PathSet::none();  // its transport says which
  PathTurns turns_;
  Terms terms_;
  AnyTransport transport_;  // of a reliable connection it is chosen in RTR
  EventTrace trace_;
  bool established_ = false;
  bool drain_reported_ = false;
  Plane last_plane_ = 0;  // where the last packet came from
  uint64_t pauses_heard_of_ = 0;

  // The engine's links.
  LinkedList<QueuePair>::Node alive_{this};    // among all of them
  uint32_t news_heard_ = 0;                    // the number of the last news that it was told
  LinkedList<QueuePair>::Node in_line_{this};  // for a turn to send
  uint16_t turn_left_ = kTurnPackets;          // what it may still send in its turn
  bool put_off_ = false;                       // it had its turn, and there was no room at all
  bool counted_ = false;                       // among the engine's connected ones
  uint32_t receive_round_ = 0;   // the engine's, in which it was counted among those that receive
  uint64_t received_burst_ = 0;  // the burst in which something last arrived
  std::atomic<bool> doorbell_{false};
  QueuePair* next_doorbell_ = nullptr;
};

// Here, for every packet that arrives has one.
inline Context QueuePair::context(Services& services, Nanoseconds now) {
  return {connection_,
          *paths_,
          turns_,
          send_queue_,
          receive_queue_,
          config_.shared_receives,
          config_.send_completions,
          config_.receive_completions,
          peer() != nullptr ? peer()->index : 0,
          config_.signal_all,
          state_under_lock() == QueuePairState::kReadyToSend,
          services,
          trace_,
          now};
}

}  // namespace mrc
