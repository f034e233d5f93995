// SPDX-License-Identifier: BSD-2-Clause
// The core of the simulator: order of events, buffers, and what switches do to headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "libmrc/wire/packet.h"
#include "tests/sim/core/event_queue.h"
#include "tests/sim/core/random.h"
#include "tests/sim/test/harness.h"

namespace mrc::sim {
namespace {

TEST(EventQueue, OrdersByTimeAndThenByMaking) {
  EventQueue events;
  Random random(7);
  struct Made {
    Picoseconds time;
    uint32_t number;
  };
  std::vector<Made> made;
  for (uint32_t i = 0; i < 5000; ++i) {
    made.push_back({random.below(300), i});
    events.at(made.back().time, EventKind::kAlarm, i);
  }
  std::stable_sort(made.begin(), made.end(), [](const Made& a, const Made& b) { return a.time < b.time; });
  Event event;
  for (const Made& next : made) {
    ASSERT_TRUE(events.take(kForever, &event));
    ASSERT_EQ(event.time, next.time);
    ASSERT_EQ(event.target, next.number);
    ASSERT_EQ(events.now(), next.time);
  }
  EXPECT_FALSE(events.take(kForever, &event));
}

TEST(EventQueue, StopsAtTheEndAndNeverGoesBack) {
  EventQueue events;
  Event event;
  events.at(100, EventKind::kAlarm, 1);
  EXPECT_FALSE(events.take(99, &event));
  ASSERT_TRUE(events.take(100, &event));
  events.at(50, EventKind::kAlarm, 2);  // the past is now
  ASSERT_TRUE(events.take(100, &event));
  EXPECT_EQ(event.time, 100u);
}

TEST(FramePool, UsesBuffersAgainAndCountsThem) {
  FramePool pool;
  Frame* first = pool.take_large();
  EXPECT_GE(first->capacity, kFrameBytesMax);
  pool.give(first);
  EXPECT_EQ(pool.take_large(), first);
  EXPECT_EQ(pool.outstanding(), 1u);
  first->length = 100;
  Frame* copy = pool.copy(*first);
  EXPECT_EQ(copy->capacity, FramePool::kSmallBytes);
  EXPECT_EQ(copy->length, 100u);
  EXPECT_EQ(pool.outstanding(), 2u);
  pool.give(copy);
  pool.give(first);
  EXPECT_EQ(pool.outstanding(), 0u);
}

std::vector<uint8_t> all_bytes(const Frame& frame) {
  std::vector<uint8_t> bytes(frame.length);
  write_bytes(frame, bytes.data());
  return bytes;
}

// Every length around the limits, with a payload of one byte, and with another byte at every place of it.
TEST(FramePool, KeepsWhatItIsGiven) {
  FramePool pool;
  for (const uint32_t length : {1u, 100u, 201u, 202u, 256u, 257u, 300u, 4190u}) {
    std::vector<uint8_t> bytes(length, 0x5A);
    for (uint32_t i = 0; i < length && i < 150; ++i) bytes[i] = static_cast<uint8_t>(i);
    for (uint32_t i = 0; i < 4 && i < length; ++i) bytes[length - 1 - i] = static_cast<uint8_t>(0xC0 + i);
    Frame* even = pool.keep(bytes.data(), length);
    EXPECT_EQ(even->length, length);
    EXPECT_EQ(even->folded, length > FramePool::kSmallBytes);
    EXPECT_EQ(even->capacity, FramePool::kSmallBytes);
    EXPECT_EQ(all_bytes(*even), bytes);
    Frame* copy = pool.copy(*even);
    Frame* whole = pool.unfold(copy);
    EXPECT_FALSE(whole->folded);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), whole->bytes()));
    for (uint32_t at = 0; at < length; at += 7) {
      bytes[at] ^= 1;
      Frame* other = pool.keep(bytes.data(), length);
      EXPECT_EQ(all_bytes(*other), bytes) << at;
      pool.give(other);
      bytes[at] ^= 1;
    }
    pool.give(whole);
    pool.give(even);
  }
  EXPECT_EQ(pool.outstanding(), 0u);
}

// Marks and hop limits change the headers, and the packet still decodes and its ICRC still matches.
TEST(FrameHeaders, ChangesKeepThePacketValid) {
  for (const bool v4 : {false, true}) {
    for (const bool srv6 : {false, true}) {
      TopologyConfig config = one_leaf();
      Fabric fabric(config, 1);
      Recorder recorder(fabric);
      FrameSpec spec;
      spec.v4 = v4;
      spec.srv6 = srv6;
      spec.entropy = v4 ? 0xC123 : 0xABCDC123;
      spec.outer_destination = fabric.usid_path(0, 1, 0, 0);
      send_frame(fabric, spec);
      fabric.run_until(kPerMillisecond);
      ASSERT_EQ(recorder.arrivals.size(), 1u);
      Frame* frame = fabric.core().frames.take_large();
      const std::vector<uint8_t>& bytes = recorder.arrivals[0].bytes;
      std::copy(bytes.begin(), bytes.end(), frame->bytes());
      frame->length = static_cast<uint32_t>(bytes.size());
      read_headers(frame);
      EXPECT_EQ(frame->entropy, spec.entropy);
      EXPECT_TRUE(frame->data);
      EXPECT_FALSE(is_marked(*frame));
      ASSERT_TRUE(mark_congestion(frame));
      EXPECT_TRUE(is_marked(*frame));
      Packet packet;
      ASSERT_EQ(decode({frame->bytes(), frame->length}, &packet), DecodeError::kNone);
      EXPECT_EQ(packet.ecn, Ecn::kCongestion);
      EXPECT_EQ(packet.srv6, srv6);
      EXPECT_EQ(static_cast<uint32_t>(packet.entropy), spec.entropy);
      EXPECT_TRUE(icrc_matches(packet));
      fabric.core().frames.give(frame);
    }
  }
}

TEST(FrameHeaders, NotCapablePacketsAreNotMarked) {
  Fabric fabric(one_leaf(), 1);
  Recorder recorder(fabric);
  FrameSpec spec;
  spec.ecn = Ecn::kNotCapable;
  send_frame(fabric, spec);
  fabric.run_until(kPerMillisecond);
  Frame* frame = fabric.core().frames.take_large();
  const std::vector<uint8_t>& bytes = recorder.arrivals.at(0).bytes;
  std::copy(bytes.begin(), bytes.end(), frame->bytes());
  frame->length = static_cast<uint32_t>(bytes.size());
  read_headers(frame);
  EXPECT_FALSE(mark_congestion(frame));
  fabric.core().frames.give(frame);
}

}  // namespace
}  // namespace mrc::sim
