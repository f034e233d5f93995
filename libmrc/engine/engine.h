// SPDX-License-Identifier: BSD-2-Clause
// One device: its queue pairs, memory, ports and timers. Sans-I/O: time and frames are given to it, and it
// never blocks, allocates or throws on the data path.
//
// Threads: everything here runs under one lock of the caller's ("the engine's lock"), except what is marked
// lock-free. Completion and work queues are shared with application threads as their headers say.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libmrc/engine/flow_table.h"
#include "libmrc/engine/frame_capture.h"
#include "libmrc/engine/multicast_groups.h"
#include "libmrc/engine/timer_wheel.h"
#include "libmrc/fault/fault_injector.h"
#include "libmrc/guard/random_source.h"
#include "libmrc/guard/source_budget.h"
#include "libmrc/memory/memory_table.h"
#include "libmrc/port/counters.h"
#include "libmrc/port/port.h"
#include "libmrc/port/transmitter.h"
#include "libmrc/qp/queue_pair.h"
#include "libmrc/wire/time.h"
#include "libmrc/work/completion_queue.h"
#include "libmrc/work/services.h"

namespace mrc {

struct EngineConfig {
  Qpn first_qpn{16};          // this engine's queue pairs are numbered from here...
  uint32_t qpn_count = 4096;  // ...so many; both given by whoever shares out the QPN space
  uint32_t index = 0;         // among the engines that may push into one completion queue
  uint64_t seed = 1;
  RandomSource* random = nullptr;  // of what nobody may guess; outlives the engine; null: of the seed
  TransportConfig transport;
  PathSource* path_source = nullptr;  // EV profiles or SRv6 templates; null = the built-in paths
  ProfileSource* profiles = nullptr;  // of a controller; null = there is none
  uint32_t trace_events = 0;          // kept of every queue pair, for StateReport
};

// What the engine tells its owner outside the data path. Called under the engine's lock.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // Completions were pushed; called at most once per completion queue and burst.
  virtual void completions(CompletionQueue& queue) = 0;
  virtual void completion_queue_overrun(CompletionQueue& queue) = 0;
  virtual void queue_pair_event(QueuePair& qp, QueuePairEvent event) = 0;
  virtual void shared_receive_limit(SharedReceiveQueue&) {}
  // Local ports got or lost their links: those that have one now.
  virtual void ports_changed(PlaneMask /*up*/) {}
  // The answer to an EV probe, with the round trip it took and the port it came by.
  virtual void ev_probe_answered(uint64_t /*cookie*/, Nanoseconds /*rtt*/, Plane) {}
  // MRC 4.7: a path changed its state, and the profile asks to be told. Of a path that several queue pairs
  // have it is said once, in the name of any of them.
  virtual void path_event(const QueuePair&, const PathEvent&) {}
};

// MRC 12.C4, 1.6: does this path lead to that host, and how long does it take there and back?
struct EvProbe {
  IpAddress source;
  IpAddress destination;
  EvEntry path;
  uint64_t cookie = 0;                 // comes back with the answer
  Qpn destination_qpn = kEndpointQpn;  // where ports lead to another process for each, one of its queue pairs
  std::optional<uint8_t> dscp;         // none: that of control packets
  std::optional<uint32_t> port_status;  // tells of our ports (bit N = plane N) instead of asking
};

class Engine final : private FrameTap {
 public:
  // One port per plane, in order of planes. Ports and sink outlive the engine.
  Engine(const EngineConfig& config, std::span<Port* const> ports, EventSink* sink);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  MemoryTable& memory() { return memory_; }
  // Datagram queue pairs in it get what is sent to their groups.
  MulticastGroups& groups() { return groups_; }
  // Flows to queue pairs of raw packets, of this engine or of another one of the same device. They are gone
  // before their queue pair is, and before its engine.
  void add_flow(const Flow& flow);
  void remove_flow(uint64_t id);
  // What goes wrong on purpose from now on; null: nothing. Rules that were there before go on where they
  // were.
  void set_faults(std::unique_ptr<FaultInjector> faults, Nanoseconds clock);
  // Who sees all frames; null: nobody. It outlives the engine, or is taken away before.
  void set_capture(FrameCapture* capture);
  bool has_sniffers() const { return !flows_.sniffers().empty(); }
  // A frame of another process of this device, for the sniffers. No ICRC in it: it is filled in.
  void sniff(std::span<const uint8_t> frame, bool intact);
  const Counters& counters() const { return counters_; }
  size_t plane_count() const { return transmitter_.plane_count(); }

