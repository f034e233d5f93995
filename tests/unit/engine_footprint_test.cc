// SPDX-License-Identifier: BSD-2-Clause
// What queue pairs cost: bytes of one that is idle, and that the data path allocates nothing once it has what
// it needs. A program of its own, for it counts every allocation.
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/frame.h"

namespace {
uint64_t g_allocations = 0;
uint64_t g_bytes = 0;  // in use, as malloc rounds them
}  // namespace

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++g_allocations;
  g_bytes += malloc_usable_size(memory);
  return memory;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  void* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  ++g_allocations;
  g_bytes += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) g_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  operator delete(memory);
}

namespace mrc::test {
namespace {

// What is sent comes back. Drops one frame in `drop_every`.
class LoopPort : public Port, public Carrier {
 public:
  LoopPort() {
    for (Frame& buffer : *buffers_) free_[free_count_++] = &buffer;
  }
  MacAddress address() const override { return {}; }
  bool link_up() const override { return true; }
  Carrier* wire() override { return this; }
  bool resolve(const IpAddress&, Qpn, MacAddress* to) override {
    *to = {};
    return true;
  }
  size_t receive(std::span<RxFrame> frames) override {
    size_t count = 0;
    for (; count < frames.size() && first_ != end_; ++first_, ++count)
      frames[count] = {slot(first_).data(), lengths_[first_ % kSlots], nullptr};
    return count;
  }
  void release(std::span<const RxFrame>) override {}
  size_t transmit_room(const MacAddress&) override {
    return kSlots - (end_ - first_) > 2 * kBurst ? kBurst : 0;
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
      std::copy_n(frame.data, frame.length, slot(end_).data());
      lengths_[end_++ % kSlots] = frame.length;
    }
    discard(frames);
  }
  void discard(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) free_[free_count_++] = reinterpret_cast<Frame*>(frame.data);
  }

  uint64_t drop_every = 0;

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
  void completion_queue_overrun(CompletionQueue&) override { ADD_FAILURE() << "overrun"; }
  void queue_pair_event(QueuePair&, QueuePairEvent) override {}
};

