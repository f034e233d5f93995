// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/world.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "libmrc/engine/state_report.h"

// Without AddressSanitizer its macros do nothing, and guards are compared at the end of every input instead.
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) static_cast<void>(0)
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MRC_GUARDS_ARE_POISONED true
#endif
#endif
#ifndef MRC_GUARDS_ARE_POISONED
#define MRC_GUARDS_ARE_POISONED false
#endif

namespace mrc::fuzz {

namespace {
constexpr ProtectionDomain kVictimDomain{1};
constexpr ProtectionDomain kInnocentDomain{2};
constexpr uint8_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kWindowBind;
constexpr uint32_t kWindowBytes = 512;
constexpr Nanoseconds kWire = 5 * kMicrosecond;
// What was posted has ended by then. The longest are two seconds for a peer that does not say what it speaks,
// or one and the retries for one that acknowledges and does not answer; what many requests wait for each in
// its turn, and the timers of the innocent, who do not give up while ports are down, add to it.
constexpr Nanoseconds kBound = 60 * kSecond;
constexpr Nanoseconds kPortsSeen = 100 * kMicrosecond;  // a link that is back is noticed by then
constexpr uint32_t kTurnsShort = 20;                    // of what nobody is patient with
constexpr uint32_t kTurnsMax = 50'000;                  // and nobody turns in circles

const std::array<uint8_t, kArenaBytes> kGuard = [] {
  std::array<uint8_t, kArenaBytes> guard;
  guard.fill(0xA5);
  return guard;
}();

World* g_world = nullptr;  // for fail()
}  // namespace

void fail(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  if (g_world != nullptr)
    for (uint32_t i = 0; i < 2; ++i)
      std::fprintf(stderr, "-- end %u --\n%s\n", i,
                   describe_state(*g_world->end(i).engine, g_world->now()).c_str());
  __builtin_trap();
}

// ------------------------------------------------------------------------------------------------ set-up

World::World(CongestionAlgorithm congestion) {
  for (uint32_t plane = 0; plane < kPlanes; ++plane) {
    ends_[0].ports[plane].peer = &ends_[1].ports[plane];
    ends_[1].ports[plane].peer = &ends_[0].ports[plane];
  }
  for (End& end : ends_) {
    EngineConfig config;
    config.seed = 7;
    config.qpn_count = 16;
    TransportConfig& transport = config.transport;
    transport.paths_per_plane = 2;
    transport.window_packets = 64;
    transport.window_bytes = 6000;
    transport.immediates_max = 8;
    transport.probe_interval_max = 64 * kMillisecond;
    transport.congestion = congestion;
    if (congestion != CongestionAlgorithm::kNone) {
      transport.link_rate_bps = 1'000'000'000;
      transport.nscc = nscc_defaults(transport.link_rate_bps, 4 * kWire, kMtu, true);
      transport.dynamic_mpr = true;
    }
    std::array<Port*, kPlanes> ports;
    for (uint32_t plane = 0; plane < kPlanes; ++plane) ports[plane] = &end.ports[plane];
    end.engine = std::make_unique<Engine>(config, ports, &end);
    end.shared = std::make_unique<SharedReceiveQueue>(8, 1, kVictimDomain);
    register_memory(end);
    for (size_t kind = 0; kind < kVictims; ++kind) end.victims[kind] = create_victim(end, Victim(kind));
    for (QueuePair*& innocent : end.innocents) {
      QueuePairConfig qp;
      qp.domain = kInnocentDomain;
      qp.send_completions = &end.innocent_sends;
      qp.receive_completions = &end.innocent_sends;
      qp.send_entries = 4;
      qp.transport = &innocent == &end.innocents[0] ? Transport::kMrc : Transport::kRc;
      innocent = end.engine->create(qp);
    }
    end.victim = end.victims[0];
    ASAN_POISON_MEMORY_REGION(end.arena, kArenaBytes);
    for (const Place& place : kPlaces) ASAN_UNPOISON_MEMORY_REGION(end.at(place), place.bytes);
  }
  if (!MRC_GUARDS_ARE_POISONED)
    for (End& end : ends_) std::memcpy(end.arena, kGuard.data(), kArenaBytes);
  fill_memory();
  connect_innocents();
  g_world = this;
}

World::~World() {
  for (End& end : ends_) ASAN_UNPOISON_MEMORY_REGION(end.arena, kArenaBytes);
  if (g_world == this) g_world = nullptr;
}

QueuePair* World::create_victim(End& end, Victim kind) {
  QueuePairConfig qp;
  qp.domain = kVictimDomain;
  qp.send_completions = &end.sends;
  qp.receive_completions = &end.receives;
  qp.send_entries = 8;
  qp.receive_entries = kind == Victim::kSharedReceives ? 0 : 8;
  qp.inline_bytes_max = 32;
  qp.lossy = kind == Victim::kLossy;
  if (kind == Victim::kSharedReceives) qp.shared_receives = end.shared.get();
  if (kind == Victim::kDatagram) qp.type = QueuePairType::kDatagram;
  return end.engine->create(qp);
}

// What was taken away is given anew.
void World::register_memory(End& end) {
  MemoryTable& memory = end.engine->memory();
  const auto add = [&](MemoryKey* key, ProtectionDomain domain, const Place& place, uint8_t access) {
    if (*key == MemoryKey{})
      *key = memory.add(domain, end.at(place), place.bytes, end.address(place), access);
  };
  add(&end.granted, kVictimDomain, kGranted, kAll);
  add(&end.readable, kVictimDomain, kReadable, kRemoteRead);
  add(&end.source, kVictimDomain, kSource, 0);
  add(&end.sink, kVictimDomain, kSink, kLocalWrite);
  add(&end.innocent, kInnocentDomain, kInnocent, kAll);
  if (end.victim == nullptr) return;
  // It belongs to the queue pair that is attacked now, whatever the last one has made of it.
  if (end.window != MemoryKey{}) memory.remove(memory.current_key(end.window));
  end.window = memory.add_window(kVictimDomain, MemoryKind::kKeyedWindow);
  WindowBinding binding;
  binding.key = end.window;
  binding.region = end.granted;
  binding.address = end.address(kGranted);
  binding.bytes = kWindowBytes;
  binding.access = kRemoteWrite | kRemoteRead;
  if (!memory.bind(binding, {kVictimDomain, end.victim->qpn()})) fail("a window cannot be bound");
}

void World::fill_memory() {
  for (End& end : ends_) {
    for (const Place& place : kPlaces) std::memcpy(end.at(place), kGuard.data(), place.bytes);
    end.sink_bytes = 0;
  }
}

IpAddress World::address_of(const End& end, bool ipv6) const {
  const auto last = static_cast<uint8_t>(&end == &ends_[0] ? 1 : 2);
  if (!ipv6) return IpAddress::v4(10, 0, 0, last);
  IpAddress address{{0xFD}};
  address.bytes[15] = last;
  return address;
}

void World::connect(End& end, QueuePair& qp, QueuePair& to, QueuePairState state, bool victim) {
  Engine& engine = *end.engine;
  const auto reach = [&](const QueuePairAttributes& attributes) {
    if (!engine.modify(qp, attributes, now_)) fail("a change of state was refused");
  };
  const bool ipv6 = victim && options_.ipv6;
  if (state == QueuePairState::kReset) return;
  QueuePairAttributes init;
  init.state = QueuePairState::kInit;
  if (victim) init.transport = options_.transport;
  init.remote_access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
  init.queue_key = kQueueKey;
  reach(init);
  if (state == QueuePairState::kInit) return;
  if (state != QueuePairState::kError) {
    QueuePairAttributes receive;
    receive.state = QueuePairState::kReadyToReceive;
    receive.source = address_of(end, ipv6);
    receive.destination = address_of(peer_of(end), !ipv6);
    receive.destination_qpn = to.qpn();
    receive.mtu = kMtu;
    receive.receive_psn = Psn(kFirstPsn);
    receive.answers_max = 4;
    receive.rnr_timer = 1;
    if (victim && options_.plain_innocents && qp.config().type != QueuePairType::kDatagram &&
        engine.modify(qp, receive, now_))
      fail("a connection has ends of two families");
    receive.destination = address_of(peer_of(end), ipv6);
    reach(receive);
    if (state == QueuePairState::kReadyToReceive) return;
    QueuePairAttributes send;
    send.state = QueuePairState::kReadyToSend;
    send.send_psn = Psn(kFirstPsn);
    send.timeout = victim ? kMillisecond : 4 * kMillisecond;
    send.retry_linear = victim ? 1 : 7;
    send.retry_exponential = victim ? 1 : RetryPolicy::kForEver;
    send.rnr_retry = 2;
    send.reads_max = 4;
    reach(send);
    if (state == QueuePairState::kReadyToSend) return;
  }
  QueuePairAttributes last;
  last.state = state;
  reach(last);
}

// When both ends are reset, and not before: who leaves sends its last answers, and the next connection has
// the same PSNs.
void World::clear_ports() {
  for (End& end : ends_)
    for (PipePort& port : end.ports) port.clear();
}

void World::reset_innocents() {
  QueuePairAttributes reset;
  reset.state = QueuePairState::kReset;
  for (End& end : ends_) {
    for (QueuePair* innocent : end.innocents) end.engine->modify(*innocent, reset, now_);
  }
  clear_ports();
  innocents_done();
  innocent_completed_ = innocent_sent_;
}

void World::connect_innocents() {
  for (End& end : ends_)
    for (size_t i = 0; i < kInnocents; ++i)
      connect(end, *end.innocents[i], *peer_of(end).innocents[i], QueuePairState::kReadyToSend, false);
}

void World::start(const WorldOptions& options) {
  options_ = options;
  g_world = this;
  for (End& end : ends_) {
    end.victim = end.victims[static_cast<size_t>(options.victim)];
    register_memory(end);
  }
  for (uint32_t i = 0; i < 2; ++i)
    connect(ends_[i], *ends_[i].victim, *ends_[i ^ 1].victim, options.states[i], true);
  write_innocently(ends_[0]);
}

// ----------------------------------------------------------------------------------------------- actions

bool World::post(End& end, const Work& work) {
  const QueuePairState state = end.victim->state();
  if (state == QueuePairState::kReset || state == QueuePairState::kInit ||
      state == QueuePairState::kReadyToReceive)
    return false;
  SendRequest* request = end.victim->send_queue().reserve();
  if (request == nullptr) return false;
  End& peer = peer_of(end);
  const Operation operation = work.operation;
  const bool atomic = operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
  const bool fills = awaits_answer(operation);
  const uint32_t bytes = atomic                ? sizeof(uint64_t)
                         : is_local(operation) ? 0
                                               : std::min(work.bytes, kSource.bytes);
  *request = {};
  request->work_id = end.posted;
  request->operation = operation;
  request->flags = kSignaled;
  if ((work.how & 0x80) != 0) request->flags |= kFence;
  request->bytes = bytes;
  if (end.victim->config().type == QueuePairType::kDatagram) {
    DatagramAddress& address = request->add_datagram_address();
    address.source = address_of(end, options_.ipv6);
    address.destination = address_of(peer, options_.ipv6 != ((work.how & 7) == 7));
    address.qpn = peer.victim->qpn();
    address.queue_key = kQueueKey;
    address.now_or_never = (work.how & 0x10) != 0;
  }
  if ((work.how & 0x40) != 0 && bytes <= end.victim->config().inline_bytes_max && !fills) {
    request->flags |= kInline;
    std::memset(request->inline_data(), 0x11, bytes);
  } else if (bytes > 0) {
    const bool good = (work.how & 0x38) != 0x38;
    request->segment_count = 1;
    request->segments()[0] = {end.address(fills ? kSink : kSource), bytes,
                              !good   ? end.innocent
                              : fills ? end.sink
                                      : end.source};
    if (fills) end.sink_bytes = std::max(end.sink_bytes, bytes);
  }
  const MemoryKey keys[] = {peer.granted,  peer.granted, peer.granted,  peer.granted,
                            peer.readable, peer.window,  peer.innocent, MemoryKey{}};
  request->remote_address = peer.address(kGranted) + work.offset;
  request->remote_key = keys[work.how & 7];
  if (operation == Operation::kSendInvalidate)
    request->immediate = static_cast<uint32_t>(request->remote_key);
  if (operation == Operation::kLocalInvalidate) request->immediate = static_cast<uint32_t>(end.window);
  if (operation == Operation::kBindWindow) {
    WindowBinding binding;
    binding.key = end.window;
    binding.region = end.granted;
    binding.address = end.address(kGranted) + (work.offset & 7);
    binding.bytes = work.bytes;
    binding.access = kRemoteWrite | kRemoteRead;
    request->set_binding(binding);
  }
  end.victim->send_queue().publish(1);
  end.engine->ring_doorbell(*end.victim);
  ++end.posted;
  return true;
}

void World::post_receive(End& end, uint32_t bytes) {
  if (end.victim->state() == QueuePairState::kReset) return;
  SharedReceiveQueue* shared = end.victim->config().shared_receives;
  ReceiveQueue& queue = shared != nullptr ? shared->queue() : end.victim->receive_queue();
  ReceiveRequest* request = queue.reserve();
  if (request == nullptr) return;
  bytes = std::min(bytes, kSink.bytes);
  request->work_id = end.receives_posted++;
  request->segment_count = 1;
  request->bytes = bytes;
  request->segments()[0] = {end.address(kSink), bytes, end.sink};
  end.sink_bytes = std::max(end.sink_bytes, bytes);
  queue.publish(1);
  end.engine->ring_doorbell(*end.victim);
}

void World::set_state(End& end, QueuePairState state) {
  QueuePairAttributes attributes;
  attributes.state = state;
  const bool was_reset = end.victim->state() == QueuePairState::kReset;
  end.engine->modify(*end.victim, attributes, now_);
  if (state != QueuePairState::kReset || was_reset) return;
  take_completions(end);
  forget(end);
}

// Requests go without completions, but for those that a shared queue still has.
void World::forget(End& end) {
  end.completed = end.posted;
  end.receives_completed = end.receives_posted;
  if (end.victim->config().shared_receives != nullptr) end.receives_completed -= end.shared->available();
}

void World::connect_victim(End& end, QueuePairState state) {
  set_state(end, QueuePairState::kReset);
  connect(end, *end.victim, *peer_of(end).victim, state, true);
}

void World::replace_victim(End& end) {
  const Victim kind = options_.victim;
  take_completions(end);
  forget(end);
  end.engine->destroy(end.victim);
  end.victims[static_cast<size_t>(kind)] = end.victim = create_victim(end, kind);
}

void World::withdraw_memory(End& end) {
  MemoryTable& memory = end.engine->memory();
  if (end.window != MemoryKey{}) memory.remove(memory.current_key(end.window));
  end.window = MemoryKey{};
  if (end.granted != MemoryKey{} && !memory.remove(end.granted)) fail("a region has windows that are gone");
  end.granted = MemoryKey{};
}

void World::set_faults(End& end, Plane plane, uint8_t faults) {
  end.ports[plane % kPlanes].faults = faults;
  if ((faults & PipePort::kDown) != 0) lasting_ = true;
}

void World::drop(End& end, uint32_t frames) {
  for (PipePort& port : end.ports) port.drop_next = frames;
}

void World::step(Nanoseconds time) {
  now_ += time;
  for (End& end : ends_) end.engine->progress(now_);
}

// Whether it has something to look at now, whatever its timers say.
bool World::pending(const End& end) {
  if (end.engine->doorbell_pending()) return true;
  for (const PipePort& port : end.ports)
    if (!port.empty()) return true;
  return false;
}

// Engines that have nothing to do are left alone.
void World::skip() {
  const std::array<Nanoseconds, 2> next = {ends_[0].engine->next_deadline(),
                                           ends_[1].engine->next_deadline()};
  const Nanoseconds first = std::min(next[0], next[1]);
  const bool pending[] = {World::pending(ends_[0]), World::pending(ends_[1])};
  const bool wait = first != kNever && first > now_ + kWire && !pending[0] && !pending[1];
  now_ = wait ? first : now_ + kWire;
  for (size_t i = 0; i < 2; ++i)
    if (pending[i] || next[i] <= now_ || first == kNever) ends_[i].engine->progress(now_);
}

// ------------------------------------------------------------------------------------------------ the end

// Requests complete in their order, each once.
void World::take_completions(End& end) {
  std::array<Completion, 16> some;
  for (size_t count; (count = end.sends.poll(some)) > 0;)
    for (size_t i = 0; i < count; ++i) {
      if (some[i].qpn != end.victim->qpn()) fail("a completion of another queue pair");
      if (end.completed >= end.posted) fail("more completions than requests");
      if (some[i].work_id != end.completed++) fail("completions out of order");
      if (some[i].status == CompletionStatus::kGeneralError) fail("a general error");
    }
  for (size_t count; (count = end.receives.poll(some)) > 0;)
    for (size_t i = 0; i < count; ++i) {
      if (end.receives_completed >= end.receives_posted) fail("more completions than receives");
      // Of a shared queue whoever comes first takes the next one, and messages overtake each other.
      const bool in_order = some[i].work_id == end.receives_completed++;
      if (!in_order && end.victim->config().shared_receives == nullptr) fail("receives out of order");
    }
}

// Whether nothing of the victim's is open that should end by itself.
bool World::done(End& end) {
  take_completions(end);
  const QueuePairState state = end.victim->state();
  if (state == QueuePairState::kError && !end.victim->receive_queue().empty()) return false;
  if (end.completed == end.posted) return true;
  return state != QueuePairState::kReadyToSend && state != QueuePairState::kError && !end.victim->draining();
}

void World::write_innocently(End& from) {
  QueuePair& qp = *from.innocents[options_.plain_innocents];
  SendRequest* request = qp.send_queue().reserve();
  if (request == nullptr) fail("the innocent's queue is full");
  End& to = peer_of(from);
  const uint32_t half = &from == &ends_[0] ? 0 : kInnocent.bytes / 2;
  std::memset(from.at(kInnocent) + half, ++innocent_value_, kInnocent.bytes / 2);
  *request = {};
  ++innocent_sent_;
  request->operation = Operation::kWrite;
  request->flags = kSignaled;
  request->bytes = kInnocent.bytes / 2;
  request->segment_count = 1;
  request->segments()[0] = {from.address(kInnocent) + half, request->bytes, from.innocent};
  request->remote_address = to.address(kInnocent) + half;
  request->remote_key = to.innocent;
  qp.send_queue().publish(1);
  from.engine->ring_doorbell(qp);
}

bool World::innocents_done() {
  std::array<Completion, 4> some;
  for (End& end : ends_)
    for (size_t count; (count = end.innocent_sends.poll(some)) > 0;)
      for (size_t i = 0; i < count; ++i) {
        if (some[i].status != CompletionStatus::kSuccess) fail("somebody else's request failed");
        if (++innocent_completed_ > innocent_sent_) fail("somebody else has too many completions");
      }
  return innocent_completed_ == innocent_sent_;
}

void World::check_innocents() {
  if (std::memcmp(ends_[0].at(kInnocent), ends_[1].at(kInnocent), kInnocent.bytes) != 0)
    fail("somebody else's data are wrong");
}

// False: it was cut short.
bool World::run_until_done(bool patient) {
  const Nanoseconds bound = now_ + kBound;
  for (uint32_t turn = 0; !done(ends_[0]) || !done(ends_[1]) || !innocents_done(); ++turn) {
    if (!patient && turn > kTurnsShort) return false;
    if (now_ > bound) fail("no progress and no error");
    if (turn > kTurnsMax) fail("turns in circles");
    skip();
  }
  return true;
}

void World::finish(bool patient) {
  for (End& end : ends_)
    for (PipePort& port : end.ports) {
      port.faults = 0;
      port.drop_next = 0;
    }
  // Those who come only now find everything as it was.
  write_innocently(ends_[1]);
  const bool innocent_are_done = run_until_done(patient) || innocents_done();
  if (innocent_are_done) check_innocents();
  if (!innocent_are_done) lasting_ = true;
  check_memory();
  close();
}

void World::check_memory() {
  const auto untouched = [](const End& end, const Place& place, uint32_t from = 0) {
    return std::memcmp(end.at(place) + from, kGuard.data(), place.bytes - from) == 0;
  };
  for (const End& end : ends_) {
    if (!untouched(end, kReadable)) fail("memory that was granted to be read has changed");
    if (!untouched(end, kSource)) fail("memory that was sent from has changed");
    if (!untouched(end, kSink, end.sink_bytes)) fail("memory that was not asked for has changed");
    if (MRC_GUARDS_ARE_POISONED) continue;
    size_t gap = 0;
    for (const Place& place : kPlaces) {
      if (!untouched(end, {gap, static_cast<uint32_t>(place.begin - gap)})) fail("a guard has changed");
      gap = place.begin + place.bytes;
    }
    if (!untouched(end, {gap, static_cast<uint32_t>(kArenaBytes - gap)})) fail("a guard has changed");
  }
}

void World::close() {
  if (lasting_) step(kPortsSeen);
  for (End& end : ends_) {
    set_state(end, QueuePairState::kReset);
    ReceiveQueue& shared = end.shared->queue();
    shared.release(shared.tail());
    forget(end);
    if (end.engine->memory().size() > 16) fail("memory regions are left over");
  }
  clear_ports();
  fill_memory();
  // What is believed of ports stays with the peer for a while, and that is shared with the innocent.
  if (lasting_) {
    reset_innocents();
    connect_innocents();
  }
  lasting_ = false;
}

}  // namespace mrc::fuzz
