// SPDX-License-Identifier: BSD-2-Clause
// One plane of a memif mesh as a port of the engine: the data path. The station address says slot and plane,
// and with them the link; frames to the own slot go through a queue inside the process.
#pragma once

#include <array>
#include <cstdint>

#include "dpdk_io/mesh_state.h"
#include "libmrc/port/port.h"

namespace mrc {

// Written by the data path; readers may see values a burst old.
struct PortCounters {
  uint64_t frames_received = 0;
  uint64_t frames_sent = 0;
  uint64_t dropped_by_fault = 0;      // the plane is a black hole or down
  uint64_t dropped_without_link = 0;  // no link to the destination
  uint64_t dropped_ring_full = 0;     // sent without asking for room
  uint64_t dropped_malformed = 0;
  uint64_t no_buffers = 0;  // acquire() found the pool empty
};

class MemifPort final : public Port {
 public:
  MemifPort(MeshState& state, Plane plane) : state_(state), plane_(plane) {}
  ~MemifPort() override;

  // Whether an address is one of the mesh's.
  static bool is_mesh_mac(const uint8_t* mac) { return mac[0] == 0x02 && mac[1] == 0x4D && mac[2] == 0x52; }

  static constexpr MacAddress mac_of(uint32_t slot, Plane plane) {
    return MacAddress{{0x02, 0x4D, 0x52, plane, static_cast<uint8_t>(slot >> 8), static_cast<uint8_t>(slot)}};
  }

  MacAddress address() const override { return mac_of(state_.own_slot, plane_); }
  bool link_up() const override { return fault() != PlaneFault::kLinkDown; }
  bool resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) override;
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& next_hop) override;
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  const PortCounters& counters() const { return counters_; }
  // Tries again to send what the rings did not take; true when nothing is left. For an orderly end.
  bool flush();

 private:
  // Frames to the own process; a power of two.
  static constexpr uint32_t kLoopFrames = 64;

  PlaneFault fault() const { return state_.faults->planes[plane_].load(std::memory_order_relaxed); }
  void want_link(uint32_t slot);
  Plane queue_of(const MemifLink& link) const;
  size_t receive_loop(rte_mbuf** frames, size_t count);
  size_t receive_link(MemifLink& link, rte_mbuf** frames, size_t count);
  size_t hand_over(rte_mbuf** mbufs, size_t count, RxFrame* frames);
  void push_pending(MemifLink& link);
  void send_run(const LinkTable& table, uint32_t slot, rte_mbuf** frames, size_t count);
  void send_link(MemifLink& link, rte_mbuf** frames, size_t count);
  void send_loop(rte_mbuf** frames, size_t count);
  void take_returned();
  void free_frames(rte_mbuf** frames, size_t count);

  MeshState& state_;
  const Plane plane_;
  uint32_t first_link_ = 0;  // polled first, in turn
  uint32_t loop_head_ = 0;   // next to be written
  uint32_t loop_tail_ = 0;   // next to be read
  std::array<rte_mbuf*, kLoopFrames> loop_;
  PortCounters counters_;
};

}  // namespace mrc