// An engine whose queue pairs are connected to each other, two by two.
class Loop {
 public:
  static constexpr ProtectionDomain kDomain{1};
  explicit Loop(uint32_t planes, uint32_t paths_per_plane, CongestionAlgorithm congestion) {
    EngineConfig config;
    config.qpn_count = 1 << 15;
    config.transport.paths_per_plane = paths_per_plane;
    config.transport.congestion = congestion;
    config.transport.nscc = nscc_defaults(400'000'000'000, 10 * kMicrosecond, 4096, false);
    std::vector<Port*> all;
    for (uint32_t i = 0; i < planes; ++i) {
      ports.push_back(std::make_unique<LoopPort>());
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
      ASSERT_NE(pair[i], nullptr);
      connect(*pair[i], *pair[1 - i]);
      qps.push_back(pair[i]);
    }
  }
  void connect(QueuePair& qp, QueuePair& peer) {
    QueuePairAttributes attributes;
    attributes.state = QueuePairState::kInit;
    attributes.remote_access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    ASSERT_TRUE(engine->modify(qp, attributes, now));
    attributes = {};
    attributes.state = QueuePairState::kReadyToReceive;
    attributes.source = attributes.destination = IpAddress::v4(10, 0, 0, 1);
    attributes.destination_qpn = peer.qpn();
    attributes.mtu = 4096;
    attributes.receive_psn = Psn(5);
    ASSERT_TRUE(engine->modify(qp, attributes, now));
    attributes = {};
    attributes.state = QueuePairState::kReadyToSend;
    attributes.send_psn = Psn(5);
    attributes.timeout = 100 * kMillisecond;
    ASSERT_TRUE(engine->modify(qp, attributes, now));
  }
  Segment segment(void* data, uint32_t bytes) {
    const auto address = reinterpret_cast<uint64_t>(data);
    return {address, bytes,
            engine->memory().add(kDomain, data, bytes, address,
                                 kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic)};
  }
  void post(QueuePair& qp, Operation operation, const Segment& from, const Segment& to, uint32_t bytes) {
    SendRequest* request = qp.send_queue().reserve();
    ASSERT_NE(request, nullptr);
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
    ASSERT_NE(request, nullptr);
    request->segment_count = 1;
    request->segments()[0] = to;
    qp.receive_queue().publish(1);
  }
  // Until so many more completions have come, each of them good.
  void await(uint64_t count) {
    Completion one[1];
    for (int turn = 0; count > 0; ++turn) {
      ASSERT_LT(turn, 200'000);
      now += kMicrosecond;
      engine->progress(now);
      while (count > 0 && completions.poll(one) > 0) {
        ASSERT_EQ(one[0].status, CompletionStatus::kSuccess);
        --count;
      }
    }
  }

  Deaf deaf;
  std::vector<std::unique_ptr<LoopPort>> ports;
  CompletionQueue completions{4096};
  std::unique_ptr<Engine> engine;
  std::vector<QueuePair*> qps;
  Nanoseconds now = kSecond;
};

// What the caller asked for: two queues of one entry, with their rounding.
constexpr uint64_t kWorkQueues = 2 * 256;
constexpr uint64_t kIdleBytesMax = 16 * 1024;

TEST(Footprint, AnIdleQueuePairWith256PathsHasAtMost16KiB) {
  for (const auto congestion : {CongestionAlgorithm::kNone, CongestionAlgorithm::kNscc}) {
    Loop loop(8, 32, congestion);
    std::vector<uint8_t> memory(8192);
    const Segment all = loop.segment(memory.data(), 8192);
    loop.add_pair(1);  // what all share is there now
    constexpr uint64_t kPairs = 500;
    loop.qps.reserve(2 * kPairs + 2);
    const uint64_t before = g_bytes;
    for (uint64_t i = 0; i < kPairs; ++i) loop.add_pair(1);
    const uint64_t connected = (g_bytes - before) / (2 * kPairs);
    // A little of everything, and idle again.
    for (QueuePair* qp : loop.qps) {
      loop.post(*qp, Operation::kWrite, all, all, 4096);
      loop.await(1);
    }
    for (int i = 0; i < 10'000; ++i) loop.engine->progress(loop.now += 10 * kMicrosecond);
    const uint64_t used = (g_bytes - before) / (2 * kPairs);
    std::printf("bytes of a queue pair: connected %llu, after use %llu\n",
                static_cast<unsigned long long>(connected), static_cast<unsigned long long>(used));
    EXPECT_LE(connected, kIdleBytesMax + kWorkQueues);
    EXPECT_LE(used, kIdleBytesMax + kWorkQueues);
  }
}

// Rings grow with use; once they have grown, work of the same kind allocates nothing, also when frames are
// lost.
TEST(Footprint, TheDataPathAllocatesNothing) {
  for (const auto congestion : {CongestionAlgorithm::kNone, CongestionAlgorithm::kNscc}) {
    Loop loop(4, 16, congestion);
    for (int i = 0; i < 4; ++i) loop.add_pair(32);
    std::vector<uint8_t> memory(1 << 17);
    const Segment all = loop.segment(memory.data(), 1 << 17);
    const Segment half{all.address + (1 << 16), 1 << 16, all.key};
    auto round = [&] {
      for (QueuePair* qp : loop.qps) {
        for (int i = 0; i < 4; ++i) loop.post_receive(*qp, half);
        for (int i = 0; i < 2; ++i) {
          loop.post(*qp, Operation::kWrite, all, half, 65536);
          loop.post(*qp, Operation::kWriteImm, all, half, 64);
          loop.post(*qp, Operation::kSend, all, {}, 5000);
          loop.post(*qp, Operation::kRead, all, half, 20000);
          loop.post(*qp, Operation::kFetchAdd, all, half, 8);
        }
      }
      loop.await(loop.qps.size() * (2 * 5 + 4));
    };
    loop.ports[1]->drop_every = 53;
    int quiet = 0;  // rounds in a row that allocated nothing
    for (int i = 0; i < 3000 && quiet < 300; ++i) {
      const uint64_t before = g_allocations;
      round();
      quiet = g_allocations == before ? quiet + 1 : 0;
    }
    EXPECT_EQ(quiet, 300);
    EXPECT_GT(loop.engine->counters().retransmissions_sent, 100u);
  }
}

}  // namespace
}  // namespace mrc::test
