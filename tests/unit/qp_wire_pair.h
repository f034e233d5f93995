// SPDX-License-Identifier: BSD-2-Clause
// Two engines joined by pipes that lose and reorder, in virtual time: the smallest world in which operations
// can be tried one by one. The big one is tests/sim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/frame.h"

namespace mrc::test {

class PipePort : public Port, public Carrier {
 public:
  using Frame = std::vector<uint8_t>;
  MacAddress address() const override { return {}; }
  bool link_up() const override { return up; }
  Carrier* wire() override { return within_host ? nullptr : this; }
  Carrier* same_host() override { return within_host ? this : nullptr; }
  void find_members_here(const IpAddress&, std::vector<Qpn>* found) override {
    found->insert(found->end(), members.begin(), members.end());
  }
  bool resolve(const IpAddress&, Qpn qpn, MacAddress* to) override {
    asked_for = qpn;
    *to = next_hop;
    return reachable;
  }
  bool speaks_for_host(const MacAddress&) const override { return speaks; }
  size_t receive(std::span<RxFrame> frames) override {
    size_t count = 0;
    if (!up) arrived.clear();
    while (count < frames.size() && !arrived.empty() && arrived.begin()->first <= now) {
      lent_.push_back(std::move(arrived.begin()->second));
      arrived.erase(arrived.begin());
      frames[count++] = {lent_.back().data(), static_cast<uint32_t>(lent_.back().size()), nullptr, plane};
    }
    return count;
  }
  void release(std::span<const RxFrame>) override { lent_.clear(); }
  size_t transmit_room(const MacAddress&) override { return linked ? kBurst : 0; }
  size_t acquire(std::span<TxFrame> frames) override {
    if (!buffers) return 0;
    for (TxFrame& frame : frames) frame = {new uint8_t[kFrameBytesMax], 0, nullptr};
    return frames.size();
  }
  void transmit(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) {
      if (!linked || !up) continue;
      const Frame copy(frame.data, frame.data + frame.length);
      if (drop && drop(copy)) continue;
      for (uint32_t left = copies ? copies(copy) : 1; left > 0; --left)
        peer->arrived.emplace(now + delay(), copy);
    }
    discard(frames);
  }
  void discard(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) delete[] frame.data;
  }

  PipePort* peer = nullptr;
  Plane plane = 0;
  bool within_host = false;  // it leads to another process, not to another host
  std::vector<Qpn> members;  // there, of every group
  bool reachable = true;
  MacAddress next_hop;
  bool speaks = true;
  bool buffers = true;  // else there are none left
  bool linked = true;   // else the link to the peer is still being made
  Qpn asked_for;
  bool up = true;  // else nothing comes through
  std::multimap<Nanoseconds, Frame> arrived;
  std::function<bool(const Frame&)> drop;
  std::function<uint32_t(const Frame&)> copies;  // that arrive of one frame
  std::function<Nanoseconds()> delay = [] { return 5 * kMicrosecond; };
  Nanoseconds now = 0;

 private:
  std::deque<Frame> lent_;
};

struct Seen : EventSink {
  void completions(CompletionQueue&) override {}
  void completion_queue_overrun(CompletionQueue&) override { ++overruns; }
  void queue_pair_event(QueuePair&, QueuePairEvent event) override { ++events[event]; }
  void shared_receive_limit(SharedReceiveQueue&) override { ++limits; }
  void ev_probe_answered(uint64_t cookie, Nanoseconds rtt, Plane) override { probes[cookie] = rtt; }
  void path_event(const QueuePair& qp, const PathEvent& event) override {
    ++path_events[{qp.path_profile(), event.path}];
  }
  std::map<QueuePairEvent, int> events;
  std::map<std::pair<uint64_t, PathId>, int> path_events;  // by profile
  std::map<uint64_t, Nanoseconds> probes;
  int overruns = 0;
  int limits = 0;
};

// One end: an engine, a queue pair and its queues.
struct End {
  std::vector<std::unique_ptr<PipePort>> ports;
  Seen seen;
  std::unique_ptr<Engine> engine;
  CompletionQueue sends{4096};
  CompletionQueue receives{4096};
  QueuePair* qp = nullptr;
};

