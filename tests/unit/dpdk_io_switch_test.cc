// SPDX-License-Identifier: BSD-2-Clause
// What becomes of frames at ports that mrcd shares: which programs may send, who gets which, and what a link
// of two ends does when one of them ends, sleeps or writes nonsense.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/link/link_end.h"
#include "dpdk_io/link/link_number.h"
#include "dpdk_io/share/frame_gate.h"
#include "dpdk_io/share/frame_switch.h"
#include "dpdk_io/share/locked_carrier.h"
#include "dpdk_io/switch_thread.h"
#include "dpdk_io/wire/frame_filter.h"
#include "examples/shared/patience.h"
#include "tests/unit/dpdk_io_shared_frames.h"

namespace mrc {
namespace {

using namespace share_test;

// A wire in memory.
class FakeWire final : public Carrier {
 public:
  size_t receive(std::span<RxFrame> frames) override {
    size_t count = 0;
    for (; count < frames.size() && count < arriving.size(); ++count)
      frames[count] = {arriving[count].data(), static_cast<uint32_t>(arriving[count].size()), nullptr};
    return count;
  }
  void release(std::span<const RxFrame> frames) override {
    arriving.erase(arriving.begin(), arriving.begin() + static_cast<ptrdiff_t>(frames.size()));
  }
  size_t transmit_room(const MacAddress&) override { return room; }
  size_t acquire(std::span<TxFrame> frames) override {
    for (TxFrame& frame : frames) frame = TxFrame{new uint8_t[kFrameBytesMax], 0, nullptr};
    return frames.size();
  }
  void transmit(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) sent.emplace_back(frame.data, frame.data + frame.length);
    discard(frames);
  }
  void discard(std::span<const TxFrame> frames) override {
    for (const TxFrame& frame : frames) delete[] frame.data;
  }

  std::deque<Bytes> arriving;
  std::vector<Bytes> sent;
  size_t room = kBurst;
};

FrameGate make_gate() {
  return FrameGate({[](const IpAddress& address) { return address == kHere; },
                    [](Plane) { return std::optional(kOuterHere); }});
}

// ------------------------------------------------------------------------------------------- the gate

TEST(FrameGateTest, LetsOutWhatIsOurs) {
  FrameGate gate = make_gate();
  const Qpn own = first_qpn_of(5);
  EXPECT_TRUE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}}), 0));
  EXPECT_TRUE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}, .from = own}), 0));
  EXPECT_TRUE(gate.lets_out(5, 0, make_frame({.to = Qpn{1}, .from = Qpn{1}}), 0));  // connection manager
  EXPECT_TRUE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}, .outer = kOuterHere}), 0));
}

TEST(FrameGateTest, KeepsWhatIsForged) {
  FrameGate gate = make_gate();
  EXPECT_TRUE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}}), 0));
  // Another host's address, also right behind one that was good.
  EXPECT_FALSE(gate.lets_out(5, 0, make_frame({.source = kThere, .to = Qpn{77}}), 1));
  // Another host's outer address.
  EXPECT_FALSE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}, .outer = IpAddress{{0xFC, 1}}}), 0));
  // A datagram of another program's queue pair.
  EXPECT_FALSE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}, .from = first_qpn_of(6)}), 0));
  // To a group.
  Bytes group = make_frame({.to = Qpn{77}});
  group[0] = 0xFF;
  EXPECT_FALSE(gate.lets_out(5, 0, group, 0));
  // Not RoCE, or cut anywhere before the end of the headers.
  Bytes other_port = make_frame({.to = Qpn{77}});
  other_port[36] = 0;
  EXPECT_FALSE(gate.lets_out(5, 0, other_port, 0));
  const Bytes datagram = make_frame({.to = Qpn{77}, .from = first_qpn_of(5)});
  for (size_t bytes = 0; bytes < 14 + 20 + 8 + 12 + 8; ++bytes)
    EXPECT_FALSE(gate.lets_out(5, 0, std::span(datagram).first(bytes), 0)) << bytes;
}

TEST(FrameGateTest, AnAddressThatIsGoneIsNotBelievedForLong) {
  bool is_here = true;
  FrameGate gate({[&](const IpAddress&) { return is_here; }, [](Plane) { return std::nullopt; }});
  const Bytes frame = make_frame({.to = Qpn{77}});
  EXPECT_TRUE(gate.lets_out(5, 0, frame, kSecond));
  is_here = false;
  EXPECT_FALSE(gate.lets_out(5, 0, frame, 2 * kSecond));
  EXPECT_FALSE(gate.lets_out(5, 0, make_frame({.to = Qpn{77}, .outer = kOuterHere}), 0));  // no SRv6 here
}

