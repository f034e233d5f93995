// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/ethdev_carrier.h"

#include <rte_mempool.h>

#include <algorithm>
#include <cstring>

#include "dpdk_io/host/fork_guard.h"

namespace mrc {

namespace {

// Buffers that senders leave: drivers receive only if they can take a whole burst of them.
constexpr unsigned kReceiveReserve = 2 * kBurst;

rte_mbuf* mbuf_of(void* handle) {
  return static_cast<rte_mbuf*>(handle);
}

}  // namespace

EthdevCarrier::~EthdevCarrier() {
  if (in_forked_child()) return;
  push_pending();
  free_frames(pending_.frames.data(), pending_.count);
}

// All frames are single buffers that nobody shares, so they go back as they are.
void EthdevCarrier::free_frames(rte_mbuf** frames, size_t count) {
  if (count > 0) rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(frames), static_cast<unsigned>(count));
}

// Its interface is the driver's affair.
bool EthdevCarrier::reopen(std::string* error) {
  *error = "mrc: a DPDK device is opened once; start the program again";
  return false;
}

size_t EthdevCarrier::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  if (pending_.count > 0) push_pending();
  rte_mbuf* mbufs[kBurst];
  const size_t count =
      device_->receive(queue_, mbufs, static_cast<uint16_t>(std::min(frames.size(), kBurst)));
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    rte_mbuf* mbuf = mbufs[i];
    if (mbuf->nb_segs == 1) {
      frames[taken++] = RxFrame{rte_pktmbuf_mtod(mbuf, const uint8_t*), mbuf->data_len, mbuf};
    } else {
      ++counters_.dropped_malformed;
      rte_pktmbuf_free(mbuf);
    }
  }
  counters_.frames_received += taken;
  return taken;
}

void EthdevCarrier::release(std::span<const RxFrame> frames) {
  if (in_forked_child()) return;
  rte_mbuf* mbufs[kBurst];
  while (!frames.empty()) {
    const size_t count = std::min(frames.size(), kBurst);
    for (size_t i = 0; i < count; ++i) mbufs[i] = mbuf_of(frames[i].handle);
    free_frames(mbufs, count);
    frames = frames.subspan(count);
  }
}

size_t EthdevCarrier::transmit_room(const MacAddress&) {
  if (in_forked_child()) return 0;
  if (pending_.count > 0) push_pending();
  return pending_.count == 0 ? kBurst : 0;
}

size_t EthdevCarrier::acquire(std::span<TxFrame> frames) {
  if (in_forked_child()) return 0;
  rte_mbuf* mbufs[kBurst];
  const size_t free = rte_mempool_avail_count(pool_);
  const size_t spare = free > kReceiveReserve ? free - kReceiveReserve : 0;
  const size_t count = std::min({frames.size(), kBurst, spare});
  if (count == 0 || rte_pktmbuf_alloc_bulk(pool_, mbufs, static_cast<unsigned>(count)) != 0) {
    ++counters_.no_buffers;
    return 0;
  }
  for (size_t i = 0; i < count; ++i) frames[i] = TxFrame{rte_pktmbuf_mtod(mbufs[i], uint8_t*), 0, mbufs[i]};
  return count;
}

void EthdevCarrier::discard(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  for (const TxFrame& frame : frames) {
    rte_mbuf* mbuf = mbuf_of(frame.handle);
    free_frames(&mbuf, 1);
  }
}

void EthdevCarrier::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  if (pending_.count > 0) push_pending();
  const MacAddress& source = device_->mac();
  rte_mbuf* mbufs[kBurst];
  while (!frames.empty()) {
    const size_t count = std::min(frames.size(), kBurst);
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(frames[i].data + 6, source.bytes.data(), source.bytes.size());
      mbufs[i] = mbuf_of(frames[i].handle);
      mbufs[i]->data_len = static_cast<uint16_t>(frames[i].length);
      mbufs[i]->pkt_len = frames[i].length;
    }
    const size_t sent = pending_.count == 0 ? push(mbufs, count) : 0;
    const size_t kept = std::min(count - sent, PendingFrames::kMax - pending_.count);
    std::copy_n(mbufs + sent, kept, pending_.frames.begin() + pending_.count);
    pending_.count += static_cast<uint32_t>(kept);
    counters_.dropped_ring_full += count - sent - kept;
    free_frames(mbufs + sent + kept, count - sent - kept);
    frames = frames.subspan(count);
  }
}

size_t EthdevCarrier::push(rte_mbuf** frames, size_t count) {
  const size_t sent = count > 0 ? device_->transmit(queue_, frames, static_cast<uint16_t>(count)) : 0;
  counters_.frames_sent += sent;
  return sent;
}

void EthdevCarrier::push_pending() {
  const size_t sent = push(pending_.frames.data(), pending_.count);
  if (sent == 0) return;
  pending_.count -= static_cast<uint32_t>(sent);
  std::copy_n(pending_.frames.begin() + sent, pending_.count, pending_.frames.begin());
}

}  // namespace mrc