struct PairOptions {
  uint32_t planes = 2;
  uint32_t first_qpn = 16;
  uint32_t mtu = 1024;
  std::optional<uint8_t> dscp;
  double loss = 0;
  uint32_t copies = 1;  // that arrive of every frame
  bool jitter = false;
  uint64_t seed = 1;
  std::optional<Transport> transport;
  QueuePairType type = QueuePairType::kReliable;
  bool lossy = false;
  std::optional<uint32_t> queue_key;
  uint8_t retry_linear = 7;
  uint8_t retry_exponential = 0;  // 25 = for ever
  Nanoseconds timeout = 10 * kMillisecond;
  uint8_t rnr_retry = 7;
  uint8_t reads_max = 16;
  uint8_t access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
  uint32_t shared_entries = 0;  // of a shared receive queue at end b
  uint32_t receive_entries = 64;
  const XrcDomain* served = nullptr;        // both are of XRC, and b serves this
  bool within_host = false;                 // the ends are processes of one host
  bool b_sends = true;                      // else it stays in RTR
  bool b_reaches_a = true;                  // else its ports know no next hop at first
  std::function<void(EngineConfig*)> tune;  // of both engines
};

inline std::vector<uint8_t> pattern(size_t bytes, uint8_t start) {
  std::vector<uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), start);
  return data;
}

class WirePair {
 public:
  explicit WirePair(const PairOptions& options = {}) : random_(options.seed) {
    End* ends[2] = {&a, &b};
    for (End* end : ends) {
      EngineConfig config;
      config.seed = random_();
      config.first_qpn = Qpn(options.first_qpn);
      config.qpn_count = 16;
      config.transport.paths_per_plane = 4;
      if (options.tune) options.tune(&config);
      std::vector<Port*> ports;
      for (uint32_t i = 0; i < options.planes; ++i) {
        end->ports.push_back(std::make_unique<PipePort>());
        ports.push_back(end->ports.back().get());
        PipePort& port = *end->ports.back();
        port.plane = static_cast<Plane>(i);
        port.within_host = options.within_host;
        port.reachable = end == &a || options.b_reaches_a;
        if (options.loss > 0)
          port.drop = [this, loss = options.loss](const PipePort::Frame&) { return unit() < loss; };
        if (options.copies > 1)
          port.copies = [copies = options.copies](const PipePort::Frame&) { return copies; };
        if (options.jitter)
          port.delay = [this] { return 2 * kMicrosecond + random_() % (50 * kMicrosecond); };
      }
      end->engine = std::make_unique<Engine>(config, ports, &end->seen);
    }
    for (uint32_t i = 0; i < options.planes; ++i) {
      a.ports[i]->peer = b.ports[i].get();
      b.ports[i]->peer = a.ports[i].get();
    }
    if (options.shared_entries > 0)
      shared = std::make_unique<SharedReceiveQueue>(options.shared_entries, 4, kDomain);
    for (End* end : ends) {
      QueuePairConfig config;
      config.domain = kDomain;
      config.send_completions = &end->sends;
      config.receive_completions = &end->receives;
      config.send_entries = 64;
      config.receive_entries = end == &b && shared ? 0 : options.receive_entries;
      config.send_segments_max = config.receive_segments_max = 4;
      config.inline_bytes_max = 256;
      config.transport = options.transport;
      config.type = options.type;
      config.lossy = options.lossy;
      config.xrc = options.served != nullptr;
      if (end == &b) config.shared_receives = shared.get();
      if (end == &b) config.served = options.served;
      end->qp = end->engine->create(config);
    }
    reconnect(options);
  }
  // Takes both queue pairs, or one, from RESET to RTS with what the options say.
  void reconnect(const PairOptions& options, End* only = nullptr) {
    if (only != &b) connect(a, b, options);
    if (only != &a) connect(b, a, options);
  }

  static constexpr ProtectionDomain kDomain{1};

  // How often both engines are asked; for tests that wait for seconds.
  void set_step(Nanoseconds step) { step_ = step; }

  // Runs both engines until `done` or the time is over.
  template <typename Done>
  bool run(Done&& done, Nanoseconds limit = 10 * kSecond) {
    const Nanoseconds end = now_ + limit;
    while (!done()) {
      if (now_ >= end) return false;
      step();
    }
    return true;
  }
  void run_for(Nanoseconds time) {
    run([] { return false; }, time);
  }