// ---------------------------------------------------------------------------------- a link of two ends

// Both ends of a link between a program and mrcd, in one process.
struct Ends {
  explicit Ends(uint32_t number) : slot(number) {
    std::string error;
    EXPECT_TRUE(program.open({slot, kPlanesMax, 11}, &error)) << error;
    EXPECT_TRUE(sharer.open({kSharerSlot, kPlanesMax, 22}, &error)) << error;
    join();
  }
  void join() {
    const uint64_t one = new_link_number(), two = new_link_number();
    EXPECT_TRUE(program.join(one, {kSharerSlot, 22, two}, copy_of(sharer)));
    EXPECT_TRUE(sharer.join(two, {slot, 11, one}, copy_of(program)));
  }
  static const DescriptorPair& copy_of(const LinkEnd& end) {
    static DescriptorPair pairs[8];
    static size_t next = 0;
    DescriptorPair& pair = pairs[next++ % 8];
    if (pair.arena >= 0) close(pair.arena);
    if (pair.bells >= 0) close(pair.bells);
    pair.arena = dup(end.memory().arena);
    pair.bells = dup(end.memory().bells);
    return pair;
  }
  const uint32_t slot;
  LinkEnd program;
  LinkEnd sharer;
};

TEST(LinkEndTest, CarriesFramesBothWays) {
  Ends ends(5);
  const Bytes frame = make_frame({.to = Qpn{77}});
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(send_copies(ends.program, frame, 3, 100), 100u);
    std::vector<Plane> planes;
    const auto came = receive_all(ends.sharer, &planes);
    EXPECT_EQ(came, std::vector<Bytes>(100, frame));
    EXPECT_EQ(planes, std::vector<Plane>(100, 3));
    EXPECT_EQ(send_copies(ends.sharer, frame, 1, 50), 50u);
    EXPECT_EQ(receive_all(ends.program).size(), 50u);
  }
}

TEST(LinkEndTest, AReaderThatDoesNotReadKeepsARing) {
  Ends ends(5);
  const Bytes frame = make_frame({.to = Qpn{77}});
  EXPECT_EQ(send_copies(ends.sharer, frame, 0, 3000), Arena::kRingFrames);
  EXPECT_EQ(ends.sharer.counters().dropped_ring_full, 3000 - Arena::kRingFrames);
  EXPECT_EQ(ends.sharer.transmit_room(), 0u);
  EXPECT_EQ(receive_all(ends.program).size(), Arena::kRingFrames);
  EXPECT_GT(ends.sharer.transmit_room(), 0u);
  EXPECT_EQ(send_copies(ends.sharer, frame, 0, 100), 100u);
}

TEST(LinkEndTest, OutlivesTheOtherEnd) {
  Ends ends(5);
  const Bytes frame = make_frame({.to = Qpn{77}});
  TxFrame held[kBurst];
  EXPECT_EQ(ends.program.acquire(held), kBurst);
  for (int life = 0; life < 50; ++life) {
    send_copies(ends.program, frame, 0, 200);  // nobody reads them any more
    ends.program.part();
    EXPECT_EQ(send_copies(ends.program, frame, 0, 40), 0u);
    EXPECT_TRUE(receive_all(ends.program).empty());
    ends.sharer.part();
    ends.join();
    // A buffer from before is still good.
    std::memcpy(held[life % kBurst].data, frame.data(), frame.size());
    held[life % kBurst].length = static_cast<uint32_t>(frame.size());
    ends.program.transmit({&held[life % kBurst], 1});
    EXPECT_EQ(receive_all(ends.sharer).size(), 1u);
    EXPECT_EQ(ends.program.acquire({&held[life % kBurst], 1}), 1u);
  }
  ends.program.discard(held);
}

TEST(LinkEndTest, ForeignMemoryIsNotMapped) {
  Ends ends(5), others(6);
  ends.program.part();
  EXPECT_FALSE(ends.program.join(1, {kSharerSlot, 23, 2}, Ends::copy_of(ends.sharer)));  // another life
  EXPECT_FALSE(ends.program.join(1, {7, 22, 2}, Ends::copy_of(ends.sharer)));            // another slot
  EXPECT_FALSE(ends.program.join(1, {kSharerSlot, 22, 0}, Ends::copy_of(ends.sharer)));  // no link
  DescriptorPair none;
  EXPECT_FALSE(ends.program.join(1, {kSharerSlot, 22, 2}, none));
}

// ----------------------------------------------------------------------------------------- the switch

