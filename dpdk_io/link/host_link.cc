// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/host_link.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "dpdk_io/host/cancellation.h"
#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/monotonic_clock.h"

namespace mrc {
namespace {

// How long the engine holds frames back while a link is being made.
constexpr Nanoseconds kHold = 2 * kSecond;
// Places in a ring that data leave for answers.
constexpr uint32_t kSpare = 3 * kBurst;
// What the peer has taken is looked at when so much is under way: every look costs a cache line of its.
constexpr uint32_t kReclaimAt = 2 * kBurst;
constexpr uint32_t kFramesAtFirst = Arena::kRingFrames + 2 * kBurst;
constexpr uint32_t kFramesMore = 2 * kBurst;
// So many rings are looked at in every turn whatever they bring.
constexpr uint32_t kAlwaysActive = 8;
constexpr uint32_t kEmptyPollsMax = 1024;

}  // namespace

HostLink::~HostLink() {
  if (!in_forked_child()) take_retired();
}

void HostLink::want_link(uint32_t slot) {
  {
    Scope scope(*this);
    if (table().find(slot) != nullptr) return;
  }
  const Nanoseconds now = monotonic_now();
  if (state_.hold_until[slot].load(std::memory_order_relaxed) > now) return;  // another plane has asked
  state_.hold_until[slot].store(now + kHold, std::memory_order_relaxed);
  state_.wanted[slot / 64].fetch_or(uint64_t{1} << slot % 64, std::memory_order_release);
  state_.any_wanted.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = uncancelled::write(state_.wake_fd, &one, sizeof one);
}

// ---------------------------------------------------------------------------------------------- receiving

[[gnu::hot]] size_t HostLink::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  Scope scope(*this);
  const LinkTable& links = table();
  if (links.number != seen_table_) look_at(links);
  if (state_.memory.bells->any.load(std::memory_order_relaxed) != 0) answer_bells(links);
  size_t count = loop_head_ != loop_tail_ ? receive_looped(frames) : 0;
  if (first_active_ >= active_count_) first_active_ = 0;
  for (uint32_t i = 0, at = first_active_; i < active_count_ && count < frames.size(); ++i) {
    Link& link = *active_[at];
    const size_t received = receive_from(link, frames.subspan(count));
    count += received;
    if (received == 0 && ++link.empty_polls >= kEmptyPollsMax && active_count_ > kAlwaysActive &&
        deactivate(link, at)) {
      if (at == active_count_) at = 0;
      continue;  // another one has taken its place
    }
    if (++at >= active_count_) at = 0;
  }
  ++first_active_;
  if (links.count > active_count_) count += receive_from_one_idle(links, frames.subspan(count));
  if (held_ == 0 && count > 0) enter();  // until release()
  held_ += static_cast<uint32_t>(count);
  counters_.frames_received += count;
  return count;
}

[[gnu::hot]] size_t HostLink::receive_from(Link& link, std::span<RxFrame> frames) {
  size_t count = 0;
  Descriptor descriptor;
  bool passed_over = false;
  // A ring at most: who fills it again with what is only passed over must not keep us here.
  for (uint32_t looked = 0; looked < Arena::kRingFrames && count < frames.size() && link.next(&descriptor);
       ++looked) {
    Plane plane = descriptor.plane;
    if (plane >= state_.planes) [[unlikely]]  // a peer may have more
      plane = static_cast<Plane>(plane % state_.planes);
    const bool whole = descriptor.is_whole();
    if (!whole || faulty(plane)) {
      ++(whole ? counters_.dropped_by_fault : counters_.dropped_malformed);
      passed_over = true;
      continue;
    }
    const uint8_t* data = link.their_frame(descriptor.frame);
    __builtin_prefetch(data);
    __builtin_prefetch(data + 64);
    __builtin_prefetch(data + 128);
    frames[count++] = RxFrame{data, descriptor.length, &link, plane, !descriptor.has_icrc};
  }
  if (count > 0) link.empty_polls = 0;
  link.hold(static_cast<uint32_t>(count));
  if (count == 0 && passed_over) link.release(0);
  return count;
}