  // nullptr: no number is free, or there is a general service already. The completion queues outlive the
  // queue pair.
  QueuePair* create(const QueuePairConfig& config);
  // The same in steps: queues are large, and nobody waits while they are allocated or freed. A number, under
  // the lock; the queue pair, under none, may throw bad_alloc; and its place, under the lock. To keep the
  // number without a queue pair is to waste it: who has none gives null.
  struct Birth {
    uint32_t slot;
    Qpn qpn;
    uint64_t seed;
  };
  std::optional<Birth> begin_create(const QueuePairConfig& config);
  std::unique_ptr<QueuePair> make(const Birth& birth, const QueuePairConfig& config) const;
  QueuePair* end_create(const Birth& birth, std::unique_ptr<QueuePair> qp);
  // To be freed under no lock. What it has left in its completion queues stays there.
  std::unique_ptr<QueuePair> take_out(QueuePair* qp);
  // And nobody polls meanwhile: all that it has left.
  void destroy(QueuePair* qp);
  // A completion queue that several engines push into is being destroyed; no queue pair has it any more.
  void forget(CompletionQueue& queue) { completions_.forget(&queue); }
  // Sends the answers that were put off to the next burst, for those who leave now. Nothing is received.
  void answer_all(Nanoseconds clock);
  QueuePair* find(Qpn qpn);
  // False: the transition is not allowed or an attribute it needs is missing or out of range; nothing was
  // changed.
  bool modify(QueuePair& qp, const QueuePairAttributes& attributes, Nanoseconds clock);

  // Lock-free, any thread: there is new work in the queue pair's queues.
  void ring_doorbell(QueuePair& qp);
  bool doorbell_pending(std::memory_order order = std::memory_order_relaxed) const {
    return doorbells_.load(order) != nullptr;
  }
  // The same for one who has the lock, and has the engine run next.
  void take_posted(QueuePair& qp) {
    schedule(qp);
    posted_ = true;
  }

  // Sends one EV probe; no queue pair is needed. False: the port is down or has no buffer, or the next hop is
  // not known. The answer comes by EventSink::ev_probe_answered; one that was lost never does. An SRv6 route
  // from this host to itself leads through the fabric and back, and the probe is its own answer.
  bool send_ev_probe(const EvProbe& probe, Nanoseconds clock);

  // The profiles have been read again: queue pairs take what concerns them.
  void follow_profiles(Nanoseconds clock);
  // Ports that the operator wants to be used; the others count as down. All at first.
  void set_ports_enabled(PlaneMask enabled);

  // One burst of receive, timers and transmit. Returns how many frames it received or sent: 0 = idle. A clock
  // that is behind an earlier call's stands still until it has caught up.
  size_t progress(Nanoseconds clock);
  // Only sends what was posted, for a caller who has called progress() just before and soon will again.
  size_t send_posted(Nanoseconds clock);
  // When progress() must be called at the latest although nothing arrives.
  Nanoseconds next_deadline() const;
  // Queue pairs that can receive or send (RTR or beyond, not in error).
  uint32_t connected() const { return connected_; }
  // Its queue pairs by place, in order of their numbers; null: there is none.
  uint32_t places() const { return static_cast<uint32_t>(queue_pairs_.size()); }
  QueuePair* at(uint32_t place) { return queue_pairs_[place].get(); }
  size_t queue_pairs() const { return alive_.size(); }
  // To the peers of connected queue pairs; those that several share count once.
  const PathTotals& paths() const { return path_totals_; }

 private:
  size_t receive(Nanoseconds now);
  size_t receive_closely(Nanoseconds now);
  void release_held(Nanoseconds now);
  void look_closely();
  void give_turn(QueuePair& qp, Nanoseconds now);
  void dispatch(Plane plane, const RxFrame& frame, Nanoseconds now);
  void note_heard(size_t lane, std::span<const RxFrame> frames, Nanoseconds now);
  void deliver(QueuePair& qp, const Packet& packet, Plane plane, Nanoseconds now);
  void on_multicast(const Packet& packet, Plane plane, Nanoseconds now);
  bool steer(std::span<const uint8_t> frame);
  void show(Plane plane, bool leaves, std::span<const uint8_t> frame, bool intact);
  void watch_arriving(Plane plane, const RxFrame& frame);
  void frames_leave(Carrier& carrier, std::span<const TxFrame> frames, bool intact) override;
  void hand_over(const Flow& flow, std::span<const uint8_t> frame);
  void on_endpoint(const Packet& packet, Plane plane, Nanoseconds now);
  void take_endpoint_answer(const Packet& packet, Plane plane, Nanoseconds now);
  static bool is_of_this_host(const Packet& request);
  void take_own_probe(const Packet& packet, Plane plane, Nanoseconds now);
  bool comes_back(const EvProbe& probe) const;
  void answer_endpoint(const Packet& request, Plane plane, Nanoseconds now);
  void tell_capabilities(const Packet& request, Eeth* answer);
  bool answers(const Packet& request, Plane plane);
  bool is_of_peer(const Packet& request);
  std::optional<EvEntry> path_back(const Packet& request, Plane plane) const;
  bool take_port_update(const Packet& request, Nanoseconds now);
  static bool is_old_news(const Peer& peer, const Tseth& time, Nanoseconds now);
  template <typename Header>
  bool send_endpoint(const NetworkHeader& network, Plane plane, Entropy entropy, const Bth& bth,
                     const Header& header);
  Nanoseconds advance(Nanoseconds now);
  void excuse_pause(Nanoseconds now);
  void check_ports(Nanoseconds now);
  void begin_announcing(Nanoseconds now);
  void announce_ports(Nanoseconds now);
  bool announce_to(Peer& peer, Nanoseconds now);
  static constexpr uint8_t kNewsOfPorts = 1 << 0;
  static constexpr uint8_t kNewsOfProfiles = 1 << 1;
  static constexpr uint8_t kNewsOfOrder = 1 << 2;  // what arrives is not held back any longer
  void tell_all(uint8_t news, Nanoseconds now);
  void tell_more(Nanoseconds now);
  bool tell_next(Nanoseconds now);
  bool tell_next_member(Nanoseconds now);
  void tell(QueuePair& qp, Nanoseconds now);
  void take_doorbells();
  void serve_posted(Nanoseconds now);
  void run_timers(Nanoseconds now);
  void transmit(Nanoseconds now);
  bool goes_by_wire(const QueuePair& qp) const;
  void schedule(QueuePair& qp);
  void let_answer(Nanoseconds now);
  void fetch_next() const;
  void after_work(QueuePair& qp,
                  Nanoseconds now);  // re-arms timers, wakes whom it let go on, collects events
  void wake_waiting(Peer& peer, Nanoseconds now);
  void look_at_window(Peer& peer);
  void count(QueuePair& qp, bool connected);
  void report();
  // The general service's queue pair has the slot behind all others.
  uint32_t slot_of(Qpn qpn) const {
    if (qpn == kGeneralServiceQpn) return config_.qpn_count;
    return (qpn.value() - config_.first_qpn.value()) & Qpn::kMask;
  }
  uint32_t slot_of(const QueuePair& qp) const { return slot_of(qp.qpn()); }
  Birth claim(uint32_t slot, Qpn qpn);

