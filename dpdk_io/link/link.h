// SPDX-License-Identifier: BSD-2-Clause
// The link to one other process: a ring in each arena. Everything here belongs to the data path once the link
// is in the table.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "dpdk_io/link/arena.h"

namespace mrc {

class Link {
 public:
  // What both ends need to know of each other.
  struct Ends {
    uint32_t own_slot;
    uint32_t slot;
    uint64_t number;        // ours of this link, which the peer has been told
    uint64_t their_number;  // as they have told it
  };
  // Makes our half: the peer looks at our ring from now on. `theirs` is mapped.
  Link(const Ends& ends, OwnMemory& own, const PeerMemory& theirs)
      : slot(ends.slot),
        number_(ends.number),
        tag_(static_cast<uint32_t>(ends.number)),
        their_tag_(static_cast<uint32_t>(ends.their_number)),
        out_(own.arena->rings[ends.slot]),
        take_(own.arena->taken[ends.slot].count),
        theirs_(*theirs.arena),
        in_(theirs.arena->rings[ends.own_slot]),
        taken_(theirs.arena->taken[ends.own_slot].count),
        bells_(*theirs.bells),
        bell_(bells_.rung[ends.own_slot / 64]),
        bell_bit_(uint64_t{1} << ends.own_slot % 64) {
    for (auto& entry : out_.entries) entry.store(0, std::memory_order_relaxed);
    take_.store(uint64_t{their_tag_} << 32, std::memory_order_release);
    out_.reader.store(ends.their_number, std::memory_order_release);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Whether the peer has made its half. Any thread.
  bool is_whole() const { return in_.reader.load(std::memory_order_acquire) == number_; }

  // --- sending ---
  uint32_t under_way() const { return head_ - tail_; }
  uint32_t room() const { return Arena::kRingFrames - under_way(); }
  // There is room for all of them. The first is stored last: the peer, who reads them in order, sees all of
  // them at once. What belongs together, data and the acknowledgement behind it, is then not torn apart.
  void push(std::span<const Descriptor> descriptors) {
    for (size_t i = descriptors.size(); i-- > 0;) {
      const uint32_t place = head_ + static_cast<uint32_t>(i);
      Descriptor descriptor = descriptors[i];
      descriptor.turn = turn_of(place);
      frames_[place % Arena::kRingFrames] = descriptor.frame;
      out_.entries[place % Arena::kRingFrames].store(descriptor.pack(), std::memory_order_release);
    }
    head_ += static_cast<uint32_t>(descriptors.size());
  }
  // After push(): makes a reader that has stopped looking look again.
  void ring_bell() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // with the one in look_once_more()
    if ((bell_.load(std::memory_order_relaxed) & bell_bit_) != 0) return;
    bell_.fetch_or(bell_bit_, std::memory_order_relaxed);
    bells_.any.store(1, std::memory_order_release);
  }
  // Gives back the frames that the peer has taken.
  template <typename GiveBack>
  void reclaim(GiveBack give_back) {
    const uint64_t taken = taken_.load(std::memory_order_acquire);
    const auto count = static_cast<uint32_t>(taken);
    // Not about this link, or more than was sent: nonsense changes nothing.
    if (taken >> 32 != tag_ || count - tail_ > head_ - tail_) return;
    while (tail_ != count) give_back(frames_[tail_++ % Arena::kRingFrames]);
  }
  // The peer is gone, and does not read them any more.
  template <typename GiveBack>
  void reclaim_all(GiveBack give_back) {
    while (tail_ != head_) give_back(frames_[tail_++ % Arena::kRingFrames]);
  }

  // --- receiving ---
  // The next descriptor, as it is; false: there is none.
  bool next(Descriptor* descriptor) {
    if (!open_ && !(open_ = is_whole())) return false;
    const uint64_t word = in_.entries[next_ % Arena::kRingFrames].load(std::memory_order_acquire);
    if (static_cast<uint8_t>(word) != turn_of(next_)) return false;
    ++next_;
    *descriptor = Descriptor::unpack(word);
    return true;
  }
  // After the bell was cleared: has something come meanwhile?
  bool look_once_more() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint64_t word = in_.entries[next_ % Arena::kRingFrames].load(std::memory_order_acquire);
    return static_cast<uint8_t>(word) == turn_of(next_);
  }
  const uint8_t* their_frame(uint32_t number) const { return theirs_.frame(number); }
  void hold(uint32_t frames) { held_ += frames; }
  // The peer may write over them when none is held any more.
  void release(uint32_t frames) {
    held_ -= frames;
    if (held_ == 0) take_.store(uint64_t{their_tag_} << 32 | next_, std::memory_order_release);
  }

  const uint32_t slot;
  // Of HostLink: whether it is looked at in every turn, and for how many it was empty.
  bool active = false;
  bool known = false;  // it was looked at before
  uint32_t empty_polls = 0;
  Link* next_retired = nullptr;

 private:
  static uint8_t turn_of(uint32_t count) { return static_cast<uint8_t>(count / Arena::kRingFrames + 1); }

  const uint64_t number_;
  const uint32_t tag_;
  const uint32_t their_tag_;
  // Sending.
  Arena::Ring& out_;
  std::atomic<uint64_t>& take_;
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  // Receiving.
  const Arena& theirs_;
  const Arena::Ring& in_;
  const std::atomic<uint64_t>& taken_;
  Bells& bells_;
  std::atomic<uint64_t>& bell_;
  const uint64_t bell_bit_;
  uint32_t next_ = 0;
  uint32_t held_ = 0;
  bool open_ = false;
  std::array<uint32_t, Arena::kRingFrames> frames_;  // under way, by place in the ring
};

}  // namespace mrc