size_t HostLink::receive_looped(std::span<RxFrame> frames) {
  size_t count = 0;
  while (loop_tail_ != loop_head_ && count < frames.size()) {
    const Looped& looped = loop_[loop_tail_++ % kLoopFrames];
    if (faulty(looped.plane)) {
      ++counters_.dropped_by_fault;
      pool_.give(looped.frame);
      continue;
    }
    frames[count++] = RxFrame{state_.memory.arena->frame(looped.frame), looped.length, nullptr, looped.plane,
                              !looped.has_icrc};
  }
  return count;
}

[[gnu::hot]] void HostLink::release(std::span<const RxFrame> frames) {
  if (in_forked_child() || frames.empty()) return;
  for (size_t i = 0; i < frames.size();) {
    auto* link = static_cast<Link*>(frames[i].handle);
    const size_t first = i;
    while (i < frames.size() && frames[i].handle == link) ++i;
    if (link != nullptr)
      link->release(static_cast<uint32_t>(i - first));
    else
      for (size_t own = first; own < i; ++own) pool_.give(state_.memory.arena->number_of(frames[own].data));
  }
  held_ -= static_cast<uint32_t>(frames.size());
  if (held_ == 0) leave();
}

// --- whom to look at ---

void HostLink::look_at(const LinkTable& table) {
  seen_table_ = table.number;
  active_count_ = 0;
  for (uint32_t i = 0; i < table.count; ++i) {
    Link& link = *table.links[i];
    if (!link.active && link.known) continue;  // it sleeps on
    link.active = false;
    link.known = true;
    activate(link);
  }
}

void HostLink::activate(Link& link) {
  if (link.active) return;
  link.active = true;
  link.empty_polls = 0;
  active_[active_count_++] = &link;
  // Nobody needs to ring as long as we look.
  bell_of(link).fetch_or(uint64_t{1} << link.slot % 64, std::memory_order_relaxed);
}

// False: something came just now.
bool HostLink::deactivate(Link& link, uint32_t at) {
  link.empty_polls = 0;
  bell_of(link).fetch_and(~(uint64_t{1} << link.slot % 64), std::memory_order_relaxed);
  if (link.look_once_more()) {
    bell_of(link).fetch_or(uint64_t{1} << link.slot % 64, std::memory_order_relaxed);
    return false;
  }
  link.active = false;
  active_[at] = active_[--active_count_];
  return true;
}

void HostLink::answer_bells(const LinkTable& table) {
  Bells& bells = *state_.memory.bells;
  bells.any.exchange(0, std::memory_order_acq_rel);
  for (size_t word = 0; word < bells.rung.size(); ++word)
    for (uint64_t bits = bells.rung[word].load(std::memory_order_relaxed); bits != 0; bits &= bits - 1)
      if (Link* link =
              table.find(static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(bits))))
        activate(*link);
}

// Should a bell have been lost.
size_t HostLink::receive_from_one_idle(const LinkTable& table, std::span<RxFrame> frames) {
  if (++next_idle_ >= table.count) next_idle_ = 0;
  Link& link = *table.links[next_idle_];
  if (link.active || frames.empty()) return 0;
  const size_t count = receive_from(link, frames);
  if (count > 0) activate(link);
  return count;
}

// ------------------------------------------------------------------------------------------------ sending

[[gnu::hot]] size_t HostLink::transmit_room(const MacAddress& next_hop) {
  const uint32_t slot = slot_of_station(next_hop.bytes.data());
  if (slot == state_.own_slot) {
    const uint32_t free = kLoopFrames - (loop_head_ - loop_tail_);
    return free > kSpare ? std::min<size_t>(free - kSpare, kBurst) : 0;
  }
  if (slot == 0 || slot > kSlotMax || in_forked_child()) return kBurst;
  {
    Scope scope(*this);
    if (Link* link = table().find(slot)) {
      if (link->under_way() >= kReclaimAt) reclaim(*link);
      const uint32_t free = Arena::kRingFrames - link->under_way();
      return free > kSpare ? std::min<size_t>(free - kSpare, kBurst) : 0;
    }
  }
  // Held back while the link is made. Later frames are taken and lost, so that the transport's retries can
  // end.
  const Nanoseconds hold = state_.hold_until[slot].load(std::memory_order_relaxed);
  return hold != 0 && monotonic_now() < hold ? 0 : kBurst;
}

