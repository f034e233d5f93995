// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/memif_port.h"

#include <rte_mempool.h>
#include <unistd.h>

#include <algorithm>

#include "dpdk_io/eal.h"
#include "dpdk_io/packet_pool.h"

namespace mrc {
namespace {

// How long the engine holds frames back while a link is being made.
constexpr Nanoseconds kHold = 2 * kSecond;
// Buffers that senders leave: the driver receives only if it can take a whole burst of them.
constexpr unsigned kReceiveReserve = 2 * kBurst;

rte_mbuf* mbuf_of(void* handle) {
  return static_cast<rte_mbuf*>(handle);
}

// 0: not an address of this mesh.
uint32_t slot_of(const uint8_t* mac) {
  if (!MemifPort::is_mesh_mac(mac)) return 0;
  const uint32_t slot = static_cast<uint32_t>(mac[4]) << 8 | mac[5];
  return slot <= kSlotMax ? slot : 0;
}

}  // namespace

MemifPort::~MemifPort() {
  if (in_forked_child()) return;
  rte_mbuf* frames[kBurst];
  while (const size_t count = receive_loop(frames, kBurst)) free_frames(frames, count);
}

// All frames are single buffers that nobody shares, so they go back as they are.
[[gnu::hot]] void MemifPort::free_frames(rte_mbuf** frames, size_t count) {
  if (count > 0)
    rte_mempool_put_bulk(state_.pool, reinterpret_cast<void**>(frames), static_cast<unsigned>(count));
}

void MemifPort::take_returned() {
  rte_mbuf* frame = state_.returned.exchange(nullptr, std::memory_order_acquire);
  while (frame != nullptr) {
    rte_mbuf* next = frame->next;
    frame->next = nullptr;
    free_frames(&frame, 1);
    frame = next;
  }
}

// A peer with fewer planes gets ours folded over its own.
Plane MemifPort::queue_of(const MemifLink& link) const {
  return plane_ < link.queues() ? plane_ : static_cast<Plane>(plane_ % link.queues());
}

bool MemifPort::resolve(const IpAddress&, Qpn destination_qpn, MacAddress* next_hop) {
  const uint32_t slot = mrc::slot_of(destination_qpn);
  if (slot == 0 || in_forked_child()) return false;
  *next_hop = mac_of(slot, plane_);
  if (slot != state_.own_slot) want_link(slot);
  return true;
}

void MemifPort::want_link(uint32_t slot) {
  {
    BurstScope burst(state_.guard);
    if (state_.table.load(std::memory_order_acquire)->find(slot) != nullptr) return;
  }
  const Nanoseconds now = monotonic_now();
  if (state_.hold_until[slot].load(std::memory_order_relaxed) > now) return;  // another plane has asked
  state_.hold_until[slot].store(now + kHold, std::memory_order_relaxed);
  state_.wanted[slot / 64].fetch_or(uint64_t{1} << slot % 64, std::memory_order_release);
  state_.any_wanted.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(state_.wake_fd, &one, sizeof one);
}

[[gnu::hot]] size_t MemifPort::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  BurstScope burst(state_.guard);
  const LinkTable& table = *state_.table.load(std::memory_order_acquire);
  rte_mbuf* mbufs[kBurst];
  size_t received = 0;
  if (loop_head_ != loop_tail_)
    received = hand_over(mbufs, receive_loop(mbufs, std::min(frames.size(), kBurst)), frames.data());
  if (first_link_ >= table.count) first_link_ = 0;
  for (uint32_t i = 0, at = first_link_; i < table.count; ++i, at = at + 1 < table.count ? at + 1 : 0) {
    MemifLink& link = *table.links[at];
    if (link.pending(plane_).count > 0) push_pending(link);
    const size_t room = std::min(frames.size() - received, kBurst);
    if (room == 0) break;
    const size_t count = receive_link(link, mbufs, room);
    received += hand_over(mbufs, count, frames.data() + received);
  }
  ++first_link_;
  return received;
}

size_t MemifPort::receive_link(MemifLink& link, rte_mbuf** frames, size_t count) {
  if (plane_ >= link.queues()) return 0;
  const size_t received = link.receive(plane_, frames, static_cast<uint16_t>(count));
  if (received == 0) link.note_empty(plane_);
  return received;
}

size_t MemifPort::receive_loop(rte_mbuf** frames, size_t count) {
  count = std::min<size_t>(count, loop_head_ - loop_tail_);
  for (size_t i = 0; i < count; ++i) frames[i] = loop_[loop_tail_++ % kLoopFrames];
  return count;
}

[[gnu::hot]] size_t MemifPort::hand_over(rte_mbuf** mbufs, size_t count, RxFrame* frames) {
  if (count == 0) return 0;
  if (fault() != PlaneFault::kNone) {
    counters_.dropped_by_fault += count;
    rte_pktmbuf_free_bulk(mbufs, static_cast<unsigned>(count));
    return 0;
  }
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    rte_mbuf* mbuf = mbufs[i];
    if (mbuf->nb_segs != 1) {
      ++counters_.dropped_malformed;
      rte_pktmbuf_free(mbuf);
      continue;
    }
    frames[taken++] = RxFrame{rte_pktmbuf_mtod(mbuf, const uint8_t*), mbuf->data_len, mbuf};
  }
  counters_.frames_received += taken;
  return taken;
}

[[gnu::hot]] void MemifPort::release(std::span<const RxFrame> frames) {
  if (in_forked_child()) return;
  rte_mbuf* mbufs[kBurst];
  while (!frames.empty()) {
    const size_t count = std::min(frames.size(), kBurst);
    for (size_t i = 0; i < count; ++i) mbufs[i] = mbuf_of(frames[i].handle);
    free_frames(mbufs, count);
    frames = frames.subspan(count);
  }
}

