// SPDX-License-Identifier: BSD-2-Clause
// Frames from one process to those that capture: in order, cut or whole, lost when nobody reads, never
// waiting.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "dpdk_io/host/capture_page.h"
#include "dpdk_io/host/monotonic_clock.h"

namespace mrc {
namespace {

class CapturePageTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mrc-capture-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<CaptureListener> listen(bool whole) {
    std::string error;
    auto listener = CaptureListener::open(directory_, whole, &error);
    EXPECT_NE(listener, nullptr) << error;
    return listener;
  }
  size_t rings() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      count += entry.path().filename().string().starts_with(CapturePage::kRingPrefix) ? 1 : 0;
    return count;
  }
  static void put(CaptureFeed& feed, uint8_t first, size_t bytes) {
    std::vector<uint8_t> frame(bytes, 7);
    frame[0] = first;
    feed.put({monotonic_now(), 0, 3, true, true}, frame);
  }

  std::string directory_;
};

TEST_F(CapturePageTest, NobodyListensAndNothingIsShown) {
  CaptureFeed feed(directory_, 1, "mrc0");
  EXPECT_FALSE(feed.follow(monotonic_now()));
  EXPECT_EQ(rings(), 0u);
}

TEST_F(CapturePageTest, FramesComeInOrderWithTheirNotes) {
  CaptureFeed feed(directory_, 42, "mrc0");
  auto listener = listen(true);
  ASSERT_TRUE(feed.follow(monotonic_now()));
  for (uint8_t i = 0; i < 10; ++i) put(feed, i, 1000);
  CapturedFrame frame;
  for (uint8_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(listener->take(&frame));
    EXPECT_EQ(frame.bytes.size(), 1000u);
    EXPECT_EQ(frame.bytes[0], i);
    EXPECT_EQ(frame.length, 1000u);
    EXPECT_EQ(frame.device, "mrc0");
    EXPECT_EQ(frame.note.process, 42u);
    EXPECT_EQ(frame.note.plane, 3);
    EXPECT_TRUE(frame.note.leaves);
    EXPECT_TRUE(frame.note.intact);
  }
  EXPECT_FALSE(listener->take(&frame));
  EXPECT_EQ(listener->lost(), 0u);
}

TEST_F(CapturePageTest, HeadersAloneUnlessSomebodyWantsMore) {
  CaptureFeed feed(directory_, 1, "mrc0");
  auto headers = listen(false);
  ASSERT_TRUE(feed.follow(monotonic_now()));
  put(feed, 1, 4000);
  auto whole = listen(true);
  put(feed, 2, 4000);
  CapturedFrame frame;
  ASSERT_TRUE(headers->take(&frame));
  EXPECT_EQ(frame.bytes.size(), CaptureRing::kHeaderBytes);
  EXPECT_EQ(frame.length, 4000u);
  ASSERT_TRUE(whole->take(&frame));  // one that began to listen hears what comes then
  EXPECT_EQ(frame.bytes[0], 2);
  EXPECT_EQ(frame.bytes.size(), 4000u);
}

// More programs than lanes: each has its own as far as they go, and what comes out is in the order of time.
TEST_F(CapturePageTest, FramesOfManyProgramsComeInOrder) {
  auto listener = listen(false);
  std::vector<std::unique_ptr<CaptureFeed>> feeds;
  for (uint32_t i = 0; i < 2 * CaptureRing::kLanes - 1; ++i) {
    feeds.push_back(std::make_unique<CaptureFeed>(directory_, i + 1, "mrc0"));
    ASSERT_TRUE(feeds.back()->follow(monotonic_now()));
  }
  constexpr uint8_t kFrames = 200;
  const std::vector<uint8_t> bytes(64, 7);
  for (uint8_t i = 0; i < kFrames; ++i) feeds[i % feeds.size()]->put({uint64_t{i}, 0, 0, true, true}, bytes);
  CapturedFrame frame;
  for (uint8_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(listener->take(&frame));
    EXPECT_EQ(frame.note.time_ns, i);
    EXPECT_EQ(frame.note.process, i % feeds.size() + 1);
  }
  EXPECT_FALSE(listener->take(&frame));
  EXPECT_EQ(listener->lost(), 0u);
}

TEST_F(CapturePageTest, WhatIsNotReadIsOverwrittenAndCounted) {
  CaptureFeed feed(directory_, 1, "mrc0");
  auto listener = listen(false);
  ASSERT_TRUE(feed.follow(monotonic_now()));
  const uint32_t all = 3 * CaptureRing::kSlots + 5;
  for (uint32_t i = 0; i < all; ++i) put(feed, 0, 64);
  CapturedFrame frame;
  uint32_t taken = 0;
  while (listener->take(&frame)) ++taken;
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(taken + listener->lost(), all);
}

TEST_F(CapturePageTest, TheLastListenerTakesTheRingAway) {
  CaptureFeed feed(directory_, 1, "mrc0");
  auto first = listen(false);
  auto second = listen(false);
  EXPECT_EQ(rings(), 1u);
  first.reset();
  EXPECT_EQ(rings(), 1u);
  EXPECT_TRUE(feed.follow(monotonic_now()));
  second->leave();
  EXPECT_EQ(rings(), 0u);
  EXPECT_FALSE(feed.follow(monotonic_now()));
}

// As when it was killed: it says nothing any more, and its ring is found by the next one.
TEST_F(CapturePageTest, ASilentListenerIsForgotten) {
  CaptureFeed feed(directory_, 1, "mrc0");
  auto killed = listen(false);
  ASSERT_TRUE(feed.follow(monotonic_now()));
  EXPECT_FALSE(feed.follow(monotonic_now() + 10 * kSecond));
}

TEST_F(CapturePageTest, AFrameThatSomebodyWroteNonsenseIntoIsNotReadBeyondItsEnd) {
  CaptureFeed feed(directory_, 1, "mrc0");
  auto listener = listen(true);
  ASSERT_TRUE(feed.follow(monotonic_now()));
  put(feed, 1, 100);
  put(feed, 2, 100);
  {
    // Another process of this user, gone mad.
    const std::string path = directory_ + "/" + CapturePage::kRingPrefix + "1";
    FILE* file = fopen(path.c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    const auto at =
        offsetof(CaptureRing, lanes) + offsetof(CaptureRing::Lane, slots) + offsetof(CaptureRing::Slot, kept);
    fseek(file, static_cast<long>(at), SEEK_SET);
    const uint32_t huge = UINT32_MAX;
    fwrite(&huge, sizeof huge, 1, file);
    fclose(file);
  }
  CapturedFrame frame;
  ASSERT_TRUE(listener->take(&frame));
  EXPECT_EQ(frame.bytes[0], 2);
  EXPECT_EQ(listener->lost(), 1u);
}

TEST_F(CapturePageTest, AFileThatIsNoPageIsRefused) {
  FILE* file = fopen((directory_ + "/" + CapturePage::kFileName).c_str(), "wb");
  ASSERT_NE(file, nullptr);
  fputs("something else that is long enough for a page", file);
  fclose(file);
  chmod((directory_ + "/" + CapturePage::kFileName).c_str(), 0600);
  std::string error;
  EXPECT_EQ(CaptureListener::open(directory_, true, &error), nullptr);
  EXPECT_NE(error.find("is not a page of captures"), std::string::npos) << error;
}

}  // namespace
}  // namespace mrc
