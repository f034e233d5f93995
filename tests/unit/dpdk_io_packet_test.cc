// SPDX-License-Identifier: BSD-2-Clause
// Ports by packet sockets, over a pair of virtual interfaces in a network namespace of the test's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/packet/packet_carrier.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

constexpr uint32_t kLeftSlot = 1;
constexpr uint32_t kRightSlot = 2;
constexpr size_t kNumberAt = kEthernetBytes + kIpv4Bytes + kUdpBytes + Bth::kBytes;

bool run(const char* command) {
  return std::system(command) == 0;  // NOLINT(concurrency-mt-unsafe): of a thread that is waited for
}

bool make_pair_of_interfaces() {
  return run(
      "ip link add mrcl mtu 4300 type veth peer name mrcr mtu 4300 && ip link set mrcl up && ip link set "
      "mrcr up");
}

// A thread has its own network; that of the other tests stays as it is.
void in_own_network(const std::function<void()>& test) {
  bool made = false;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0 || !make_pair_of_interfaces()) return;
    made = true;
    test();
  }).join();
  if (!made) GTEST_SKIP() << "network namespaces cannot be made here";
}

std::unique_ptr<PacketCarrier> open_on(const char* interface, std::optional<uint32_t> slot,
                                       SlotPart part = {}) {
  PortConfig port;
  port.backend = PortBackend::kAfPacket;
  port.interface = interface;
  std::string error;
  auto carrier = PacketCarrier::open(port, {slot, part}, &error);
  EXPECT_NE(carrier, nullptr) << error;
  return carrier;
}

struct Ends {
  std::unique_ptr<PacketCarrier> left = open_on("mrcl", kLeftSlot);
  std::unique_ptr<PacketCarrier> right = open_on("mrcr", kRightSlot);
  bool open() const { return left != nullptr && right != nullptr; }
};

// A frame to that slot with a number in it, and `payload` bytes behind it.
void write_frame(TxFrame* frame, const MacAddress& to, uint32_t slot, uint32_t number, size_t payload = 64) {
  NetworkHeader network;
  network.destination_mac = to;
  network.source = IpAddress::v4(10, 0, 0, 1);
  network.destination = IpAddress::v4(10, 0, 0, 2);
  FrameWriter writer(frame->data, network, Entropy{0xC000}, 0, Ecn::kNotCapable, Bth::kBytes + payload);
  Bth bth;
  bth.destination = first_qpn_of(slot);
  writer.add(bth);
  std::memset(frame->data + kNumberAt, static_cast<uint8_t>(number), payload + 4);
  std::memcpy(frame->data + kNumberAt, &number, sizeof number);
  frame->length = static_cast<uint32_t>(kNumberAt + payload + 4);
}

uint32_t number_in(const RxFrame& frame) {
  uint32_t number = 0;
  std::memcpy(&number, frame.data + kNumberAt, sizeof number);
  return number;
}

bool send(Carrier& from, const MacAddress& to, uint32_t slot, uint32_t number, size_t payload = 64) {
  TxFrame frame;
  if (from.acquire({&frame, 1}) != 1) return false;
  write_frame(&frame, to, slot, number, payload);
  from.transmit({&frame, 1});
  return true;
}

// The next frame; false: none for long.
bool receive(Carrier& carrier, RxFrame* frame) {
  for (int i = 0; i < 5000; ++i) {
    if (carrier.receive({frame, 1}) == 1) return true;
    usleep(200);
  }
  return false;
}

bool expect_next(Carrier& carrier, uint32_t number) {
  RxFrame frame;
  if (!receive(carrier, &frame)) {
    ADD_FAILURE() << "nothing comes instead of " << number;
    return false;
  }
  EXPECT_EQ(number_in(frame), number);
  carrier.release({&frame, 1});
  return !testing::Test::HasFailure();
}

TEST(PacketCarrierTest, CarriesThisProcessesFramesInOrder) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    const MacAddress right = ends.right->address();
    // Several times around the ring.
    for (uint32_t i = 0; i < 3 * PacketSocket::kSlotsIn; ++i) {
      const size_t payload = 64 + i % 4000;
      ASSERT_TRUE(send(*ends.left, right, kRightSlot + 1, 7));  // another process's
      ASSERT_TRUE(send(*ends.left, right, kRightSlot, i, payload));
      RxFrame frame;
      ASSERT_TRUE(receive(*ends.right, &frame));
      ASSERT_EQ(number_in(frame), i);
      ASSERT_EQ(frame.length, kNumberAt + payload + 4);
      ASSERT_EQ(frame.data[frame.length - 1], static_cast<uint8_t>(i));
      ASSERT_EQ(std::memcmp(frame.data + 6, ends.left->address().bytes.data(), 6), 0);
      ends.right->release({&frame, 1});
    }
    EXPECT_EQ(ends.right->counters().frames_received, 3 * PacketSocket::kSlotsIn);
    EXPECT_EQ(ends.left->counters().frames_sent, 6 * PacketSocket::kSlotsIn);
    RxFrame none;
    EXPECT_EQ(ends.left->receive({&none, 1}), 0u);  // what it has sent itself
  });
}

