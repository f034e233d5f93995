// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev_port.h"

#include <rte_mempool.h>

#include <algorithm>
#include <cstring>

#include "dpdk_io/eal.h"
#include "dpdk_io/frame_filter.h"

namespace mrc {

EthdevPort::EthdevPort(MemifPort& local, const MeshState& mesh, EthdevDevice& device, const Config& config)
    : local_(local), mesh_(mesh), config_(config), device_(&device) {}

EthdevPort::~EthdevPort() {
  if (in_forked_child()) return;
  push_pending();
  free_frames(pending_.frames.data(), pending_.count);
}

void EthdevPort::free_frames(rte_mbuf** frames, size_t count) {
  if (count > 0)
    rte_mempool_put_bulk(mesh_.pool, reinterpret_cast<void**>(frames), static_cast<unsigned>(count));
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
  bool added = false;
  const auto number = next_hops_.number_of(destination, &added);
  if (added) config_.wanted();
  if (!number || !next_hops_.known(*number)) return false;
  *next_hop = NextHops::handle(*number);
  return true;
}

// In turn, so that neither side keeps the other waiting.
size_t EthdevPort::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  if (pending_.count > 0) push_pending();
  wire_first_ = !wire_first_;
  size_t received = wire_first_ ? receive_wire(frames) : local_.receive(frames);
  const auto rest = frames.subspan(received);
  if (rest.empty()) return received;
  received += wire_first_ ? local_.receive(rest) : receive_wire(rest);
  return received;
}

size_t EthdevPort::receive_wire(std::span<RxFrame> frames) {
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
    if (mbuf->nb_segs != 1 || !frame_is_for(mesh_.own_slot, {data, mbuf->data_len})) {
      ++counters_.dropped_malformed;
      rte_pktmbuf_free(mbuf);
      continue;
    }
    frames[taken++] = RxFrame{data, mbuf->data_len, mbuf};
  }
  counters_.frames_received += taken;
  return taken;
}

size_t EthdevPort::transmit_room(const MacAddress& next_hop) {
  if (MemifPort::is_mesh_mac(next_hop.bytes.data())) return local_.transmit_room(next_hop);
  if (in_forked_child()) return 0;
  if (pending_.count > 0) push_pending();
  return pending_.count == 0 ? kBurst : 0;
}

void EthdevPort::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  while (!frames.empty()) {
    const bool local = MemifPort::is_mesh_mac(frames[0].data);
    size_t run = 1;
    while (run < frames.size() && MemifPort::is_mesh_mac(frames[run].data) == local) ++run;
    local ? transmit_local(frames.first(run)) : transmit_wire(frames.first(run));
    frames = frames.subspan(run);
  }
}

// In the mesh answers find their way by the mesh's own addresses.
void EthdevPort::transmit_local(std::span<const TxFrame> frames) {
  const MacAddress source = local_.address();
  for (const TxFrame& frame : frames) std::memcpy(frame.data + 6, source.bytes.data(), 6);
  local_.transmit(frames);
}

void EthdevPort::transmit_wire(std::span<const TxFrame> frames) {
  const bool faulty = fault() != PlaneFault::kNone;
  if (faulty || !wire_up_.load(std::memory_order_relaxed)) {
    (faulty ? counters_.dropped_by_fault : counters_.dropped_without_link) += frames.size();
    local_.discard(frames);
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
    auto* mbuf = static_cast<rte_mbuf*>(frame.handle);
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
