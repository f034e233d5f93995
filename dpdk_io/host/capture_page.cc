// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/capture_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "dpdk_io/host/file_lock.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/host/private_file.h"
#include "libmrc/wire/cache_line.h"

namespace mrc {
namespace {

// A listener that has been silent for so long is gone.
constexpr uint64_t kSilenceNs = 2'000'000'000;
// A frame that is not there although so many later ones are was given up by its writer.
constexpr uint64_t kOvertakenBy = 64;
// Slots are fetched so many frames before they are written: a listener, or another program, had them last.
constexpr uint64_t kFetchAhead = 4;

std::string ring_file(const std::string& run_directory, uint32_t number) {
  return run_directory + "/" + CapturePage::kRingPrefix + std::to_string(number);
}

// Null: `why` says what is wrong.
template <typename Page>
Page* map_file(const std::string& path, int flags, std::string* why) {
  const int fd = open_private_file(path, O_RDWR | flags, why);
  if (fd < 0) return nullptr;
  const bool makes = (flags & O_CREAT) != 0;
  // One that is too short would be a trap.
  const bool whole = makes ? allocate_file(fd, sizeof(Page)) : lseek(fd, 0, SEEK_END) >= off_t{sizeof(Page)};
  void* mapped = MAP_FAILED;
  if (whole) mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) *why = whole || makes ? std::strerror(errno) : "is too short";
  close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<Page*>(mapped);
}

CapturePage* map_page(const std::string& run_directory, std::string* why) {
  auto* page = map_file<CapturePage>(run_directory + "/" + CapturePage::kFileName, O_CREAT, why);
  if (page == nullptr) return nullptr;
  uint32_t magic = 0;
  uint32_t layout = 0;
  if ((page->magic.compare_exchange_strong(magic, CapturePage::kMagic) || magic == CapturePage::kMagic) &&
      (page->layout.compare_exchange_strong(layout, CapturePage::kLayout) || layout == CapturePage::kLayout))
    return page;
  munmap(page, sizeof *page);
  *why = "is not a page of captures of this version";
  return nullptr;
}

uint64_t wanted_until(const CapturePage& page) {
  return std::max(page.headers_until_ns.load(std::memory_order_relaxed),
                  page.whole_until_ns.load(std::memory_order_relaxed));
}

void move_on(std::atomic<uint64_t>& deadline, uint64_t to) {
  uint64_t now = deadline.load(std::memory_order_relaxed);
  while (now < to && !deadline.compare_exchange_weak(now, to, std::memory_order_release)) {
  }
}

}  // namespace

// --- who is listened to ---

// A page that cannot be made, as on a full disk, is done without: the program is more important.
CaptureFeed::CaptureFeed(const std::string& run_directory, uint32_t process, const std::string& device)
    : run_directory_(run_directory), process_(process) {
  std::string why;
  page_ = map_page(run_directory, &why);
  std::snprintf(device_, sizeof device_, "%s", device.c_str());
}

CaptureFeed::~CaptureFeed() {
  close_ring();
  if (page_ != nullptr) munmap(page_, sizeof *page_);
}

bool CaptureFeed::follow(uint64_t now_ns) {
  if (page_ == nullptr) return false;
  if (now_ns >= wanted_until(*page_)) {
    close_ring();
    return false;
  }
  const uint32_t number = page_->ring.load(std::memory_order_acquire);
  if (ring_ == nullptr || number != number_) open_ring(number);
  return ring_ != nullptr;
}

void CaptureFeed::open_ring(uint32_t number) {
  close_ring();
  std::string why;
  ring_ = map_file<CaptureRing>(ring_file(run_directory_, number), 0, &why);
  number_ = number;
  if (ring_ != nullptr) lane_ = &ring_->lanes[ring_->feeds.fetch_add(1) % CaptureRing::kLanes];
}

void CaptureFeed::close_ring() {
  if (ring_ != nullptr) munmap(ring_, sizeof *ring_);
  ring_ = nullptr;
}

void CaptureFeed::put(const CaptureNote& note, std::span<const uint8_t> frame) {
  const bool whole = note.time_ns < page_->whole_until_ns.load(std::memory_order_relaxed);
  const size_t most = whole ? kFrameBytesMax : CaptureRing::kHeaderBytes;
  const size_t kept = std::min(frame.size(), most);
  const uint64_t number = lane_->head.fetch_add(1, std::memory_order_relaxed);
  const size_t place = number % CaptureRing::kSlots;
  const auto* later =
      reinterpret_cast<const uint8_t*>(&lane_->slots[(number + kFetchAhead) % CaptureRing::kSlots]);
  for (size_t at = 0; at < sizeof(CaptureRing::Slot); at += kCacheLine) fetch_to_write(later + at);
  CaptureRing::Slot& slot = lane_->slots[place];
  // Who was held up in here for a whole round keeps the slot, and this frame is not shown.
  uint64_t turn = slot.turn.load(std::memory_order_relaxed);
  if (turn % 2 != 0 || turn > 2 * number ||
      !slot.turn.compare_exchange_strong(turn, 2 * number + 1, std::memory_order_acquire))
    return;
  std::atomic_thread_fence(std::memory_order_release);
  slot.time_ns = note.time_ns;
  std::memcpy(slot.device, device_, sizeof slot.device);
  slot.process = process_;
  slot.length = static_cast<uint32_t>(frame.size());
  slot.kept = static_cast<uint32_t>(kept);
  slot.plane = note.plane;
  slot.leaves = note.leaves;
  slot.intact = note.intact;
  const size_t first = std::min(kept, sizeof slot.first);
  std::memcpy(slot.first, frame.data(), first);
  if (kept > first) std::memcpy(lane_->rests[place], frame.data() + first, kept - first);
  slot.turn.store(2 * number + 2, std::memory_order_release);
}