[[gnu::hot]] size_t HostLink::acquire(std::span<TxFrame> frames) {
  if (in_forked_child()) return 0;
  if (pool_.free_count() < frames.size()) find_frames();
  const size_t count = std::min<size_t>(frames.size(), pool_.free_count());
  if (count == 0) ++counters_.no_buffers;
  for (size_t i = 0; i < count; ++i) {
    frames[i] = TxFrame{state_.memory.arena->frame(pool_.take()), 0, nullptr};
  }
  return count;
}

// Takes back what can be had; makes more where all are under way to peers, of whom each has its share.
void HostLink::find_frames() {
  if (state_.retired.load(std::memory_order_relaxed) != nullptr) take_retired();
  Scope scope(*this);
  const LinkTable& links = table();
  for (uint32_t i = 0; i < links.count; ++i) reclaim(*links.links[i]);
  if (pool_.size() == 0)
    pool_.grow(kFramesAtFirst, kFramesAtFirst);
  else if (pool_.free_count() < kBurst)
    pool_.grow((links.count + 2) * Arena::kRingFrames, kFramesMore);
}

void HostLink::take_retired() {
  Link* link = state_.retired.exchange(nullptr, std::memory_order_acquire);
  while (link != nullptr) {
    link->reclaim_all([this](uint32_t frame) { pool_.give(frame); });
    delete std::exchange(link, link->next_retired);
  }
}

void HostLink::discard(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  for (const TxFrame& frame : frames) pool_.give(number_of(frame));
}

void HostLink::give_back(const TxFrame& frame, uint64_t* why) {
  ++*why;
  pool_.give(number_of(frame));
}

// Answers find their way by these addresses, whatever the port's own is.
void HostLink::write_source(const TxFrame& frame) const {
  const MacAddress source = station_of(state_.own_slot, frame.plane);
  std::memcpy(frame.data + 6, source.bytes.data(), 6);
}

[[gnu::hot]] void HostLink::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  Scope scope(*this);
  const LinkTable& links = table();
  // Neighbours with the same destination leave together.
  while (!frames.empty()) {
    const uint32_t slot = slot_to(frames[0]);
    size_t run = 1;
    while (run < frames.size() && run < kBurst && slot_to(frames[run]) == slot) ++run;
    if (slot == state_.own_slot)
      for (const TxFrame& frame : frames.first(run)) send_to_self(frame);
    else
      send_to(links.find(slot), frames.first(run));
    frames = frames.subspan(run);
  }
}

[[gnu::hot]] void HostLink::send_to(Link* link, std::span<const TxFrame> frames) {
  if (link != nullptr && link->room() < frames.size()) reclaim(*link);
  Descriptor descriptors[kBurst];
  size_t count = 0;
  for (const TxFrame& frame : frames) {
    if (faulty(frame.plane)) {
      give_back(frame, &counters_.dropped_by_fault);
    } else if (link == nullptr) {
      give_back(frame, &counters_.dropped_without_link);
    } else if (count == link->room()) {
      give_back(frame, &counters_.dropped_ring_full);
    } else {
      if (frame.station == 0) write_source(frame);
      descriptors[count++] = {number_of(frame), static_cast<uint16_t>(frame.length), frame.plane,
                              state_.icrc_always || frame.damaged, 0};
    }
  }
  if (count == 0) return;
  link->push({descriptors, count});
  link->ring_bell();
  counters_.frames_sent += count;
}

void HostLink::send_to_self(const TxFrame& frame) {
  if (faulty(frame.plane)) return give_back(frame, &counters_.dropped_by_fault);
  if (loop_head_ - loop_tail_ == kLoopFrames) return give_back(frame, &counters_.dropped_ring_full);
  if (frame.station == 0) write_source(frame);
  loop_[loop_head_++ % kLoopFrames] = {number_of(frame), frame.length, frame.plane,
                                       state_.icrc_always || frame.damaged};
  ++counters_.frames_sent;
}

bool HostLink::all_taken() {
  if (in_forked_child()) return true;
  Scope scope(*this);
  const LinkTable& links = table();
  bool all = true;
  for (uint32_t i = 0; i < links.count; ++i) {
    reclaim(*links.links[i]);
    all = all && (links.links[i]->under_way() == 0 || !links.links[i]->is_whole());
  }
  return all;
}

}  // namespace mrc