class FrameSwitchTest : public testing::Test {
 protected:
  FrameSwitchTest() {
    switch_.add_wire(0, wires_[0]);
    switch_.add_wire(1, wires_[1]);
  }
  FrameGate gate_ = make_gate();
  FakeWire wires_[2];
  Ends one_{1}, two_{2};
  FrameSwitch switch_{gate_};
};

TEST_F(FrameSwitchTest, EachProgramGetsItsOwnAndNobodyElses) {
  switch_.add_program(1, one_.sharer);
  switch_.add_program(2, two_.sharer);
  const Bytes to_one = make_frame({.source = kThere, .destination = kHere, .to = first_qpn_of(1)});
  const Bytes to_two =
      make_frame({.source = kThere, .destination = kHere, .to = Qpn{first_qpn_of(2).value() + 9}});
  const Bytes to_all = make_frame({.source = kThere, .destination = kHere, .to = kEndpointQpn});
  const Bytes to_nobody = make_frame({.source = kThere, .destination = kHere, .to = first_qpn_of(3)});
  wires_[0].arriving = {to_one, to_nobody, to_all, Bytes(60, 0)};
  wires_[1].arriving = {to_two, to_one};
  EXPECT_EQ(switch_.turn(0, false), 6u);
  std::vector<Plane> planes;
  EXPECT_EQ(receive_all(one_.program, &planes), (std::vector<Bytes>{to_one, to_all, to_one}));
  EXPECT_EQ(planes, (std::vector<Plane>{0, 0, 1}));
  EXPECT_EQ(receive_all(two_.program), (std::vector<Bytes>{to_all, to_two}));
  EXPECT_EQ(switch_.counters().for_nobody, 2u);
  // Nobody on a wire has a station address of this host's links.
  Bytes from_station = to_one;
  from_station[6] = 0x02, from_station[7] = 0x4D, from_station[8] = 0x52;
  wires_[0].arriving = {from_station};
  switch_.turn(0, false);
  EXPECT_TRUE(receive_all(one_.program).empty());
}

TEST_F(FrameSwitchTest, WhatProgramsSendLeavesByItsPlane) {
  switch_.add_program(1, one_.sharer);
  const Bytes frame = make_frame({.to = Qpn{77}});
  send_copies(one_.program, frame, 0, 3);
  send_copies(one_.program, frame, 1, 4);
  send_copies(one_.program, frame, 2, 5);  // no port
  EXPECT_EQ(switch_.turn(0, false), 12u);
  EXPECT_EQ(wires_[0].sent, std::vector<Bytes>(3, frame));
  EXPECT_EQ(wires_[1].sent.size(), 4u);
  EXPECT_EQ(switch_.counters().without_wire, 5u);
  switch_.set_up(1, false);
  send_copies(one_.program, frame, 1, 4);
  switch_.turn(0, false);
  EXPECT_EQ(wires_[1].sent.size(), 4u);
}

TEST_F(FrameSwitchTest, ForgedFramesCostNobodyElse) {
  switch_.add_program(1, one_.sharer);
  switch_.add_program(2, two_.sharer);
  const Bytes good = make_frame({.to = Qpn{77}});
  const Bytes forged = make_frame({.source = kThere, .to = Qpn{77}});
  send_copies(one_.program, forged, 0, 100);
  send_copies(two_.program, good, 0, 100);
  for (int i = 0; i < 20; ++i) switch_.turn(0, false);
  EXPECT_EQ(wires_[0].sent, std::vector<Bytes>(100, good));
  EXPECT_EQ(switch_.counters().not_let_out, 100u);
}

TEST_F(FrameSwitchTest, AFullWireHoldsProgramsBackButNotForEver) {
  switch_.add_program(1, one_.sharer);
  send_copies(one_.program, make_frame({.to = Qpn{77}}), 0, 100);
  wires_[0].room = 0;
  EXPECT_EQ(switch_.turn(kSecond, false), 0u);
  EXPECT_EQ(switch_.turn(kSecond + kMillisecond, false), 0u);
  wires_[0].room = kBurst;
  EXPECT_EQ(switch_.turn(kSecond + 2 * kMillisecond, false), kBurst);
  wires_[1].room = 0;  // one that is stuck keeps nobody from the others
  EXPECT_EQ(switch_.turn(2 * kSecond, false), 0u);
  EXPECT_EQ(switch_.turn(3 * kSecond, false), kBurst);
}

TEST_F(FrameSwitchTest, TheLastWordsOfAProgramLeave) {
  switch_.add_program(1, one_.sharer);
  send_copies(one_.program, make_frame({.to = Qpn{77}}), 0, 200);
  switch_.remove_program(1, 0);
  EXPECT_EQ(wires_[0].sent.size(), 200u);
  EXPECT_EQ(switch_.program_count(), 0u);
}

