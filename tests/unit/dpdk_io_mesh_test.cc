// SPDX-License-Identifier: BSD-2-Clause
// Processes joined by links: contents, planes, faults, peers that leave or die under load.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io_peer.h"
#include "examples/shared/patience.h"
#include "libmrc/port/station.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

using test::Device;
using test::Peer;
using test::seconds_now;

std::string text(uint32_t number) {
  return std::to_string(number);
}

// Takes one burst; returns how many frames came, and fails the test for one that is not as it was sent.
size_t receive_checked(Device& device, std::set<uint32_t>* outstanding) {
  RxFrame frames[kBurst];
  const size_t count = device.link().receive(frames);
  for (size_t i = 0; i < count; ++i) {
    uint32_t seed = 0;
    EXPECT_TRUE(test::check_pattern(frames[i], &seed));
    EXPECT_EQ(outstanding->erase(seed), 1u) << "frame " << seed << " came twice or was never sent";
  }
  device.link().release({frames, count});
  return count;
}

// Sends `total` frames of all sizes over all planes to an echo and checks what comes back.
void exchange(Device& device, uint32_t slot, uint32_t total) {
  constexpr size_t kOutstandingMax = 256;
  std::set<uint32_t> outstanding;
  uint32_t next = 0;
  double last_progress = seconds_now();
  while (next < total || !outstanding.empty()) {
    for (size_t plane = 0; plane < device.planes(); ++plane) {
      for (int i = 0; i < 16 && next < total && outstanding.size() < kOutstandingMax; ++i) {
        const uint32_t span = static_cast<uint32_t>(kFrameBytesMax) - test::kPatternBytesMin + 1;
        if (!test::send_pattern(device, plane, slot, next, test::kPatternBytesMin + next * 37 % span)) break;
        outstanding.insert(next++);
      }
      if (receive_checked(device, &outstanding) > 0) last_progress = seconds_now();
    }
    ASSERT_LT(seconds_now() - last_progress, 30 * kPatience)
        << outstanding.size() << " frames missing after " << next;
    sched_yield();
  }
}

class MeshTest : public testing::Test {
 protected:
  test::RunDirectory directory_;
};

