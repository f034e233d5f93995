// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/engine/engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>

namespace mrc {

namespace {
// Queue pairs in a row that find no room in the ports.
constexpr uint32_t kBlockedMax = 16;
constexpr uint32_t kBlockedWhileMoving = 2;
// On a wire turns get shorter when so many others wait, down to so many packets.
constexpr size_t kManyOnWire = 4;
constexpr size_t kTurnOnWireMin = 2;
// Peers that the receiver-aware controller can tell apart.
constexpr uint32_t kPeersMax = 16384;
// To a host that no queue pair is connected to.
constexpr uint32_t kAnswersPerSecond = 10000;
constexpr uint32_t kAnswersAtOnce = 4096;
// A turn that comes so much later than it was wanted: this host had no CPU, or was stopped.
constexpr Nanoseconds kPauseMin = 2 * kMillisecond;

// MRC 2, dynamic MPR: how often those that receive are counted anew.
constexpr Nanoseconds kReceiveRound = kMillisecond;
}  // namespace

Engine::Engine(const EngineConfig& config, std::span<Port* const> ports, EventSink* sink)
    : config_(config),
      seeded_(config.seed),
      secrets_(config.random != nullptr ? *config.random : seeded_),
      strangers_(secrets_, kAnswersPerSecond, kAnswersAtOnce),
      memory_(secrets_),
      transmitter_(ports),
      completions_(config.index),
      endpoint_requests_(static_cast<uint16_t>(config.seed >> 8), config.qpn_count),
      services_{memory_,
                counters_,
                transmitter_,
                completions_,
                peers_,
                frames_,
                endpoint_requests_,
                receiver_share_,
                config_.transport,
                config.path_source,
                config.profiles,
                transmitter_.all_planes(),
                {}},
      timers_(config.qpn_count + 1),
      sink_(sink),
      queue_pairs_(config.qpn_count + 1),
      taken_(config.qpn_count + 1),
      next_slot_(static_cast<uint32_t>(config.seed % config.qpn_count)),
      random_(config.seed) {
  const TransportConfig& transport = config_.transport;
  if (transport.counts_senders())
    receiver_share_.reset({transport.link_rate_bps, transport.nscc.base_rtt, transport.nscc.target_delay,
                           static_cast<uint32_t>(nominal_size(kMtuMax)), kPeersMax});
}

Engine::~Engine() {
  transmitter_.set_tap(nullptr);  // which is what is left of this
}

// ------------------------------------------------------------------------------------------- control

QueuePair* Engine::create(const QueuePairConfig& config) {
  const std::optional<Birth> birth = begin_create(config);
  if (!birth) return nullptr;
  std::unique_ptr<QueuePair> qp;
  try {
    qp = make(*birth, config);
  } catch (const std::bad_alloc&) {
    end_create(*birth, nullptr);
    throw;  // Not by a packet: who creates a queue pair.
  }
  return end_create(*birth, std::move(qp));
}

std::optional<Engine::Birth> Engine::begin_create(const QueuePairConfig& config) {
  if (config.general_service) {
    const uint32_t slot = slot_of(kGeneralServiceQpn);
    return taken_[slot] ? std::nullopt : std::optional(claim(slot, kGeneralServiceQpn));
  }
  for (uint32_t tried = 0; tried < config_.qpn_count; ++tried) {
    const uint32_t slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % config_.qpn_count;
    const Qpn qpn{config_.first_qpn.value() + slot};
    if (!taken_[slot] && qpn != kMulticastQpn) return claim(slot, qpn);
  }
  return std::nullopt;
}

Engine::Birth Engine::claim(uint32_t slot, Qpn qpn) {
  taken_[slot] = true;
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return {slot, qpn, random_ >> 16};
}

std::unique_ptr<QueuePair> Engine::make(const Birth& birth, const QueuePairConfig& config) const {
  QueuePairConfig complete = config;
  if (!complete.transport) complete.transport = config_.transport.default_transport();
  auto qp = std::make_unique<QueuePair>(complete, birth.qpn, birth.seed);
  if (config_.trace_events > 0) qp->trace().enable(config_.trace_events);
  return qp;
}

QueuePair* Engine::end_create(const Birth& birth, std::unique_ptr<QueuePair> born) {
  taken_[birth.slot] = born != nullptr;
  if (born == nullptr) return nullptr;
  QueuePair* const qp = born.get();
  queue_pairs_[birth.slot] = std::move(born);
  qp->news_heard_ = news_number_;  // what it is connected with later is not older
  alive_.push_back(qp->alive_);
  return qp;
}

std::unique_ptr<QueuePair> Engine::take_out(QueuePair* qp) {
  take_doorbells();
  line_.push_front(answering_);
  line_.remove(qp->in_line_);
  timers_.cancel(slot_of(*qp));
  if (qp->counted_) count(*qp, false);
  Peer* const peer = qp->peer();
  const bool others = peer != nullptr && peer->users > 1;
  qp->disconnect(services_);
  if (others) look_at_window(*peer);
  if (faults_ != nullptr) faults_->forget(qp->qpn());
  groups_.detach_all(qp);
  alive_.remove(qp->alive_);
  taken_[slot_of(*qp)] = false;
  return std::move(queue_pairs_[slot_of(*qp)]);
}

void Engine::destroy(QueuePair* qp) {
  const std::unique_ptr<QueuePair> gone = take_out(qp);
  for (CompletionQueue* queue : {gone->config().send_completions, gone->config().receive_completions}) {
    queue->begin_removal(gone->qpn());
    while (queue->remove_some()) {
    }
  }
}

void Engine::answer_all(Nanoseconds clock) {
  const Nanoseconds now = advance(clock);
  const uint64_t sent_before = transmitter_.frames_sent();
  alive_.for_each([&](QueuePair& qp) { qp.answer_before_leaving(services_, now); });
  transmitter_.flush_all();
  counters_.frames_sent += transmitter_.frames_sent() - sent_before;
}

QueuePair* Engine::find(Qpn qpn) {
  const uint32_t slot = slot_of(qpn);
  return slot < queue_pairs_.size() && (slot < config_.qpn_count || qpn == kGeneralServiceQpn)
             ? queue_pairs_[slot].get()
             : nullptr;
}

bool Engine::modify(QueuePair& qp, const QueuePairAttributes& attributes, Nanoseconds clock) {
  const Nanoseconds now = advance(clock);
  const uint64_t sent_before = transmitter_.frames_sent();
  Peer* const peer = qp.peer();
  const bool others = peer != nullptr && peer->users > 1;
  if (attributes.state == QueuePairState::kReadyToReceive)  // it may bring a timer with it
    timers_.make_room(static_cast<uint32_t>(queue_pairs_.size()) + peers_.paths_count() + 1);
  if (attributes.state == QueuePairState::kReset && qp.counted_) count(qp, false);  // while it has its paths
  const bool done = qp.modify(attributes, services_, now);
  transmitter_.flush_all();  // its last answers: when nothing is connected nobody may come to send them
  counters_.frames_sent += transmitter_.frames_sent() - sent_before;
  if (faults_ != nullptr && qp.state() == QueuePairState::kReset) faults_->forget(qp.qpn());
  schedule(qp);  // a send queue filled before RTS, or one that is to be flushed
  after_work(qp, now);
  if (others && qp.peer() == nullptr) look_at_window(*peer);
  report();
  return done;
}

// A queue pair that goes may open the window for those who waited with it.
void Engine::look_at_window(Peer& peer) {
  if (!peer.waiting.empty()) schedule(peer.waiting.front());
}

void Engine::count(QueuePair& qp, bool connected) {
  qp.counted_ = connected;
  connected ? ++connected_ : --connected_;
  connected ? qp.paths_->enter(path_totals_) : qp.paths_->leave();
}

// ----------------------------------------------------------------------------------------- scheduling

void Engine::ring_doorbell(QueuePair& qp) {
  if (qp.doorbell_.exchange(true, std::memory_order_acq_rel)) return;
  QueuePair* head = doorbells_.load(std::memory_order_relaxed);
  do {
    qp.next_doorbell_ = head;
  } while (
      !doorbells_.compare_exchange_weak(head, &qp, std::memory_order_release, std::memory_order_relaxed));
}

[[gnu::hot]] void Engine::take_doorbells() {
  if (!doorbell_pending()) return;
  QueuePair* qp = doorbells_.exchange(nullptr, std::memory_order_acquire);
  while (qp != nullptr) {
    QueuePair* next = qp->next_doorbell_;
    // From here on a new request rings again; those before it are seen in the queue.
    qp->doorbell_.exchange(false, std::memory_order_acq_rel);
    schedule(*qp);
    qp = next;
  }
}

void Engine::schedule(QueuePair& qp) {
  line_.push_back(qp.in_line_);
}

// One at a time, in turn: whoever sends a packet into a window that closes again goes to the end of the line.
void Engine::wake_waiting(Peer& peer, Nanoseconds now) {
  if (peer.waiting.empty()) return;
  QueuePair& next = peer.waiting.front();
  if (!peer.controller.may_send(now)) {
    // Sending may be paced: then time alone opens the window.
    const Nanoseconds pace = peer.controller.next_send_at();
    if (pace > now && pace != kNever) timers_.set(slot_of(next), std::min(pace, next.next_deadline()));
    return;
  }
  peer.waiting.pop_front();
  next.give_turn();
  schedule(next);
}

[[gnu::hot]] void Engine::after_work(QueuePair& qp, Nanoseconds now) {
  const Nanoseconds deadline = qp.next_deadline();
  if (deadline != kNever) timers_.set(slot_of(qp), deadline);
  if (Peer* peer = qp.peer(); peer != nullptr) wake_waiting(*peer, now);
  if (const bool connected = qp.connected(); connected != qp.counted_) [[unlikely]]
    count(qp, connected);
  if (SharedReceiveQueue* shared = qp.config().shared_receives;
      shared != nullptr && shared->take_limit_event())
    sink_->shared_receive_limit(*shared);
  if (const XrcDomain* served = qp.config().served; served != nullptr)
    served->for_each([this](SharedReceiveQueue& queue) {
      if (queue.take_limit_event()) sink_->shared_receive_limit(queue);
    });
  if (qp.paths().has_news()) [[unlikely]]
    tell_path_news(qp, now);
  for (uint32_t events = qp.take_events(); events != 0; events &= events - 1)
    sink_->queue_pair_event(qp, static_cast<QueuePairEvent>(__builtin_ctz(events)));
}

[[gnu::hot]] void Engine::report() {
  completions_.drain([this](CompletionQueue& queue) { sink_->completions(queue); },
                     [this](CompletionQueue& queue) { sink_->completion_queue_overrun(queue); });
}

// ------------------------------------------------------------------------------------------ data path

// Who was away has not waited: what the peer said in the meantime is in the ports' queues and was not read
// yet, and the peer may have had no CPU either. Timers go on where they stood.
void Engine::excuse_pause(Nanoseconds now) {
  const Nanoseconds last = last_turn_;
  last_turn_ = now;
  if (last == 0 || now < last + kPauseMin) return;
  const Nanoseconds wanted = std::max(last, next_deadline());
  if (wanted > now || now - wanted < kPauseMin) return;
  ++counters_.pauses;
  services_.pauses.add(now - wanted, now);
}

// A thread may read the clock and then wait for its turn while another one has a later one: time only goes
// on.
Nanoseconds Engine::advance(Nanoseconds now) {
  return time_ = std::max(time_, now);
}

void Engine::serve_posted(Nanoseconds now) {
  posted_ = false;
  take_doorbells();
  transmit(now);
  transmitter_.flush_all();
}

[[gnu::hot]] size_t Engine::send_posted(Nanoseconds clock) {
  const Nanoseconds now = advance(clock);
  ++burst_;
  const uint64_t sent_before = transmitter_.frames_sent();
  serve_posted(now);
  report();
  const uint64_t sent = transmitter_.frames_sent() - sent_before;
  counters_.frames_sent += sent;
  return sent;
}

[[gnu::hot]] size_t Engine::progress(Nanoseconds clock) {
  const Nanoseconds now = advance(clock);
  ++burst_;
  excuse_pause(now);
  const uint64_t sent_before = transmitter_.frames_sent();
  if (posted_ || doorbell_pending()) serve_posted(now);  // before anything is looked at
  if (now - receive_round_at_ >= kReceiveRound) {
    receive_round_at_ = now;
    services_.receiving = std::exchange(receiving_, 0);
    ++receive_round_;
  }
  const size_t received = receive(now);
  moves_ = received > 0;
  take_doorbells();
  check_ports(now);
  run_timers(now);
  transmit(now);
  transmitter_.flush_all();
  report();
  const uint64_t sent = transmitter_.frames_sent() - sent_before;
  counters_.frames_sent += sent;
  counters_.frames_received += received;
  return received + sent;
}

Nanoseconds Engine::next_deadline() const {
  if (!line_.empty() || !answering_.empty()) return 0;
  const Nanoseconds deadline = std::min({timers_.next_deadline(), announce_at_, tell_at_});
  return faults_ != nullptr ? std::min(deadline, faults_->next_deadline()) : deadline;
}

[[gnu::hot]] size_t Engine::receive(Nanoseconds now) {
  if (looks_closely_) [[unlikely]]
    return receive_closely(now);
  std::array<RxFrame, kBurst>& frames = received_;
  size_t total = 0;
  for (size_t lane = 0; lane < transmitter_.lane_count(); ++lane) {
    Carrier& carrier = transmitter_.carrier(lane);
    const size_t count = carrier.receive(frames);
    for (size_t i = 0; i < count; ++i) dispatch(transmitter_.plane_of(lane, frames[i]), frames[i], now);
    if (count > 0 && transmitter_.is_wire(lane)) note_heard(lane, {frames.data(), count}, now);
    if (count > 0) carrier.release({frames.data(), count});
    total += count;
  }
  return total;
}

// A wire has one plane, or says of every frame which.
void Engine::note_heard(size_t lane, std::span<const RxFrame> frames, Nanoseconds now) {
  Plane last = kPlanesMax;
  for (const RxFrame& frame : frames) {
    const Plane plane = transmitter_.plane_of(lane, frame);
    if (plane != last) services_.heard_at[last = plane] = now;
  }
}

[[gnu::hot]] void Engine::dispatch(Plane plane, const RxFrame& frame, Nanoseconds now) {
  Packet& packet = packet_;
  const std::span<const uint8_t> bytes{frame.data, frame.length};
  const TransportConfig& config = config_.transport;
  DecodeError error = decode(bytes, &packet, frame.intact);
  // MRC 7: a switch marks what it has trimmed. That mostly ends before its own headers say, but need not.
  uint8_t dscp = packet.dscp;
  const bool marked = error == DecodeError::kNone || peek_dscp(bytes, &dscp);
  const bool trimmed = marked && (dscp == config.dscp_trimmed || dscp == config.dscp_trimmed_last_hop);
  if (trimmed) [[unlikely]]
    error = decode_trimmed(bytes, &packet);
  if (error != DecodeError::kNone) {
    if (flows_.steers() && steer(bytes)) return;
    ++counters_.drops_undecodable[static_cast<size_t>(error)];
    return;
  }
  // MRC 1.8: a trimmed packet has no ICRC; all it can do is to ask for a repetition.
  if (!trimmed && !frame.intact && !icrc_matches(packet)) {
    ++counters_.drops_bad_icrc;
    return;
  }
  if (!config.interop.accepts(packet.bth.partition_key)) [[unlikely]] {
    ++counters_.drops_bad_partition_key;
    return;
  }
  if (packet.bth.destination == kEndpointQpn) {
    on_endpoint(packet, plane, now);
    return;
  }
  QueuePair* qp = find(packet.bth.destination);
  if (qp != nullptr)
    deliver(*qp, packet, plane, now);
  else if (packet.bth.destination == kMulticastQpn)
    on_multicast(packet, plane, now);
  else
    ++counters_.drops_unknown_qp;
}

[[gnu::hot]] void Engine::deliver(QueuePair& qp, const Packet& packet, Plane plane, Nanoseconds now) {
  qp.received_burst_ = burst_;
  if (qp.receive_round_ != receive_round_) {
    qp.receive_round_ = receive_round_;
    ++receiving_;
  }
  qp.receive(packet, plane, services_, now);
  answering_.push_back(qp.in_line_);
}

// IBTA 10.5.3: every queue pair of the group gets a copy, but for the one that has sent it.
void Engine::on_multicast(const Packet& packet, Plane plane, Nanoseconds now) {
  if (!is_ud(packet.bth.opcode) || packet.trimmed || !packet.destination.is_multicast() ||
      packet.source.is_multicast()) {
    ++counters_.drops_bad_multicast;
    return;
  }
  const std::vector<QueuePair*>* members = groups_.find(packet.destination);
  if (members == nullptr) {
    ++counters_.drops_no_group;
    return;
  }
  ++counters_.multicasts_received;
  // On one host no two queue pairs have the same number.
  const Qpn own = is_same_host(packet.source_mac) ? packet.deth.source : kMulticastQpn;
  for (QueuePair* qp : *members)
    if (qp->qpn() != own) deliver(*qp, packet, plane, now);
}

[[gnu::hot]] void Engine::run_timers(Nanoseconds now) {
  for (uint32_t timer; (timer = timers_.take_due(now)) != TimerWheel::kNone;) {
    if (timer < queue_pairs_.size())
      give_turn(*queue_pairs_[timer], now);
    else if (PeerPaths* const paths = peers_.paths_at(timer - static_cast<uint32_t>(queue_pairs_.size())))
      ask_about_paths(*paths, now);
  }
}

// The peer waits for an answer: that does not stand in line behind the data of others, data of its own do.
void Engine::let_answer(Nanoseconds now) {
  if (line_.empty()) return line_.push_front(answering_);
  // Where many take turns, the next burst is not likely to bring more for the same one.
  const bool may_wait = line_.second() == nullptr;
  LinkedList<QueuePair> deferred;
  do {
    QueuePair& qp = answering_.pop_front();
    const More rest = qp.answer(may_wait && qp.received_burst_ == burst_, services_, now);
    if (rest != More::kNothing) (rest == More::kDeferred ? deferred : line_).push_back(qp.in_line_);
    after_work(qp, now);
  } while (!answering_.empty());
  answering_.push_front(deferred);
}

// With thousands in line, what the next one needs has left the caches since its last turn.
// (Inline: a function that does nothing else has no effect to a compiler, and is not called.)
[[gnu::always_inline]] inline void Engine::fetch_next() const {
  line_.front().fetch_parts();
  if (const QueuePair* after = line_.second()) after->fetch();
}

bool Engine::goes_by_wire(const QueuePair& qp) const {
  const Connection& connection = qp.connection();
  return connection.resolved != 0 &&
         transmitter_.is_wire(connection.lanes[static_cast<size_t>(std::countr_zero(connection.resolved))]);
}

// One turn for everyone who is in line now. But when the ports have had no room for several in a row, asking
// all others takes longer than it takes to make room: they keep their places. The more so while frames come
// and go. So does, once, the first who finds no room at all; otherwise whoever is before it takes all there
// is. Who finds no room in the middle of a turn goes on with it next time: messages in small pieces cost
// cache lines. But not where many wait for a wire: what goes to one destination in a row meets what others
// send there, in the queue of its last hop. So there turns are the shorter the more there are, and who had
// one goes to the end.
[[gnu::hot]] void Engine::transmit(Nanoseconds now) {
  if (!answering_.empty()) let_answer(now);
  if (line_.empty()) return;
  const uint32_t blocked_max = moves_ ? kBlockedWhileMoving : kBlockedMax;
  const QueuePair* last = &line_.back();
  LinkedList<QueuePair> kept;
  uint32_t blocked = 0;
  bool nothing_sent = false;  // by somebody in this turn, for want of room
  for (bool more = true; more && blocked < blocked_max;) {
    QueuePair& qp = line_.pop_front();
    more = &qp != last;
    if (!line_.empty()) fetch_next();
    const uint64_t sent_before = transmitter_.frames_sent();
    const bool shares = line_.size() >= kManyOnWire && goes_by_wire(qp);
    const size_t turn =
        shares ? std::max(kTurnOnWireMin, QueuePair::kTurnPackets / (line_.size() + 1)) : qp.turn_left_;
    const More rest = qp.transmit(turn, qp.received_burst_ == burst_, services_, now);
    const uint64_t sent = transmitter_.frames_sent() - sent_before;
    blocked = rest == More::kBlocked ? blocked + 1 : 0;
    const bool alone = line_.empty();
    if (rest == More::kBlocked && !alone &&
        (sent > 0 ? !shares && sent < qp.turn_left_ : !qp.put_off_ && !nothing_sent)) {
      qp.turn_left_ = static_cast<uint16_t>(qp.turn_left_ - sent);
      qp.put_off_ = sent == 0;
      nothing_sent |= sent == 0;
      kept.push_back(qp.in_line_);
    } else {
      qp.turn_left_ = QueuePair::kTurnPackets;
      qp.put_off_ = false;
      if (rest != More::kNothing) schedule(qp);
    }
    if (!more) transmitter_.flush_all();  // the peer waits for it, and nobody for the rest
    after_work(qp, now);
  }
  line_.push_front(kept);
}

}  // namespace mrc
