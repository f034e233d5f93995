// SPDX-License-Identifier: BSD-2-Clause
// What a link takes of its peer, and what it does not: foreign memory, messages that are none, nonsense in
// rings. tests/fuzz/link_fuzz.cc writes anything.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dpdk_io/link/control_socket.h"
#include "dpdk_io/link/host_link.h"
#include "dpdk_io_peer.h"
#include "examples/shared/patience.h"
#include "libmrc/port/station.h"

namespace mrc {
namespace {

constexpr uint32_t kOwnSlot = 1, kPeerSlot = 2;
constexpr uint64_t kIncarnation = 77;

// One end of a link, whole, and the memory of the other, to write anything into.
class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    std::string error;
    state_.own_slot = kOwnSlot;
    state_.planes = 4;
    state_.faults = &faults_;
    EXPECT_TRUE(state_.memory.create(&error)) << error;
    EXPECT_TRUE(theirs_.create(&error)) << error;
    theirs_.arena->header = {Arena::kMagic, Arena::kVersion, kPeerSlot, 4, kIncarnation};
    EXPECT_TRUE(mapped_.map(theirs_.arena_fd, theirs_.bells_fd, kPeerSlot, kIncarnation));
    theirs_.arena->rings[kOwnSlot].reader = 100;
    link_ = std::make_unique<Link>(Link::Ends{kOwnSlot, kPeerSlot, 100, 200}, state_.memory, mapped_);
    table_.number = 1;
    table_.count = 1;
    table_.links[0] = link_.get();
    table_.by_slot[kPeerSlot] = 1;
    state_.table = &table_;
    carrier_ = std::make_unique<HostLink>(state_);
  }
  void put(Descriptor descriptor) {
    descriptor.turn = static_cast<uint8_t>(next_ / Arena::kRingFrames + 1);
    theirs_.arena->rings[kOwnSlot].entries[next_++ % Arena::kRingFrames] = descriptor.pack();
  }
  uint32_t taken() const { return static_cast<uint32_t>(state_.memory.arena->taken[kPeerSlot].count.load()); }
  // Sends frames to the peer until there is no room; how many.
  size_t send_all() {
    const MacAddress station = station_of(kPeerSlot, 0);
    size_t sent = 0;
    while (carrier_->transmit_room(station) > 0) {
      TxFrame frame;
      if (carrier_->acquire({&frame, 1}) != 1) break;
      std::memcpy(frame.data, station.bytes.data(), 6);
      frame.length = 100;
      carrier_->transmit({&frame, 1});
      ++sent;
    }
    return sent;
  }

  FaultPage faults_{};
  LinkState state_;
  OwnMemory theirs_;
  PeerMemory mapped_;
  LinkTable table_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<HostLink> carrier_;
  uint32_t next_ = 0;
};

TEST_F(LinkTest, DescriptorsThatLeadElsewhereAreDroppedAndCounted) {
  put({3, 100, 0, false, 0});
  put({Arena::kFramesMax, 100, 0, false, 0});
  put({UINT32_MAX, 100, 0, false, 0});
  put({4, 13, 0, false, 0});
  put({4, UINT16_MAX, 0, false, 0});
  put({4, Arena::kStride - Arena::kHeadroom + 1, 0, false, 0});
  put({5, 200, 6, false, 0});  // a peer with more planes
  RxFrame frames[kBurst];
  ASSERT_EQ(carrier_->receive(frames), 2u);
  EXPECT_EQ(frames[0].data, mapped_.arena->frame(3));
  EXPECT_EQ(frames[1].data, mapped_.arena->frame(5));
  EXPECT_EQ(frames[1].plane, 2);
  EXPECT_TRUE(frames[0].intact);
  EXPECT_EQ(taken(), 0u);  // as long as they are held
  carrier_->release({frames, 2});
  EXPECT_EQ(taken(), 7u);
  EXPECT_EQ(carrier_->counters().dropped_malformed, 5u);
  // Nothing but nonsense is taken, too.
  put({UINT32_MAX, 100, 0, false, 0});
  EXPECT_EQ(carrier_->receive(frames), 0u);
  EXPECT_EQ(taken(), 8u);
}

TEST_F(LinkTest, CountsThatMakeNoSenseGiveNoFrameBack) {
  const size_t sent = send_all();
  ASSERT_GT(sent, kBurst);
  for (const uint64_t count : {uint64_t{100} << 32 | (sent + 1), uint64_t{100} << 32 | 0xFFFFFFFF,
                               uint64_t{5} << 32 | 3, uint64_t{UINT64_MAX}}) {
    theirs_.arena->taken[kOwnSlot].count = count;
    EXPECT_EQ(send_all(), 0u) << count;
  }
  theirs_.arena->taken[kOwnSlot].count = uint64_t{100} << 32 | 10;
  EXPECT_EQ(send_all(), 10u);
  theirs_.arena->taken[kOwnSlot].count = uint64_t{100} << 32 | 4;  // backwards
  EXPECT_EQ(send_all(), 0u);
  // No frame is in two places.
  std::set<const uint8_t*> given;
  for (TxFrame frame; carrier_->acquire({&frame, 1}) == 1;) ASSERT_TRUE(given.insert(frame.data).second);
  EXPECT_LE(given.size() + sent, carrier_->counters().frames_sent + Arena::kFramesMax);
}