class MeshPlanesTest : public MeshTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(MeshPlanesTest, FramesArriveAsTheyWereSent) {
  const uint32_t planes = GetParam();
  {
    Peer peer({"echo", text(planes)});
    const uint32_t slot = peer.read_number();
    Device device(planes);
    ASSERT_TRUE(device.link_to(slot));
    exchange(device, slot, 20'000);  // all sizes several times
    peer.close_input();
    EXPECT_EQ(peer.wait_for_exit(), 0);
  }
  EXPECT_EQ(directory_.leftovers(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Planes, MeshPlanesTest, testing::Values(1, 4, 8));

TEST_F(MeshTest, TheOtherWayRound) {  // the echo is the client of the link
  Device device;
  Peer peer({"echo", "4"});
  const uint32_t slot = peer.read_number();
  ASSERT_GT(slot, device.slot());
  ASSERT_TRUE(device.link_to(slot));
  exchange(device, slot, 20'000);
}

TEST_F(MeshTest, DifferentNumbersOfPlanes) {
  Device device(4);
  Peer peer({"echo", "2"});
  const uint32_t slot = peer.read_number();
  ASSERT_TRUE(device.link_to(slot));
  exchange(device, slot, 5'000);
}

TEST_F(MeshTest, ThreePeersAtOnce) {
  Device device;
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(std::make_unique<Peer>(std::vector<std::string>{"echo", "4"}));
  std::vector<uint32_t> slots;
  for (auto& peer : peers) slots.push_back(peer->read_number());
  for (const uint32_t slot : slots) ASSERT_TRUE(device.link_to(slot));
  for (const uint32_t slot : slots) exchange(device, slot, 3'000);
}

TEST_F(MeshTest, Loopback) {
  Device device;
  ASSERT_TRUE(device.link_to(device.slot()));
  exchange(device, device.slot(), 20'000);
}

TEST_F(MeshTest, LoopbackIsBounded) {
  Device device;
  uint32_t sent = 0;
  while (sent < 10'000 && test::send_pattern(device, 0, device.slot(), sent, 100)) ++sent;
  EXPECT_LT(sent, 1'000u);
  std::set<uint32_t> outstanding;
  for (uint32_t i = 0; i < sent; ++i) outstanding.insert(i);
  while (receive_checked(device, &outstanding) > 0) {
  }
  EXPECT_TRUE(outstanding.empty());
}

TEST_F(MeshTest, TwoDevicesOfOneProcess) {
  Device first, second;
  ASSERT_NE(first.slot(), second.slot());
  ASSERT_TRUE(first.link_to(second.slot()));
  std::set<uint32_t> outstanding;
  const double give_up = seconds_now() + 10;
  for (uint32_t seed = 0; seed < 1000 && seconds_now() < give_up;) {
    if (test::send_pattern(first, seed % 4, second.slot(), seed, 2000)) outstanding.insert(seed++);
    receive_checked(second, &outstanding);
  }
  const double until = seconds_now() + 5;
  while (!outstanding.empty() && seconds_now() < until) receive_checked(second, &outstanding);
  EXPECT_TRUE(outstanding.empty());
}

// A frame that says whom it is for is not looked into, and one that does not has its source written.
TEST_F(MeshTest, FramesThatKnowTheirStationStayAsTheyAre) {
  Device first, second;
  ASSERT_TRUE(first.link_to(second.slot()));
  EXPECT_EQ(first.link().source_for(1), station_of(first.slot(), 1));
  for (const bool known : {true, false}) {
    TxFrame frame;
    ASSERT_EQ(first.link().acquire({&frame, 1}), 1u);
    std::memset(frame.data, 7, 100);
    const MacAddress to = station_of(second.slot(), 1);
    if (!known) std::memcpy(frame.data, to.bytes.data(), 6);
    frame.plane = 1;
    frame.length = 100;
    frame.station = known ? static_cast<uint16_t>(second.slot()) : 0;
    first.link().transmit({&frame, 1});
    RxFrame received;
    const double until = seconds_now() + 10;
    while (second.link().receive({&received, 1}) == 0) ASSERT_LT(seconds_now(), until);
    MacAddress source;
    std::memcpy(source.bytes.data(), received.data + 6, 6);
    EXPECT_EQ(source, known ? (MacAddress{{7, 7, 7, 7, 7, 7}}) : station_of(first.slot(), 1));
    second.link().release({&received, 1});
  }
}

TEST_F(MeshTest, AddressesAndUnknownDestinations) {
  Device device;
  EXPECT_EQ(device.port(2).address(),
            (MacAddress{{0x02, 0x4D, 0x52, 2, static_cast<uint8_t>(device.slot() >> 8),
                         static_cast<uint8_t>(device.slot())}}));
  MacAddress next_hop;
  EXPECT_FALSE(device.port(0).resolve({}, kEndpointQpn, &next_hop));
  // Nobody has this slot: frames are held back for a moment, then taken and lost.
  EXPECT_TRUE(device.port(0).resolve({}, first_qpn_of(999), &next_hop));
  const double until = seconds_now() + 5;
  while (device.link().transmit_room(next_hop) == 0 && seconds_now() < until) usleep(1000);
  EXPECT_TRUE(test::send_pattern(device, 0, 999, 0, 100));
}

TEST_F(MeshTest, FaultsOfAPlane) {
  Peer peer({"echo", "4"});
  const uint32_t slot = peer.read_number();
  Device device;
  ASSERT_TRUE(device.link_to(slot));
  std::string error;
  FaultPage* faults = map_fault_page(directory_.path(), &error);
  ASSERT_NE(faults, nullptr) << error;
  std::set<uint32_t> outstanding;
  const auto received = [&](double seconds) {
    size_t count = 0;
    for (const double until = seconds_now() + seconds; count == 0 && seconds_now() < until; sched_yield())
      count = receive_checked(device, &outstanding);
    return count;
  };
  uint32_t seed = 0;
  for (const PlaneFault fault : {PlaneFault::kBlackHole, PlaneFault::kLinkDown}) {
    faults->planes[1] = fault;
    EXPECT_EQ(device.port(1).link_up(), fault == PlaneFault::kBlackHole);
    EXPECT_TRUE(device.port(0).link_up());
    outstanding = {seed, seed + 1};
    ASSERT_TRUE(test::send_pattern(device, 0, slot, seed++, 100));
    ASSERT_TRUE(test::send_pattern(device, 1, slot, seed++, 100));
    EXPECT_EQ(received(5), 1u);
    EXPECT_EQ(received(0.2), 0u);
    faults->planes[1] = PlaneFault::kNone;
    EXPECT_TRUE(device.port(1).link_up());
    outstanding = {seed};
    ASSERT_TRUE(test::send_pattern(device, 1, slot, seed++, 100));
    EXPECT_EQ(received(5), 1u);
  }
  unmap_fault_page(faults);
}

size_t open_descriptors() {
  size_t count = 0;
  DIR* listing = opendir("/proc/self/fd");
  while (readdir(listing) != nullptr) ++count;
  closedir(listing);
  return count;
}

// Sends to and receives from everybody as fast as it can for some seconds.
void run_under_load(Device& device, uint32_t slot, double seconds) {
  const double until = seconds_now() + seconds;
  for (uint32_t seed = 0; seconds_now() < until; ++seed) {
    for (size_t plane = 0; plane < device.planes(); ++plane) {
      for (int i = 0; i < 8; ++i) test::send_pattern(device, plane, slot, seed, 60 + seed % 4000);
      RxFrame frames[kBurst];
      const size_t count = device.link().receive(frames);
      for (size_t i = 0; i < count; ++i) {
        uint32_t got = 0;
        EXPECT_TRUE(test::check_pattern(frames[i], &got));
      }
      device.link().release({frames, count});
    }
    sched_yield();
  }
}

// Nothing but bursts.
void drain(Device& device, double seconds) {
  for (const double until = seconds_now() + seconds; seconds_now() < until;) {
    RxFrame frames[kBurst];
    device.link().release({frames, device.link().receive(frames)});
  }
}

// The survivor is the server of its links with the lower slot, their client with the higher one.
class MeshDeathTest : public MeshTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(MeshDeathTest, PeersKilledUnderLoad) {
  directory_.set_last_slot(GetParam());
  Device device;
  directory_.set_last_slot(400);
  size_t descriptors = 0;
  for (int round = 0; round < 15; ++round) {
    Peer peer({"flood", text(device.slot())});
    uint32_t slot = 0;
    // The peer's start takes both sides.
    run_under_load(device, device.slot(), 0.01);
    ASSERT_GT(slot = peer.read_number(), 0u);
    ASSERT_TRUE(device.link_to(slot));
    run_under_load(device, slot, 0.05);
    if (round % 2 == 0) {
      // Killed while both directions are under load.
      std::thread killer([&] {
        usleep(static_cast<useconds_t>(5000 + round * 313));
        peer.kill_now();
      });
      run_under_load(device, slot, 0.03);
      killer.join();
    } else {
      // Killed with all rings full, so that this thread copies out of them just when they are taken away.
      usleep(5000);
      peer.kill_without_waiting();
      for (const double until = seconds_now() + round * 20e-6; seconds_now() < until;) {
      }
      drain(device, 0.05);
    }
    run_under_load(device, slot, 0.25);
    if (round == 1) descriptors = open_descriptors();
  }
  EXPECT_LE(open_descriptors(), descriptors + 2) << "a dead peer costs descriptors";
  // And it still works.
  Peer peer({"echo", "4"});
  const uint32_t slot = peer.read_number();
  ASSERT_TRUE(device.link_to(slot));
  exchange(device, slot, 2'000);
}

INSTANTIATE_TEST_SUITE_P(Survivor, MeshDeathTest, testing::Values(0, 800));

TEST_F(MeshTest, LastFramesOfALeavingPeerArrive) {
  Device device;
  for (int round = 0; round < 5; ++round) {
    Peer peer({"send_and_leave", text(device.slot()), "100"});
    std::set<uint32_t> outstanding;
    for (uint32_t i = 0; i < 100; ++i) outstanding.insert(i);
    // Slow to poll: what the peer has sent must outlive its leaving.
    for (const double until = seconds_now() + 10; !outstanding.empty() && seconds_now() < until; usleep(3000))
      receive_checked(device, &outstanding);
    EXPECT_TRUE(outstanding.empty()) << outstanding.size() << " frames lost";
    EXPECT_EQ(peer.wait_for_exit(), 0);
  }
}

// More peers than are ever looked at in every turn: all of them are heard, those that were silent for long,
// too.
TEST_F(MeshTest, ManyPeers) {
  constexpr size_t kPeers = 40;
  Device hub(2);
  std::vector<std::unique_ptr<Device>> devices;
  for (size_t i = 0; i < kPeers; ++i) devices.push_back(std::make_unique<Device>(2));
  for (const auto& device : devices) ASSERT_TRUE(device->link_to(hub.slot()));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5000; ++i) {  // so that they all fall asleep
      RxFrame frames[kBurst];
      ASSERT_EQ(hub.link().receive(frames), 0u);
    }
    std::set<uint32_t> outstanding;
    for (uint32_t i = 0; i < kPeers; ++i) {
      ASSERT_TRUE(test::send_pattern(*devices[i], i % 2, hub.slot(), i, 200));
      outstanding.insert(i);
      // One call is enough to hear a bell.
      EXPECT_EQ(receive_checked(hub, &outstanding), 1u) << "peer " << i << " in round " << round;
    }
  }
  // Another table wakes nobody, and those that sleep are heard all the same.
  for (int i = 0; i < 5000; ++i) {
    RxFrame frames[kBurst];
    ASSERT_EQ(hub.link().receive(frames), 0u);
  }
  Device late(2);
  ASSERT_TRUE(late.link_to(hub.slot()));
  std::set<uint32_t> outstanding = {7};
  ASSERT_TRUE(test::send_pattern(*devices[3], 0, hub.slot(), 7, 200));
  for (const double until = seconds_now() + 5; !outstanding.empty() && seconds_now() < until;)
    receive_checked(hub, &outstanding);
  EXPECT_TRUE(outstanding.empty());
}

// A peer that reads nothing costs its own frames; the others go on.
TEST_F(MeshTest, StoppedPeersKeepNobodyWaiting) {
  Device device;
  Device stopped[3];
  for (Device& other : stopped) ASSERT_TRUE(device.link_to(other.slot()));
  for (Device& other : stopped)
    for (uint32_t i = 0; i < 10'000; ++i) {
      if (!test::send_pattern(device, 0, other.slot(), i, 1000)) break;
      ASSERT_LT(i, 9'000u);
    }
  Peer peer({"echo", "4"});
  const uint32_t slot = peer.read_number();
  ASSERT_TRUE(device.link_to(slot));
  exchange(device, slot, 5'000);
}

}  // namespace
}  // namespace mrc