// --- who listens ---

std::unique_ptr<CaptureListener> CaptureListener::open(const std::string& run_directory, bool whole,
                                                       std::string* error) {
  const std::string path = run_directory + "/" + CapturePage::kFileName;
  const auto fail = [&](const std::string& file, const std::string& why) {
    *error = "mrc: " + file + ": " + why + "; remove the file, or make room, and try again";
    return nullptr;
  };
  std::string why;
  CapturePage* page = map_page(run_directory, &why);
  if (page == nullptr) return fail(path, why);
  const FileLock lock(path);
  uint32_t number = page->ring.load();
  CaptureRing* ring = nullptr;
  if (number != 0 && monotonic_now() < wanted_until(*page))
    ring = map_file<CaptureRing>(ring_file(run_directory, number), 0, &why);
  if (ring == nullptr) {
    // Nobody listens now. Writers may still have the old one, so it is not used again.
    remove_private_file(ring_file(run_directory, number));
    const std::string file = ring_file(run_directory, ++number);
    remove_private_file(file);
    ring = map_file<CaptureRing>(file, O_CREAT | O_EXCL, &why);
    if (ring == nullptr) {
      remove_private_file(file);
      munmap(page, sizeof *page);
      return fail(file, why);
    }
    page->listeners.store(0);
    page->ring.store(number, std::memory_order_release);
  }
  page->listeners.fetch_add(1);
  return std::unique_ptr<CaptureListener>(new CaptureListener(run_directory, whole, page, ring, number));
}

CaptureListener::CaptureListener(std::string run_directory, bool whole, CapturePage* page, CaptureRing* ring,
                                 uint32_t number)
    : run_directory_(std::move(run_directory)), whole_(whole), page_(page), ring_(ring), number_(number) {
  for (uint32_t i = 0; i < CaptureRing::kLanes; ++i)
    next_[i] = ring->lanes[i].head.load(std::memory_order_acquire);
  renew(monotonic_now());
}

CaptureListener::~CaptureListener() {
  leave();
  munmap(ring_, sizeof *ring_);
  munmap(page_, sizeof *page_);
}

void CaptureListener::give_way() {
  static constexpr int kLast = 19;
  setpriority(PRIO_PROCESS, 0, kLast);
}

void CaptureListener::leave() {
  if (left_) return;
  left_ = true;
  const FileLock lock(run_directory_ + "/" + CapturePage::kFileName);
  if (page_->ring.load() != number_ || page_->listeners.fetch_sub(1) != 1) return;
  page_->headers_until_ns.store(0);
  page_->whole_until_ns.store(0);
  remove_private_file(ring_file(run_directory_, number_));
}

void CaptureListener::renew(uint64_t now_ns) {
  move_on(whole_ ? page_->whole_until_ns : page_->headers_until_ns, now_ns + kSilenceNs);
}

// What is in the ring was written by others: numbers in it are read once and checked.

// The next frame of a lane, as it is. Null: there is none now.
const CaptureRing::Slot* CaptureListener::next_of(uint32_t lane) {
  uint64_t& next = next_[lane];
  for (;; ++next, ++lost_) {
    const uint64_t head = ring_->lanes[lane].head.load(std::memory_order_acquire);
    if (next >= head) return nullptr;
    if (head - next > CaptureRing::kSlots) {
      const uint64_t first = head - CaptureRing::kSlots / 2;  // not the oldest: that is gone in a moment
      lost_ += first - next;
      next = first;
    }
    const CaptureRing::Slot& slot = ring_->lanes[lane].slots[next % CaptureRing::kSlots];
    const uint64_t turn = slot.turn.load(std::memory_order_acquire);
    if (turn == 2 * next + 2) return &slot;
    if (turn < 2 * next + 2 && head - next < kOvertakenBy) return nullptr;  // it is being written
  }
}

bool CaptureListener::take(CapturedFrame* frame) {
  for (;;) {
    const CaptureRing::Slot* oldest = nullptr;
    uint32_t lane = 0;
    for (uint32_t i = 0; i < CaptureRing::kLanes; ++i) {
      const CaptureRing::Slot* slot = next_of(i);
      if (slot == nullptr || (oldest != nullptr && slot->time_ns >= oldest->time_ns)) continue;
      oldest = slot;
      lane = i;
    }
    if (oldest == nullptr) return false;
    const CaptureRing::Slot& slot = *oldest;
    frame->note = {slot.time_ns, slot.process, slot.plane, slot.leaves != 0, slot.intact != 0};
    frame->device.assign(slot.device, strnlen(slot.device, sizeof slot.device));
    frame->length = slot.length;
    const size_t kept = std::min<size_t>(slot.kept, kFrameBytesMax);
    const size_t first = std::min(kept, sizeof slot.first);
    frame->bytes.assign(slot.first, slot.first + first);
    const uint8_t* rest = ring_->lanes[lane].rests[next_[lane] % CaptureRing::kSlots];
    frame->bytes.insert(frame->bytes.end(), rest, rest + (kept - first));
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint64_t there = 2 * next_[lane]++ + 2;
    if (slot.turn.load(std::memory_order_relaxed) == there && frame->length >= frame->bytes.size())
      return true;
    ++lost_;
  }
}

}  // namespace mrc