[[gnu::hot]] size_t MemifPort::transmit_room(const MacAddress& next_hop) {
  const uint32_t slot = slot_of(next_hop.bytes.data());
  if (slot == state_.own_slot) return kLoopFrames - (loop_head_ - loop_tail_);
  if (slot == 0 || in_forked_child()) return kBurst;
  {
    BurstScope burst(state_.guard);
    if (MemifLink* link = state_.table.load(std::memory_order_acquire)->find(slot)) {
      if (link->pending(plane_).count > 0) push_pending(*link);
      return link->pending(plane_).count == 0 ? kBurst : 0;
    }
  }
  // Held back while the link is made. Later frames are taken and lost, so that the transport's retries can
  // end.
  const Nanoseconds hold = state_.hold_until[slot].load(std::memory_order_relaxed);
  return hold != 0 && monotonic_now() < hold ? 0 : kBurst;
}

[[gnu::hot]] size_t MemifPort::acquire(std::span<TxFrame> frames) {
  if (in_forked_child()) return 0;
  if (state_.returned.load(std::memory_order_relaxed) != nullptr) take_returned();
  rte_mbuf* mbufs[kBurst];
  const size_t free = rte_mempool_avail_count(state_.pool);
  const size_t spare = free > kReceiveReserve ? free - kReceiveReserve : 0;
  const size_t count = std::min({frames.size(), kBurst, spare});
  if (count == 0 || rte_pktmbuf_alloc_bulk(state_.pool, mbufs, static_cast<unsigned>(count)) != 0) {
    ++counters_.no_buffers;
    return 0;
  }
  for (size_t i = 0; i < count; ++i) frames[i] = TxFrame{rte_pktmbuf_mtod(mbufs[i], uint8_t*), 0, mbufs[i]};
  return count;
}

void MemifPort::discard(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  for (const TxFrame& frame : frames) {
    rte_mbuf* mbuf = mbuf_of(frame.handle);
    free_frames(&mbuf, 1);
  }
}

[[gnu::hot]] void MemifPort::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  if (fault() != PlaneFault::kNone) {
    counters_.dropped_by_fault += frames.size();
    discard(frames);
    return;
  }
  BurstScope burst(state_.guard);
  const LinkTable& table = *state_.table.load(std::memory_order_acquire);
  // Neighbours with the same destination leave as one burst.
  rte_mbuf* mbufs[kBurst];
  size_t count = 0;
  uint32_t run_slot = 0;
  for (const TxFrame& frame : frames) {
    rte_mbuf* mbuf = mbuf_of(frame.handle);
    mbuf->data_len = static_cast<uint16_t>(frame.length);
    mbuf->pkt_len = frame.length;
    const uint32_t slot = slot_of(frame.data);
    if (count > 0 && (slot != run_slot || count == kBurst)) {
      send_run(table, run_slot, mbufs, count);
      count = 0;
    }
    run_slot = slot;
    mbufs[count++] = mbuf;
  }
  if (count > 0) send_run(table, run_slot, mbufs, count);
}

[[gnu::hot]] void MemifPort::send_run(const LinkTable& table, uint32_t slot, rte_mbuf** frames,
                                      size_t count) {
  if (slot == state_.own_slot) return send_loop(frames, count);
  if (MemifLink* link = table.find(slot)) return send_link(*link, frames, count);
  counters_.dropped_without_link += count;
  free_frames(frames, count);
}

void MemifPort::send_link(MemifLink& link, rte_mbuf** frames, size_t count) {
  PendingFrames& pending = link.pending(plane_);
  if (pending.count > 0) push_pending(link);
  size_t sent = 0;
  if (pending.count == 0) sent = link.transmit(queue_of(link), frames, static_cast<uint16_t>(count));
  counters_.frames_sent += sent;
  const size_t kept = std::min(count - sent, PendingFrames::kMax - pending.count);
  std::copy_n(frames + sent, kept, pending.frames.begin() + pending.count);
  pending.count += static_cast<uint32_t>(kept);
  const size_t dropped = count - sent - kept;
  counters_.dropped_ring_full += dropped;
  free_frames(frames + sent + kept, dropped);
}

void MemifPort::push_pending(MemifLink& link) {
  PendingFrames& pending = link.pending(plane_);
  const uint16_t sent =
      link.transmit(queue_of(link), pending.frames.data(), static_cast<uint16_t>(pending.count));
  if (sent == 0) return;
  counters_.frames_sent += sent;
  pending.count -= sent;
  std::copy_n(pending.frames.begin() + sent, pending.count, pending.frames.begin());
}

void MemifPort::send_loop(rte_mbuf** frames, size_t count) {
  const size_t taken = std::min<size_t>(count, kLoopFrames - (loop_head_ - loop_tail_));
  for (size_t i = 0; i < taken; ++i) loop_[loop_head_++ % kLoopFrames] = frames[i];
  counters_.frames_sent += taken;
  counters_.dropped_ring_full += count - taken;
  free_frames(frames + taken, count - taken);
}

bool MemifPort::flush() {
  if (in_forked_child()) return true;
  BurstScope burst(state_.guard);
  const LinkTable& table = *state_.table.load(std::memory_order_acquire);
  bool empty = true;
  for (uint32_t i = 0; i < table.count; ++i) {
    MemifLink& link = *table.links[i];
    if (link.pending(plane_).count > 0) push_pending(link);
    empty = empty && link.pending(plane_).count == 0;
  }
  return empty;
}

}  // namespace mrc
