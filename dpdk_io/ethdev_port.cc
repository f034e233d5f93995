// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev_port.h"

#include <rte_mempool.h>

#include <algorithm>
#include <cstring>

#include "dpdk_io/frame_filter.h"
#include "dpdk_io/host/fork_guard.h"
#include "libmrc/port/station.h"

namespace mrc {

namespace {

// Buffers that senders leave: drivers receive only if they can take a whole burst of them.
constexpr unsigned kReceiveReserve = 2 * kBurst;

rte_mbuf* mbuf_of(void* handle) {
  return static_cast<rte_mbuf*>(handle);
}

}  // namespace

EthdevPort::EthdevPort(LinkPort& local, EthdevDevice& device, const Config& config)
    : local_(local), config_(config), device_(&device) {}

EthdevPort::~EthdevPort() {
  if (in_forked_child()) return;
  push_pending();
  free_frames(pending_.frames.data(), pending_.count);
}

// All frames are single buffers that nobody shares, so they go back as they are.
void EthdevPort::free_frames(rte_mbuf** frames, size_t count) {
  if (count > 0)
    rte_mempool_put_bulk(config_.pool, reinterpret_cast<void**>(frames), static_cast<unsigned>(count));
}

MacAddress EthdevPort::address() const {
  if (in_forked_child()) return {};
  BurstScope burst(guard_);
  const EthdevDevice* device = device_.load(std::memory_order_acquire);
  return device != nullptr ? device->mac() : MacAddress{};
}

void EthdevPort::replace_device(EthdevDevice* device) {
  device_.store(device, std::memory_order_release);
  guard_.wait();
}

bool EthdevPort::resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) {
  if (in_forked_child()) return false;
  if (config_.is_local(destination)) return local_.resolve(destination, destination_qpn, next_hop);
  // Whoever asks QP 1 makes us look for him.
  constexpr Qpn kGeneralService{1};
  return resolve_wire(destination, destination_qpn == kGeneralService ? NextHops::kAskersMax : NextHops::kMax,
                      next_hop);
}

bool EthdevPort::resolve_back(const IpAddress& source, const MacAddress& heard_from, MacAddress* next_hop) {
  if (in_forked_child()) return false;
  if (is_same_host(heard_from)) return local_.resolve_back(source, heard_from, next_hop);
  return resolve_wire(source, NextHops::kStrangersMax, next_hop);
}

bool EthdevPort::resolve_wire(const IpAddress& destination, uint32_t most, MacAddress* next_hop) {
  bool added = false;
  const auto number = next_hops_.number_of(destination, most, &added);
  if (added) config_.wanted();
  if (!number || !next_hops_.known(*number)) return false;
  *next_hop = NextHops::handle(*number);
  return true;
}

size_t EthdevPort::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  if (pending_.count > 0) push_pending();
  rte_mbuf* mbufs[kBurst];
  size_t count = 0;
  {
    BurstScope burst(guard_);
    EthdevDevice* device = device_.load(std::memory_order_acquire);
    if (device != nullptr)
      count = device->receive(mbufs, static_cast<uint16_t>(std::min(frames.size(), kBurst)));
  }
  if (count == 0) return 0;
  if (fault() != PlaneFault::kNone) {
    counters_.dropped_by_fault += count;
    rte_pktmbuf_free_bulk(mbufs, static_cast<unsigned>(count));
    return 0;
  }
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    rte_mbuf* mbuf = mbufs[i];
    const auto* data = rte_pktmbuf_mtod(mbuf, const uint8_t*);
    // Such addresses mean processes of this host: nobody on the wire has one.
    if (mbuf->nb_segs != 1 || !frame_is_for(config_.own_slot, {data, mbuf->data_len}) ||
        is_same_host(data + 6)) {
      ++counters_.dropped_malformed;
      rte_pktmbuf_free(mbuf);
      continue;
    }
    frames[taken++] = RxFrame{data, mbuf->data_len, mbuf};
  }
  counters_.frames_received += taken;
  return taken;
}