TEST_F(LinkTest, WithIcrcIsToldByBothEnds) {
  state_.icrc_always = true;
  put({3, 100, 0, true, 0});
  put({3, 100, 0, false, 0});
  RxFrame frames[kBurst];
  ASSERT_EQ(carrier_->receive(frames), 2u);
  EXPECT_FALSE(frames[0].intact);
  EXPECT_TRUE(frames[1].intact) << "its sender computes none";
  EXPECT_FALSE(carrier_->keeps_intact());
  carrier_->release({frames, 2});
}

TEST_F(LinkTest, TheArenaOfAPeerCannotBeWrittenAndNotShrink) {
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs_.arena_fd, 0), MAP_FAILED);
  EXPECT_NE(ftruncate(theirs_.arena_fd, 4096), 0);
  EXPECT_NE(ftruncate(theirs_.bells_fd, 0), 0);
  EXPECT_LT(write(theirs_.arena_fd, "x", 1), 0);
}

TEST_F(LinkTest, ForeignMemoryIsNotMapped) {
  const auto maps = [&](int arena, int bells, uint32_t slot, uint64_t incarnation) {
    PeerMemory memory;
    return memory.map(arena, bells, slot, incarnation);
  };
  EXPECT_TRUE(maps(theirs_.arena_fd, theirs_.bells_fd, kPeerSlot, kIncarnation));
  EXPECT_FALSE(maps(theirs_.arena_fd, theirs_.bells_fd, kPeerSlot + 1, kIncarnation));
  EXPECT_FALSE(maps(theirs_.arena_fd, theirs_.bells_fd, kPeerSlot, kIncarnation + 1));
  EXPECT_FALSE(maps(theirs_.bells_fd, theirs_.arena_fd, kPeerSlot, kIncarnation));
  EXPECT_FALSE(maps(-1, theirs_.bells_fd, kPeerSlot, kIncarnation));
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, sizeof(Arena)), 0);
  EXPECT_FALSE(maps(unsealed, theirs_.bells_fd, kPeerSlot, kIncarnation)) << "it could shrink";
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(maps(zero, theirs_.bells_fd, kPeerSlot, kIncarnation));
  close(unsealed);
  close(zero);
}

size_t descriptors_open() {
  size_t count = 0;
  for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

// Messages of other users cannot come: the directory is the user's own. What does come is looked at.
TEST(ControlSocketTest, TakesMessagesWithTwoDescriptorsAlone) {
  const test::RunDirectory directory;
  std::string error;
  const auto to = ControlSocket::open(directory.path(), 5, &error);
  const auto from = ControlSocket::open(directory.path(), 6, &error);
  ASSERT_TRUE(to != nullptr && from != nullptr) << error;
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ControlMessage message;
  message.from_slot = 6;
  message.number = 9;
  const size_t before = descriptors_open();
  {
    from->send(5, message, {zero, zero});
    ControlMessage came;
    ControlSocket::Descriptors sent;
    ASSERT_TRUE(to->receive(&came, &sent));
    EXPECT_EQ(came.number, 9u);
    EXPECT_GE(sent.arena, 0);
    EXPECT_GE(sent.bells, 0);
    EXPECT_NE(fcntl(sent.arena, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(descriptors_open(), before);
  ControlMessage wrong[3] = {message, message, message};
  wrong[0].magic ^= 1;
  wrong[1].from_slot = 5;  // itself
  wrong[2].number = 0;
  for (const ControlMessage& each : wrong) from->send(5, each, {zero, zero});
  // Without descriptors, and too short.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (directory.path() + "/ctl.5").copy(address.sun_path, sizeof address.sun_path - 1);
  sendto(from->fd(), &message, sizeof message, 0, reinterpret_cast<sockaddr*>(&address), sizeof address);
  sendto(from->fd(), &message, 4, 0, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ControlMessage came;
  ControlSocket::Descriptors sent;
  EXPECT_FALSE(to->receive(&came, &sent));
  EXPECT_EQ(descriptors_open(), before);
  close(zero);
}

// In KiB.
uint64_t own_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::stoull(line.substr(4));
  return 0;
}

// Both ends are in this process, each with an arena, so it is two halves of a link that are measured.
TEST(LinkMemoryTest, AnIdleLinkTakesLittle) {
  const test::RunDirectory directory;
  constexpr size_t kDevices = 12;
  std::vector<std::unique_ptr<test::Device>> devices;
  for (size_t i = 0; i < kDevices; ++i) devices.push_back(std::make_unique<test::Device>(4));
  const uint64_t before = own_memory();
  if (before == 0) GTEST_SKIP() << "this kernel does not tell";
  size_t links = 0;
  for (size_t i = 0; i < kDevices; ++i)
    for (size_t j = 0; j < i; ++j, ++links) ASSERT_TRUE(devices[i]->link_to(devices[j]->slot()));
  const uint64_t after = own_memory();
  std::printf("%zu links, %.1f KiB each\n", links,
              static_cast<double>(after - before) / static_cast<double>(links));
  EXPECT_LE(static_cast<double>(after - before),
            static_cast<double>(links) * 64 * kPatience);  // sanitizers have shadows
}

}  // namespace
}  // namespace mrc