TEST(PacketCarrierTest, FramesStayUntilTheyAreReleasedInAnyOrder) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    const MacAddress right = ends.right->address();
    std::deque<std::pair<uint32_t, RxFrame>> held;
    for (uint32_t i = 0; i < 3 * PacketSocket::kSlotsIn; ++i) {
      ASSERT_TRUE(send(*ends.left, right, kRightSlot, i));
      RxFrame frame;
      ASSERT_TRUE(receive(*ends.right, &frame));
      ASSERT_EQ(number_in(frame), i);
      held.emplace_back(i, frame);
      if (held.size() < 40) continue;
      // A late one first.
      const size_t which = size_t{7} * i % held.size();
      ASSERT_EQ(number_in(held[which].second), held[which].first);
      ends.right->release({&held[which].second, 1});
      held.erase(held.begin() + static_cast<ptrdiff_t>(which));
      // The ring goes no further than to the first that is held.
      if (held.front().first + 300 < i) {
        ends.right->release({&held.front().second, 1});
        held.pop_front();
      }
    }
    for (const auto& [number, frame] : held) {
      EXPECT_EQ(number_in(frame), number);
      ends.right->release({&frame, 1});
    }
  });
}

TEST(PacketCarrierTest, AReaderThatKeepsAllLosesWhatComesThen) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    const MacAddress right = ends.right->address();
    std::vector<RxFrame> held(PacketSocket::kSlotsIn);
    for (uint32_t i = 0; i < PacketSocket::kSlotsIn; ++i) {
      ASSERT_TRUE(send(*ends.left, right, kRightSlot, i));
      ASSERT_TRUE(receive(*ends.right, &held[i]));
    }
    ASSERT_TRUE(send(*ends.left, right, kRightSlot, 99999));
    usleep(20000);
    RxFrame none;
    EXPECT_EQ(ends.right->receive({&none, 1}), 0u);  // not what it has, again
    for (uint32_t i = 0; i < PacketSocket::kSlotsIn; ++i) EXPECT_EQ(number_in(held[i]), i);
    ends.right->release(held);
    ASSERT_TRUE(send(*ends.left, right, kRightSlot, 5));
    EXPECT_TRUE(expect_next(*ends.right, 5));
  });
}

TEST(PacketCarrierTest, WhatIsDiscardedInBetweenIsPassedOver) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    const MacAddress right = ends.right->address();
    uint32_t number = 0;
    for (uint32_t round = 0; round < 300; ++round) {
      TxFrame frames[8];
      ASSERT_EQ(ends.left->acquire(frames), 8u);
      std::vector<TxFrame> leaving;
      for (uint32_t i = 0; i < 8; ++i) {
        if ((round >> (i % 5) & 1) != 0) {
          ends.left->discard({&frames[i], 1});
          continue;
        }
        write_frame(&frames[i], right, kRightSlot, number + static_cast<uint32_t>(leaving.size()));
        leaving.push_back(frames[i]);
      }
      ends.left->transmit(leaving);
      for (size_t i = 0; i < leaving.size(); ++i) ASSERT_TRUE(expect_next(*ends.right, number++));
    }
  });
}

// As of a plane that is a black hole: the engine keeps some buffers and discards the others, for long.
TEST(PacketCarrierTest, DiscardingForeverUsesNothingUp) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    std::deque<TxFrame> held;
    for (uint32_t round = 0; round < 5 * PacketSocket::kSlotsOut; ++round) {
      TxFrame frame;
      ASSERT_EQ(ends.left->acquire({&frame, 1}), 1u) << round;
      held.push_back(frame);
      if (held.size() < 20) continue;
      ends.left->discard({&held.front(), 1});
      held.pop_front();
    }
    for (const TxFrame& frame : held) ends.left->discard({&frame, 1});
    // All of it at once.
    std::vector<TxFrame> all(PacketSocket::kSlotsOut + 1);
    size_t count = 0;
    while (const size_t more = ends.left->acquire(std::span(all).subspan(count))) count += more;
    EXPECT_EQ(count, PacketSocket::kSlotsOut);
    EXPECT_GT(ends.left->counters().no_buffers, 0u);
    ends.left->discard(std::span(all).first(count));
    ASSERT_TRUE(send(*ends.left, ends.right->address(), kRightSlot, 42));
    EXPECT_TRUE(expect_next(*ends.right, 42));
  });
}

