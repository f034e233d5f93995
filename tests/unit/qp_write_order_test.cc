// SPDX-License-Identifier: BSD-2-Clause
// WRITEs that overlap, arriving in any order: every byte must be that of the last one to write it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "libmrc/mrc/write_order.h"

namespace mrc {
namespace {

struct Packet {
  size_t offset;
  std::vector<uint8_t> payload;
};

std::vector<Packet> random_packets(std::mt19937& random, size_t count, size_t memory_bytes) {
  std::vector<Packet> packets;
  for (size_t i = 0; i < count; ++i) {
    // Some whole packets on the same places, some of any size anywhere.
    const bool whole = random() % 2 == 0;
    const size_t bytes = whole ? 4096 : 1 + random() % 4096;
    const size_t offset = whole ? random() % (memory_bytes / 4096) * 4096 : random() % (memory_bytes - bytes);
    packets.push_back({offset, std::vector<uint8_t>(bytes, static_cast<uint8_t>(i + 1))});
  }
  return packets;
}

void check(uint32_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr size_t kMemory = 16384;
  constexpr uint32_t kWindow = 128;
  std::mt19937 random(seed);
  const std::vector<Packet> packets = random_packets(random, 100, kMemory);
  std::vector<uint8_t> expected(kMemory, 0);
  for (const Packet& packet : packets)
    std::copy(packet.payload.begin(), packet.payload.end(),
              expected.begin() + static_cast<ptrdiff_t>(packet.offset));

  const Psn first{0xFFFFE0};  // they wrap
  ReceiveWindow window;
  window.reset(kWindow, first);
  WriteOrder order;
  order.reset();
  std::vector<size_t> arrival(packets.size());
  std::iota(arrival.begin(), arrival.end(), size_t{0});
  std::shuffle(arrival.begin(), arrival.end(), random);
  std::vector<uint8_t> memory(kMemory, 0);
  for (const size_t i : arrival) {
    const Psn psn = first + static_cast<int32_t>(i);
    order.pass_over(window, psn);
    ASSERT_TRUE(order.make_place(window, psn));
    order.place(window, psn, memory.data() + packets[i].offset, packets[i].payload);
    window.record(psn, ReceiveWindow::kNothing);
    while (window.pass() != ReceiveWindow::kNothing) {
    }
  }
  EXPECT_EQ(window.expected(), first + static_cast<int32_t>(packets.size()));
  EXPECT_EQ(memory, expected);
}

TEST(WriteOrder, TheLastWriteWinsWhateverTheOrderOfArrival) {
  for (uint32_t seed = 1; seed <= 200; ++seed) check(seed);
}

// Packets to places of their own, every pair of them swapped: whatever the PSNs are, none is compared.
TEST(WriteOrder, PlacesThatNobodyWroteToAreNotCompared) {
  for (const uint32_t first : {0u, 1u, 0x7FFFFFu, 0x800000u, 0x800001u, 0xC00000u, 0xFFFF00u}) {
    constexpr uint32_t kWindow = 128;
    ReceiveWindow window;
    window.reset(kWindow, Psn{first});
    WriteOrder order;
    order.reset();
    constexpr size_t kMemory = 64 * 4096;
    std::vector<uint8_t> room(2 * kMemory);
    void* aligned = room.data();
    size_t space = room.size();
    auto* memory = static_cast<uint8_t*>(std::align(kMemory, kMemory, aligned, space));
    const std::vector<uint8_t> payload(4096, 1);
    for (uint32_t round = 0; round < 20; ++round) {
      for (const uint32_t i : {1u, 0u, 3u, 2u, 5u, 4u}) {
        const Psn psn = Psn{first} + static_cast<int32_t>(round * 6 + i);
        ASSERT_TRUE(order.make_place(window, psn));
        order.place(window, psn, memory + (round * 6 + i) % 64 * 4096, payload);
        window.record(psn, ReceiveWindow::kNothing);
        while (window.pass() != ReceiveWindow::kNothing) {
        }
      }
    }
    EXPECT_EQ(order.careful(), 0u) << "first PSN " << first;
  }
}

}  // namespace
}  // namespace mrc
