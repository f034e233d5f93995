// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/link_end.h"

#include <algorithm>
#include <utility>

#include "dpdk_io/host/fork_guard.h"

namespace mrc {
namespace {

// As of the links between programs (host_link.cc).
constexpr uint32_t kSpareForAnswers = 3 * kBurst;
constexpr uint32_t kLookAtTaken = 2 * kBurst;
constexpr uint32_t kPoolAtFirst = Arena::kRingFrames + 2 * kBurst;
constexpr uint32_t kPoolMost = 3 * Arena::kRingFrames;
constexpr uint32_t kPoolMore = 2 * kBurst;

}  // namespace

class LinkEnd::Scope {
 public:
  explicit Scope(LinkEnd& end) : end_(end) { end_.enter(); }
  ~Scope() { end_.leave(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  LinkEnd& end_;
};

bool LinkEnd::open(const Owner& owner, std::string* error) {
  if (!memory_.create(error)) return false;
  owner_ = owner;
  memory_.arena->header = {Arena::kMagic, Arena::kVersion, owner.slot, owner.planes, owner.incarnation};
  return true;
}

LinkEnd::~LinkEnd() {
  if (in_forked_child()) {
    // What was mapped is not mapped here.
    memory_.arena = nullptr;
    memory_.bells = nullptr;
    return;
  }
  part();
  take_retired();
}

bool LinkEnd::join(uint64_t number, const Other& other, const DescriptorPair& theirs) {
  part();
  auto half = std::make_unique<Half>();
  if (other.number == 0 || !half->theirs.map(theirs.arena, theirs.bells, other.slot, other.incarnation))
    return false;
  half->link = std::make_unique<Link>(Link::Ends{owner_.slot, other.slot, number, other.number}, memory_,
                                      half->theirs);
  half_.store(half.release(), std::memory_order_release);
  return true;
}

void LinkEnd::part() {
  Half* half = half_.exchange(nullptr, std::memory_order_acq_rel);
  if (half == nullptr) return;
  guard_.wait();
  half->theirs.unmap();
  half->next_retired = retired_.load(std::memory_order_relaxed);
  while (!retired_.compare_exchange_weak(half->next_retired, half, std::memory_order_release,
                                         std::memory_order_relaxed)) {
  }
}

// ------------------------------------------------------------------------------------------------ sending

size_t LinkEnd::transmit_room(const MacAddress&) {
  if (in_forked_child()) return 0;
  Scope scope(*this);
  Half* now = half();
  if (now == nullptr) return kBurst;
  if (now->link->under_way() >= kLookAtTaken) reclaim(*now->link);
  const uint32_t free = now->link->room();
  return free > kSpareForAnswers ? std::min<size_t>(free - kSpareForAnswers, kBurst) : 0;
}

size_t LinkEnd::acquire(std::span<TxFrame> frames) {
  if (in_forked_child()) return 0;
  if (pool_.free_count() < frames.size()) find_frames();
  const size_t count = std::min<size_t>(frames.size(), pool_.free_count());
  if (count == 0 && !frames.empty()) ++counters_.no_buffers;
  for (size_t i = 0; i < count; ++i) frames[i] = TxFrame{memory_.arena->frame(pool_.take()), 0, nullptr};
  return count;
}

void LinkEnd::find_frames() {
  if (retired_.load(std::memory_order_relaxed) != nullptr) take_retired();
  Scope scope(*this);
  if (Half* now = half()) reclaim(*now->link);
  if (pool_.size() == 0)
    pool_.grow(kPoolAtFirst, kPoolAtFirst);
  else if (pool_.free_count() < kBurst)
    pool_.grow(kPoolMost, kPoolMore);
}

void LinkEnd::take_retired() {
  Half* half = retired_.exchange(nullptr, std::memory_order_acquire);
  while (half != nullptr) {
    half->link->reclaim_all([this](uint32_t frame) { pool_.give(frame); });
    delete std::exchange(half, half->next_retired);
  }
}

void LinkEnd::discard(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  for (const TxFrame& frame : frames) pool_.give(number_of(frame));
}

void LinkEnd::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child() || frames.empty()) return;
  Scope scope(*this);
  Half* now = half();
  if (now == nullptr) {
    counters_.dropped_without_link += frames.size();
    return discard(frames);
  }
  Link& link = *now->link;
  while (!frames.empty()) {
    if (link.room() < std::min(frames.size(), kBurst)) reclaim(link);
    const size_t count = std::min({frames.size(), kBurst, size_t{link.room()}});
    if (count == 0) break;
    Descriptor descriptors[kBurst];
    for (size_t i = 0; i < count; ++i)
      descriptors[i] = {number_of(frames[i]), static_cast<uint16_t>(frames[i].length), frames[i].plane, true,
                        0};
    link.push({descriptors, count});
    counters_.frames_sent += count;
    frames = frames.subspan(count);
  }
  counters_.dropped_ring_full += frames.size();
  discard(frames);
}

// ---------------------------------------------------------------------------------------------- receiving

size_t LinkEnd::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  Scope scope(*this);
  Half* now = half();
  if (now == nullptr) return 0;
  Link& link = *now->link;
  size_t count = 0;
  Descriptor descriptor;
  bool passed_over = false;
  // A ring at most: who fills it again with nonsense must not keep us here.
  for (uint32_t looked = 0; looked < Arena::kRingFrames && count < frames.size() && link.next(&descriptor);
       ++looked) {
    if (!descriptor.is_whole() || descriptor.plane >= kPlanesMax) {
      ++counters_.dropped_malformed;
      passed_over = true;
      continue;
    }
    const uint8_t* data = link.their_frame(descriptor.frame);
    __builtin_prefetch(data);
    __builtin_prefetch(data + 64);
    frames[count++] = RxFrame{data, descriptor.length, nullptr, descriptor.plane, false};
  }
  link.hold(static_cast<uint32_t>(count));
  if (count == 0 && passed_over) link.release(0);
  if (held_ == 0 && count > 0) enter();  // until release()
  held_ += static_cast<uint32_t>(count);
  counters_.frames_received += count;
  return count;
}

void LinkEnd::release(std::span<const RxFrame> frames) {
  if (in_forked_child() || frames.empty()) return;
  const auto count = static_cast<uint32_t>(frames.size());
  if (Half* now = half()) now->link->release(count);
  held_ -= count;
  if (held_ == 0) leave();
}

}  // namespace mrc