  // Time goes by, but these do not run.
  void pause(Nanoseconds time, std::initializer_list<const End*> asleep) {
    for (const Nanoseconds end = now_ + time; now_ < end;) {
      now_ += std::min(step_, end - now_);
      for (End* each : {&a, &b})
        if (std::find(asleep.begin(), asleep.end(), each) == asleep.end()) progress(*each);
    }
  }

  SendRequest* post(End& end, Operation operation, uint64_t id, std::vector<Segment> segments) {
    SendRequest* request = end.qp->send_queue().reserve();
    if (request == nullptr) return nullptr;
    *request = {};
    request->work_id = id;
    request->operation = operation;
    request->flags = kSignaled;
    request->segment_count = static_cast<uint8_t>(segments.size());
    for (size_t i = 0; i < segments.size(); ++i) {
      request->segments()[i] = segments[i];
      request->bytes += segments[i].bytes;
    }
    return request;
  }
  void ring(End& end) {
    end.qp->send_queue().publish(1);
    end.engine->ring_doorbell(*end.qp);
  }
  // Who posts may send at once, without a look at its ports.
  size_t send_posted(End& end) {
    for (auto& port : end.ports) port->now = now_;
    return end.engine->send_posted(now_);
  }
  void post_receive(End& end, uint64_t id, std::vector<Segment> segments) {
    ReceiveQueue& queue = end.qp->config().shared_receives ? shared->queue() : end.qp->receive_queue();
    ReceiveRequest* request = queue.reserve();
    request->work_id = id;
    request->segment_count = static_cast<uint32_t>(segments.size());
    for (size_t i = 0; i < segments.size(); ++i) request->segments()[i] = segments[i];
    queue.publish(1);
    end.engine->ring_doorbell(*end.qp);
  }
  Segment segment(End& end, void* data, uint32_t bytes, uint8_t access) {
    const auto address = reinterpret_cast<uint64_t>(data);
    return {address, bytes, end.engine->memory().add(kDomain, data, bytes, address, access)};
  }
  Nanoseconds now() const { return now_; }
  IpAddress address_of(const End& end) const { return IpAddress::v4(10, 0, 0, &end == &a ? 1 : 2); }
  static std::vector<Completion> poll(CompletionQueue& queue) {
    std::vector<Completion> all;
    Completion one[1];
    while (queue.poll(one) > 0) all.push_back(one[0]);
    return all;
  }

  End a;
  End b;
  std::unique_ptr<SharedReceiveQueue> shared;

 private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  void connect(End& self, End& peer, const PairOptions& options) {
    const bool first = &self == &a;
    QueuePairAttributes init;
    init.state = QueuePairState::kInit;
    init.remote_access = options.access;
    init.transport = options.transport;
    init.queue_key = options.queue_key;
    self.engine->modify(*self.qp, init, 0);
    QueuePairAttributes receive;
    receive.state = QueuePairState::kReadyToReceive;
    receive.source = address_of(self);
    receive.destination = address_of(peer);
    receive.destination_qpn = peer.qp->qpn();
    receive.mtu = options.mtu;
    receive.dscp = options.dscp;
    receive.receive_psn = Psn(first ? 0xFFFFF8 : 5);
    receive.answers_max = options.reads_max;
    receive.rnr_timer = 1;
    self.engine->modify(*self.qp, receive, 0);
    if (&self == &b && !options.b_sends) return;
    QueuePairAttributes send;
    send.state = QueuePairState::kReadyToSend;
    send.send_psn = Psn(first ? 5 : 0xFFFFF8);
    send.timeout = options.timeout;
    send.retry_linear = options.retry_linear;
    send.retry_exponential = options.retry_exponential;
    send.reads_max = options.reads_max;
    send.rnr_retry = options.rnr_retry;
    self.engine->modify(*self.qp, send, 0);
  }

  void step() {
    now_ += step_;
    for (End* end : {&a, &b}) progress(*end);
  }
  void progress(End& end) {
    for (auto& port : end.ports) port->now = now_;
    end.engine->progress(now_);
  }

  std::mt19937_64 random_;
  Nanoseconds now_ = 0;
  Nanoseconds step_ = kMicrosecond;
};

}  // namespace mrc::test