TEST(PacketCarrierTest, OpensAgainWhileTheDataPathHasFrames) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    ASSERT_TRUE(send(*ends.left, ends.right->address(), kRightSlot, 1));
    RxFrame read;
    ASSERT_TRUE(receive(*ends.right, &read));
    TxFrame written[2];
    ASSERT_EQ(ends.right->acquire(written), 2u);
    const MacAddress before = ends.right->address();
    ASSERT_TRUE(run("ip link del mrcl") && make_pair_of_interfaces());
    std::string error;
    ASSERT_TRUE(ends.left->reopen(&error)) << error;
    ASSERT_TRUE(ends.right->reopen(&error)) << error;
    EXPECT_FALSE(ends.right->address() == before);
    ends.right->tidy();
    EXPECT_EQ(number_in(read), 1u);  // its memory is still there
    ends.right->release({&read, 1});
    write_frame(&written[0], ends.left->address(), kLeftSlot, 2);
    ends.right->transmit({written, 1});  // nowhere
    ends.right->discard({written + 1, 1});
    EXPECT_EQ(ends.right->counters().dropped_without_link, 1u);
    ends.right->tidy();
    ASSERT_TRUE(send(*ends.right, ends.left->address(), kLeftSlot, 3));
    EXPECT_TRUE(expect_next(*ends.left, 3));
    ASSERT_TRUE(run("ip link del mrcl"));
    EXPECT_FALSE(ends.left->reopen(&error));
    EXPECT_NE(error.find("mrcl"), std::string::npos) << error;
    TxFrame none;
    RxFrame nothing;
    EXPECT_EQ(ends.left->acquire({&none, 1}), 0u);
    EXPECT_EQ(ends.left->receive({&nothing, 1}), 0u);
    EXPECT_EQ(ends.left->transmit_room(), 0u);
  });
}

TEST(PacketCarrierTest, WhatALinkThatIsDownDoesNotTakeWaits) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    const MacAddress right = ends.right->address();
    ASSERT_TRUE(run("ip link set mrcl down"));
    uint32_t sent = 0;
    while (ends.left->transmit_room() > 0) ASSERT_TRUE(send(*ends.left, right, kRightSlot, sent++));
    EXPECT_GT(sent, kBurst);
    EXPECT_LT(sent, PacketSocket::kSlotsOut);
    ASSERT_TRUE(run("ip link set mrcl up"));
    RxFrame none;
    for (int i = 0; i < 5000 && ends.left->transmit_room() == 0; ++i) {
      ends.left->receive({&none, 1});
      usleep(200);
    }
    EXPECT_EQ(ends.left->transmit_room(), kBurst);
    ASSERT_TRUE(send(*ends.left, right, kRightSlot, sent));
    // The kernel may have lost some while the link came up.
    for (;;) {
      RxFrame frame;
      ASSERT_TRUE(receive(*ends.right, &frame));
      const uint32_t number = number_in(frame);
      ends.right->release({&frame, 1});
      ASSERT_LE(number, sent);
      if (number == sent) break;
    }
  });
}

TEST(PacketCarrierTest, HearsAllIfItIsTold) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    const MacAddress right = ends.right->address();
    ends.right->hear_all(true);
    ASSERT_TRUE(send(*ends.left, right, kRightSlot + 5, 77));
    RxFrame frame;
    bool heard = false;
    for (int i = 0; i < 100 && !heard && receive(*ends.right, &frame); ++i) {  // among the kernel's own
      heard = frame.length == kNumberAt + 68 && number_in(frame) == 77;
      ends.right->release({&frame, 1});
    }
    EXPECT_TRUE(heard);
    ends.right->hear_all(false);
    while (ends.right->receive({&frame, 1}) == 1) ends.right->release({&frame, 1});
    ASSERT_TRUE(send(*ends.left, right, kRightSlot + 5, 78));
    ASSERT_TRUE(send(*ends.left, right, kRightSlot, 79));
    EXPECT_TRUE(expect_next(*ends.right, 79));
  });
}

TEST(PacketCarrierTest, PartsDivideWhatComes) {
  in_own_network([] {
    Ends ends;
    ASSERT_TRUE(ends.open());
    constexpr uint32_t kParts = 3;
    std::unique_ptr<PacketCarrier> parts[kParts];
    for (uint32_t i = 0; i < kParts; ++i) {
      parts[i] = open_on("mrcr", std::nullopt, {i, kParts});
      ASSERT_NE(parts[i], nullptr);
    }
    const MacAddress right = parts[0]->address();
    for (uint32_t slot = 0; slot < 30; ++slot) {  // the first is everybody's, and so the first part's
      ASSERT_TRUE(send(*ends.left, right, slot, slot));
      EXPECT_TRUE(expect_next(*parts[slot % kParts], slot));
    }
    RxFrame none;
    for (const auto& part : parts) EXPECT_EQ(part->receive({&none, 1}), 0u);
  });
}

TEST(PacketCarrierTest, SaysWhyItCannotOpen) {
  in_own_network([] {
    PortConfig port;
    port.interface = "mrc-none";
    port.where = "file:3: ";
    std::string error;
    EXPECT_EQ(PacketCarrier::open(port, {1, {}}, &error), nullptr);
    EXPECT_NE(error.find("mrc: file:3: port of plane 0 (mrc-none): "), std::string::npos) << error;
    port.interface = "lo";  // its address is one of zeros, and it works like any other
    EXPECT_NE(PacketCarrier::open(port, {1, {}}, &error), nullptr) << error;
  });
}

}  // namespace
}  // namespace mrc
