// SPDX-License-Identifier: BSD-2-Clause
// An engine whose queue pairs are connected to each other, over ports that bring back what is sent. Nothing
// here allocates once it is made, so what is counted is the engine's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/frame.h"

namespace mrc::test {

// Not gtest's: programs without it use this, too.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "engine_loop: %s\n", what);
  std::abort();
}

// What is sent comes back, or comes to another one. Drops one frame in `drop_every`.
class LoopPort : public Port, public Carrier {
 public:
  LoopPort() {
    for (Frame& buffer : *buffers_) free_[free_count_++] = &buffer;
  }
  MacAddress address() const override { return {}; }
  bool link_up() const override { return up; }
  Carrier* wire() override { return on_host ? nullptr : this; }
  Carrier* same_host() override { return on_host ? this : nullptr; }
  bool resolve(const IpAddress&, Qpn, MacAddress* to) override {
    *to = {};
    return true;
  }
  size_t receive(std::span<RxFrame> frames) override {
    size_t count = 0;
    for (; count < frames.size() && first_ != end_; ++first_, ++count)
      frames[count] = {slot(first_).data(), lengths_[first_ % kSlots], nullptr, 0, intact};
    return count;
  }
  void release(std::span<const RxFrame>) override {}
  size_t transmit_room(const MacAddress&) override {
    ++asked;
    if (full) return 0;
    return kSlots - (to->end_ - to->first_) > 2 * kBurst ? kBurst : 0;
  }
  size_t acquire(std::span<TxFrame> frames) override {
    size_t count = 0;
    for (; count < frames.size() && free_count_ > 0; ++count)
      frames[count] = {free_[--free_count_]->data(), 0, nullptr};
    return count;
  }
  void transmit(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) {
      if (drop_every != 0 && ++sent_ % drop_every == 0) continue;
      std::copy_n(frame.data, frame.length, to->slot(to->end_).data());
      to->lengths_[to->end_++ % kSlots] = frame.length;
    }
    discard(frames);
  }
  void discard(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) free_[free_count_++] = reinterpret_cast<Frame*>(frame.data);
  }

  bool keeps_intact() const override { return intact; }
  uint64_t carried() const { return end_; }  // frames so far

  bool on_host = false;  // a link to a process of this host, not a wire
  LoopPort* to = this;
  uint64_t drop_every = 0;
  bool intact = false;
  bool full = false;   // there is no room
  bool up = true;      // has a link
  uint64_t asked = 0;  // for room

 private:
  static constexpr size_t kSlots = 1024;
  using Frame = std::array<uint8_t, kFrameBytesMax>;
  Frame& slot(uint64_t index) { return (*frames_)[index % kSlots]; }

  std::unique_ptr<std::array<Frame, kSlots>> frames_ = std::make_unique<std::array<Frame, kSlots>>();
  std::array<uint32_t, kSlots> lengths_{};
  std::unique_ptr<std::array<Frame, 2 * kBurst>> buffers_ = std::make_unique<std::array<Frame, 2 * kBurst>>();
  std::array<Frame*, 2 * kBurst> free_{};
  size_t free_count_ = 0;
  uint64_t first_ = 0;
  uint64_t end_ = 0;
  uint64_t sent_ = 0;
};

struct Deaf : EventSink {
  void completions(CompletionQueue&) override {}
  void completion_queue_overrun(CompletionQueue&) override { require(false, "a completion queue overran"); }
  void queue_pair_event(QueuePair&, QueuePairEvent) override {}
};

class Loop {
 public:
  static constexpr ProtectionDomain kDomain{1};
  // `intact`: the ports cannot corrupt, so that no packet has an ICRC. `on_host`: they are links of this
  // host; with one plane only.
  Loop(uint32_t planes, uint32_t paths_per_plane, CongestionAlgorithm congestion, bool intact = false,
       bool on_host = false) {
    EngineConfig config;
    config.qpn_count = 1 << 15;
    config.transport.paths_per_plane = paths_per_plane;
    config.transport.congestion = congestion;
    config.transport.nscc = nscc_defaults(400'000'000'000, 10 * kMicrosecond, 4096, false);
    std::vector<Port*> all;
    for (uint32_t i = 0; i < planes; ++i) {
      ports.push_back(std::make_unique<LoopPort>());
      ports.back()->intact = intact;
      ports.back()->on_host = on_host;
      all.push_back(ports.back().get());
    }
    engine = std::make_unique<Engine>(config, all, &deaf);
  }
  void add_pair(uint32_t entries) {
    QueuePairConfig config;
    config.domain = kDomain;
    config.send_completions = config.receive_completions = &completions;
    config.send_entries = config.receive_entries = entries;
    QueuePair* pair[2] = {engine->create(config), engine->create(config)};
    for (int i = 0; i < 2; ++i) {
      require(pair[i] != nullptr, "pair[i]");
      connect(*pair[i], *pair[1 - i]);
      qps.push_back(pair[i]);
    }
  }
  void connect(QueuePair& qp, QueuePair& peer) {
    QueuePairAttributes attributes;
    attributes.state = QueuePairState::kInit;
    attributes.remote_access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    require(engine->modify(qp, attributes, now), "modify");
    attributes = {};
    attributes.state = QueuePairState::kReadyToReceive;
    attributes.source = IpAddress::v4(10, 0, 0, 1);
    attributes.destination = destination;
    attributes.destination_qpn = peer.qpn();
    attributes.mtu = mtu;
    attributes.receive_psn = Psn(5);
    require(engine->modify(qp, attributes, now), "modify");
    attributes = {};
    attributes.state = QueuePairState::kReadyToSend;
    attributes.send_psn = Psn(5);
    attributes.timeout = 100 * kMillisecond;
    require(engine->modify(qp, attributes, now), "modify");
  }
  Segment segment(void* data, uint32_t bytes) {
    const auto address = reinterpret_cast<uint64_t>(data);
    return {address, bytes,
            engine->memory().add(kDomain, data, bytes, address,
                                 kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic)};
  }
  void post(QueuePair& qp, Operation operation, const Segment& from, const Segment& to, uint32_t bytes) {
    SendRequest* request = qp.send_queue().reserve();
    require(request != nullptr, "request");
    *request = {};
    request->operation = operation;
    request->flags = kSignaled;
    request->segment_count = 1;
    request->segments()[0] = {from.address, bytes, from.key};
    request->bytes = bytes;
    request->remote_address = to.address;
    request->remote_key = to.key;
    qp.send_queue().publish(1);
    engine->ring_doorbell(qp);
  }
  void post_receive(QueuePair& qp, const Segment& to) {
    ReceiveRequest* request = qp.receive_queue().reserve();
    require(request != nullptr, "request");
    request->segment_count = 1;
    request->segments()[0] = to;
    qp.receive_queue().publish(1);
  }
  // Until so many more completions have come, each of them good.
  void await(uint64_t count) {
    Completion one[1];
    for (int turn = 0; count > 0; ++turn) {
      require(turn < 200'000, "completions do not come");
      now += kMicrosecond;
      engine->progress(now);
      while (count > 0 && completions.poll(one) > 0) {
        require(one[0].status == CompletionStatus::kSuccess, "a request failed");
        --count;
      }
    }
  }

  uint32_t mtu = 4096;
  IpAddress destination = IpAddress::v4(10, 0, 0, 1);
  Deaf deaf;
  std::vector<std::unique_ptr<LoopPort>> ports;
  CompletionQueue completions{4096};
  std::unique_ptr<Engine> engine;
  std::vector<QueuePair*> qps;
  Nanoseconds now = kSecond;
};

}  // namespace mrc::test