TEST_F(FrameSwitchTest, AProgramThatSleptForLongIsHeardAgain) {
  switch_.add_program(1, one_.sharer);
  for (int i = 0; i < 5000; ++i) switch_.turn(0, false);
  send_copies(one_.program, make_frame({.to = Qpn{77}}), 0, 1);
  for (int i = 0; i < 20; ++i) switch_.turn(0, false);
  EXPECT_EQ(wires_[0].sent.size(), 1u);
  for (int i = 0; i < 5000; ++i) switch_.turn(0, false);
  send_copies(one_.program, make_frame({.to = Qpn{77}}), 0, 1);
  switch_.turn(0, true);
  EXPECT_EQ(wires_[0].sent.size(), 2u);
}

// Threads of mrcd, each with a queue of the wire: frames for a program come by all of them, and what it sends
// leaves by one, in its order.
class SwitchThreadTest : public testing::Test {
 protected:
  static constexpr uint32_t kThreads = 2;
  static constexpr uint32_t kBatch = 50;  // of a thread for a program, and of a program

  SwitchThreadTest() {
    const FrameGate::Rules rules{[](const IpAddress& address) { return address == kHere; },
                                 [](Plane) { return std::nullopt; }};
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads_.push_back(std::make_unique<SwitchThread>(rules));
      threads_[i]->change([this, i](FrameSwitch& frames) {
        frames.add_wire(0, queues_[i]);
        for (uint32_t p = 0; p < kThreads; ++p)
          frames.add_program(p + 1, locked_[p], SlotPart{i, kThreads}.has(p + 1));
      });
      threads_[i]->start();
    }
  }
  ~SwitchThreadTest() override { threads_.clear(); }

  static Bytes numbered(const FrameForm& form, uint32_t number) {
    Bytes frame = make_frame(form);
    std::memcpy(frame.data() + frame.size() - 8, &number, sizeof number);
    return frame;
  }
  static uint32_t number_of(const Bytes& frame) {
    uint32_t number = 0;
    std::memcpy(&number, frame.data() + frame.size() - 8, sizeof number);
    return number;
  }
  // Frames by every queue for every program; the thread is in the upper half of their numbers.
  void let_arrive(uint32_t first) {
    for (uint32_t i = 0; i < kThreads; ++i)
      threads_[i]->change([&](FrameSwitch&) {
        for (uint32_t number = first; number < first + kBatch; ++number)
          for (uint32_t slot = 1; slot <= kThreads; ++slot)
            queues_[i].arriving.push_back(numbered(
                {.source = kThere, .destination = kHere, .to = first_qpn_of(slot)}, i << 16 | number));
      });
  }
  std::vector<Bytes> receive_count(LinkEnd& program, size_t count) {
    std::vector<Bytes> all;
    const Nanoseconds until = monotonic_now() + 60 * kSecond;
    while (all.size() < count && monotonic_now() < until) {
      for (Bytes& frame : receive_all(program)) all.push_back(std::move(frame));
      std::this_thread::yield();
    }
    return all;
  }
  std::vector<Bytes> sent_by(uint32_t queue) {
    std::vector<Bytes> sent;
    threads_[queue]->change([&](FrameSwitch&) { sent = queues_[queue].sent; });
    return sent;
  }

  Ends programs_[kThreads] = {Ends(1), Ends(2)};
  LockedCarrier locked_[kThreads] = {LockedCarrier(programs_[0].sharer), LockedCarrier(programs_[1].sharer)};
  FakeWire queues_[kThreads];
  std::vector<std::unique_ptr<SwitchThread>> threads_;
};

TEST_F(SwitchThreadTest, FramesReachAProgramByAnyQueue) {
  for (uint32_t first = 0; first < 40 * kBatch; first += kBatch) {
    let_arrive(first);
    for (Ends& program : programs_) {
      uint32_t next[kThreads] = {first, first};
      const auto came = receive_count(program.program, kThreads * kBatch);
      ASSERT_EQ(came.size(), kThreads * kBatch);
      for (const Bytes& frame : came) ASSERT_EQ(number_of(frame) & 0xFFFF, next[number_of(frame) >> 16]++);
    }
  }
}

