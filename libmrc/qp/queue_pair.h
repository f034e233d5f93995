// SPDX-License-Identifier: BSD-2-Clause
// A reliable connection: its state machine, its two work queues, and the requester and responder that work on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "libmrc/path/path_set.h"
#include "libmrc/qp/completion_queue.h"
#include "libmrc/qp/connection.h"
#include "libmrc/qp/requester.h"
#include "libmrc/qp/responder.h"
#include "libmrc/qp/services.h"
#include "libmrc/qp/work_queue.h"
#include "libmrc/wire/packet.h"
#include "libmrc/wire/time.h"

namespace mrc {

enum class QueuePairState : uint8_t { kReset, kInit, kReadyToReceive, kReadyToSend, kDraining, kError };

struct QueuePairConfig {
  ProtectionDomain domain{};
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
  uint32_t send_entries = 1;
  uint32_t receive_entries = 0;
  uint32_t send_segments_max = 1;
  uint32_t receive_segments_max = 1;
  uint32_t inline_bytes_max = 0;
  bool signal_all = false;
  void* owner = nullptr;  // the caller's object for this queue pair; handed back in events
};

// What modify() sets: only what has a value is changed.
struct QueuePairAttributes {
  std::optional<QueuePairState> state;
  std::optional<uint8_t> remote_access;  // AccessRight bits that the peer gets
  std::optional<IpAddress> source;
  std::optional<IpAddress> destination;
  std::optional<Qpn> destination_qpn;
  std::optional<uint32_t> mtu;  // 256, 512, 1024, 2048, 4096
  std::optional<Psn> receive_psn;
  std::optional<Psn> send_psn;
  std::optional<Nanoseconds> timeout;  // 0 = never
  std::optional<uint8_t> retry_linear;
  std::optional<uint8_t> retry_exponential;  // 25 = for ever
};

// Told to the owner through EventSink.
enum class QueuePairEvent : uint8_t {
  kFatal,        // local catastrophe, such as a completion queue that overran
  kAccessError,  // the peer's request broke a rule and the queue pair is in error
  kRequestError,
  kConnected,  // first packet received in RTR
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

  // --- under the device's lock ---
  const Connection& connection() const { return connection_; }
  const PathSet& paths() const { return paths_; }
  const Requester& requester() const { return requester_; }
  const Responder& responder() const { return responder_; }

  bool modify(const QueuePairAttributes& attributes, Services& services, Nanoseconds now);
  void receive(const Packet& packet, Plane plane, Services& services, Nanoseconds now);
  // Sends what may be sent, up to `budget` packets; true while there is more that could go now.
  bool transmit(size_t budget, Services& services, Nanoseconds now);
  void on_timer(Services& services, Nanoseconds now);
  Nanoseconds next_deadline() const;
  bool wants_to_send() const;
  // Resolves next hops that are still unknown; cheap when all are known.
  void resolve_next_hops(Services& services);

  // Bits 1 << QueuePairEvent that happened since the last call.
  uint32_t take_events();

 private:
  friend class Engine;

  void enter_error(Services& services);
  void flush_queues(Services& services);

  QueuePairConfig config_;
  Qpn qpn_;
  std::atomic<QueuePairState> state_{QueuePairState::kReset};
  uint32_t events_ = 0;
  SendQueue send_queue_;
  ReceiveQueue receive_queue_;
  Connection connection_;
  PathSet paths_;
  Requester requester_;
  Responder responder_;

  // The engine's links.
  QueuePair* next_active_ = nullptr;
  bool active_ = false;
  Nanoseconds armed_ = kNever;
  std::atomic<bool> doorbell_{false};
  QueuePair* next_doorbell_ = nullptr;
};

}  // namespace mrc