  EngineConfig config_;
  SeededRandom seeded_;
  RandomSource& secrets_;
  SourceBudget strangers_;  // what they are answered
  MemoryTable memory_;
  MulticastGroups groups_;
  FlowTable flows_;
  std::unique_ptr<FaultInjector> faults_;  // while there are rules
  FrameCapture* capture_ = nullptr;
  bool looks_closely_ = false;    // at frames: somebody wants to see them, or there are faults
  std::vector<uint8_t> sniffed_;  // a copy with an ICRC; made with the first sniffer
  Counters counters_;
  Transmitter transmitter_;
  CompletionSink completions_;
  PeerTable peers_;
  FrameTable frames_;
  EndpointRequests endpoint_requests_;
  ReceiverShare receiver_share_;
  Services services_;
  TimerWheel timers_;
  EventSink* sink_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;  // by slot_of
  std::vector<bool> taken_;                              // slots; some of them by queue pairs to come
  // All of them; those that have not heard the newest news come first.
  LinkedList<QueuePair> alive_;
  PathTotals path_totals_;
  uint32_t next_slot_ = 0;
  uint32_t connected_ = 0;
  uint64_t random_;
  bool moves_ = false;    // the last look at the ports found something
  bool posted_ = false;   // somebody came in line with the lock in hand, see take_posted()
  uint64_t burst_ = 0;    // calls of progress() and send_posted()
  Nanoseconds time_ = 0;  // never goes back
  Nanoseconds last_turn_ = 0;
  uint32_t receiving_ = 0;  // queue pairs that something came for in this round, of a millisecond
  uint32_t receive_round_ = 1;
  Nanoseconds receive_round_at_ = 0;
  Packet packet_;  // the one being dispatched; kept because it is large and only partly written each time
  std::array<RxFrame, kBurst> received_;  // the burst being dispatched; kept as well: most turns find none
  void tell_path_news(QueuePair& qp, Nanoseconds now);
  void tell_path_events(const QueuePair& qp, PathSet& paths);
  uint32_t timer_of(const PeerPaths& paths) const;
  void set_timer(const PeerPaths& paths);
  static QueuePair* asker_of(PeerPaths& paths);
  void ask_about_paths(PeerPaths& paths, Nanoseconds now);
  PlaneMask ports_enabled_ = ~PlaneMask{0};
  Nanoseconds ports_checked_ = 0;
  Nanoseconds announce_at_ = kNever;
  uint8_t news_ = 0;              // what queue pairs are being told
  uint32_t news_number_ = 0;      // changes with all that is added to it
  Nanoseconds tell_at_ = kNever;  // the next of them
  uint32_t announcement_ = 0;     // changes of our ports so far
  // A look at all peers that do not know of it yet, some in a turn.
  struct Announcing {
    uint32_t pass = 0;
    bool under_way = false;
    Nanoseconds began_at = 0;
    bool pending = false;  // somebody may still answer...
    bool missed = false;   // ...or will not
    bool anew = false;     // the next one begins with everybody
  } announcing_;
  LinkedList<QueuePair> line_;  // those with something to send, in turn
  // Those that something has come for since the last turn, and that do not stand in line.
  LinkedList<QueuePair> answering_;

  alignas(64) std::atomic<QueuePair*> doorbells_{nullptr};  // written by application threads
};

}  // namespace mrc