void EthdevPort::release(std::span<const RxFrame> frames) {
  if (in_forked_child()) return;
  rte_mbuf* mbufs[kBurst];
  while (!frames.empty()) {
    const size_t count = std::min(frames.size(), kBurst);
    for (size_t i = 0; i < count; ++i) mbufs[i] = mbuf_of(frames[i].handle);
    free_frames(mbufs, count);
    frames = frames.subspan(count);
  }
}

size_t EthdevPort::transmit_room(const MacAddress&) {
  if (in_forked_child()) return 0;
  if (pending_.count > 0) push_pending();
  return pending_.count == 0 ? kBurst : 0;
}

size_t EthdevPort::acquire(std::span<TxFrame> frames) {
  if (in_forked_child()) return 0;
  rte_mbuf* mbufs[kBurst];
  const size_t free = rte_mempool_avail_count(config_.pool);
  const size_t spare = free > kReceiveReserve ? free - kReceiveReserve : 0;
  const size_t count = std::min({frames.size(), kBurst, spare});
  if (count == 0 || rte_pktmbuf_alloc_bulk(config_.pool, mbufs, static_cast<unsigned>(count)) != 0) {
    ++counters_.no_buffers;
    return 0;
  }
  for (size_t i = 0; i < count; ++i) frames[i] = TxFrame{rte_pktmbuf_mtod(mbufs[i], uint8_t*), 0, mbufs[i]};
  return count;
}

void EthdevPort::discard(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  for (const TxFrame& frame : frames) {
    rte_mbuf* mbuf = mbuf_of(frame.handle);
    free_frames(&mbuf, 1);
  }
}

void EthdevPort::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  const bool faulty = fault() != PlaneFault::kNone;
  if (faulty || !wire_up_.load(std::memory_order_relaxed)) {
    (faulty ? counters_.dropped_by_fault : counters_.dropped_without_link) += frames.size();
    discard(frames);
    return;
  }
  if (pending_.count > 0) push_pending();
  const MacAddress source = address();
  rte_mbuf* mbufs[kBurst];
  while (!frames.empty()) {
    const size_t burst = std::min(frames.size(), kBurst);
    const size_t count = prepare(frames.first(burst), source, mbufs);
    const size_t sent = pending_.count == 0 ? push(mbufs, count) : 0;
    const size_t kept = std::min(count - sent, PendingFrames::kMax - pending_.count);
    std::copy_n(mbufs + sent, kept, pending_.frames.begin() + pending_.count);
    pending_.count += static_cast<uint32_t>(kept);
    counters_.dropped_ring_full += count - sent - kept;
    free_frames(mbufs + sent + kept, count - sent - kept);
    frames = frames.subspan(burst);
  }
}

// Writes the addresses: those of neighbours change, and the port's own is another with another device, while
// the engine keeps what it was told first.
size_t EthdevPort::prepare(std::span<const TxFrame> frames, const MacAddress& source, rte_mbuf** mbufs) {
  size_t count = 0;
  for (const TxFrame& frame : frames) {
    rte_mbuf* mbuf = mbuf_of(frame.handle);
    if (NextHops::is_handle(frame.data) &&
        !next_hops_.write_mac(NextHops::number_in(frame.data), frame.data)) {
      ++counters_.dropped_without_link;
      free_frames(&mbuf, 1);
      continue;
    }
    std::memcpy(frame.data + 6, source.bytes.data(), source.bytes.size());
    mbuf->data_len = static_cast<uint16_t>(frame.length);
    mbuf->pkt_len = frame.length;
    mbufs[count++] = mbuf;
  }
  return count;
}

size_t EthdevPort::push(rte_mbuf** frames, size_t count) {
  BurstScope burst(guard_);
  EthdevDevice* device = device_.load(std::memory_order_acquire);
  const size_t sent =
      device != nullptr && count > 0 ? device->transmit(frames, static_cast<uint16_t>(count)) : 0;
  counters_.frames_sent += sent;
  return sent;
}

void EthdevPort::push_pending() {
  const size_t sent = push(pending_.frames.data(), pending_.count);
  if (sent == 0) return;
  pending_.count -= static_cast<uint32_t>(sent);
  std::copy_n(pending_.frames.begin() + sent, pending_.count, pending_.frames.begin());
}

}  // namespace mrc