TEST_F(SwitchThreadTest, WhatAProgramSendsKeepsItsOrder) {
  constexpr uint32_t kRounds = 40;
  for (uint32_t first = 0; first < kRounds * kBatch; first += kBatch) {
    let_arrive(first);  // at the same time
    for (Ends& program : programs_)
      for (uint32_t number = first; number < first + kBatch; ++number)
        ASSERT_EQ(send_copies(program.program, numbered({.to = Qpn{77 + program.slot}}, number), 0, 1), 1u);
    for (Ends& program : programs_)
      ASSERT_EQ(receive_count(program.program, kThreads * kBatch).size(), kThreads * kBatch);
    const Nanoseconds until = monotonic_now() + 60 * kSecond;
    for (uint32_t i = 0; i < kThreads; ++i)
      while (sent_by(i).size() < first + kBatch && monotonic_now() < until) std::this_thread::yield();
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    const auto sent = sent_by(i);
    ASSERT_EQ(sent.size(), kRounds * kBatch);
    const uint32_t slot = SlotPart{i, kThreads}.has(1) ? 1 : 2;
    for (uint32_t number = 0; number < sent.size(); ++number)
      ASSERT_EQ(sent[number], numbered({.to = Qpn{77 + slot}}, number));
  }
}

TEST_F(SwitchThreadTest, AProgramLeavesWhileFramesCome) {
  let_arrive(0);
  ASSERT_EQ(send_copies(programs_[0].program, make_frame({.to = Qpn{77}}), 0, kBatch), kBatch);
  for (const auto& thread : threads_)
    thread->change([](FrameSwitch& frames) { frames.remove_program(1, monotonic_now()); });
  EXPECT_EQ(sent_by(0).size() + sent_by(1).size(), kBatch);  // its last words
  let_arrive(kBatch);
  EXPECT_EQ(receive_count(programs_[1].program, 2 * kThreads * kBatch).size(), 2 * kThreads * kBatch);
  EXPECT_LE(receive_all(programs_[0].program).size(), kThreads * kBatch);
}

// Anything in the arena of one program, while another one must be heard.
TEST_F(FrameSwitchTest, AProgramThatWritesNonsenseCostsItsOwnFrames) {
  const char* given = std::getenv("MRC_TEST_SEED");
  const auto seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("MRC_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  // The memory of program 1 as it writes it itself.
  OwnMemory hostile;
  std::string error;
  ASSERT_TRUE(hostile.create(&error)) << error;
  hostile.arena->header = {Arena::kMagic, Arena::kVersion, 1, kPlanesMax, 33};
  LinkEnd sharer;
  ASSERT_TRUE(sharer.open({kSharerSlot, kPlanesMax, 44}, &error)) << error;
  {
    DescriptorPair pair;
    pair.arena = dup(hostile.arena_fd);
    pair.bells = dup(hostile.bells_fd);
    ASSERT_TRUE(sharer.join(7, {1, 33, 9}, pair));
  }
  Arena::Ring& ring = hostile.arena->rings[kSharerSlot];
  ring.reader = 7;
  switch_.add_program(1, sharer);
  switch_.add_program(2, two_.sharer);
  const Bytes good = make_frame({.to = Qpn{77}});
  const Bytes arrives = make_frame({.source = kThere, .destination = kHere, .to = first_qpn_of(2)});
  const Bytes for_hostile = make_frame({.source = kThere, .destination = kHere, .to = first_qpn_of(1)});
  size_t heard = 0;
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < 8; ++i) {
      // Nonsense, often of the turn that is waited for.
      uint64_t word = random();
      if (random() % 4 != 0) word = (word & ~uint64_t{0xFF}) | (random() % 4 + 1);
      ring.entries[random() % Arena::kRingFrames] = word;
    }
    hostile.arena->taken[kSharerSlot].count =
        random() % 3 == 0 ? random() : uint64_t{7} << 32 | random() % 600;
    std::memcpy(hostile.arena->frame(static_cast<uint32_t>(random() % Arena::kFramesMax)), good.data(),
                random() % good.size());
    if (random() % 50 == 0) ring.reader = random() % 2 == 0 ? 7 : random();
    wires_[0].arriving = {for_hostile, arrives};
    ASSERT_EQ(send_copies(two_.program, good, 0, 1), 1u);
    switch_.turn(static_cast<Nanoseconds>(round) * kMillisecond, false);
    heard += receive_all(two_.program).size();
  }
  EXPECT_EQ(heard, 2000u);
  size_t good_sent = 0;
  for (const Bytes& frame : wires_[0].sent) {
    const auto sources = sources_of(frame);
    ASSERT_TRUE(sources);
    EXPECT_EQ(sources->address, kHere);
    good_sent += frame == good ? 1 : 0;
  }
  EXPECT_GE(good_sent, 2000u);
  switch_.remove_program(1, 0);
}

}  // namespace
}  // namespace mrc
