// SPDX-License-Identifier: BSD-2-Clause
// The data path of same-host links: carries the frames of all planes to and from the processes of this host.
// A frame is written once, into memory that the peer has mapped, and read there. Frames to the own process go
// through a queue.
//
// What it costs to find out who has sent something does not grow with the number of peers: rings that have
// been empty for long are looked at only when their bell rings (and one of them in every turn, should one get
// lost).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "dpdk_io/host/port_counters.h"
#include "dpdk_io/link/frame_pool.h"
#include "dpdk_io/link/link_state.h"
#include "libmrc/port/carrier.h"
#include "libmrc/port/station.h"

namespace mrc {

class HostLink final : public Carrier {
 public:
  explicit HostLink(LinkState& state) : state_(state) {}
  ~HostLink() override;
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& next_hop) override;
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;
  bool keeps_intact() const override { return !state_.icrc_always; }
  std::optional<MacAddress> source_for(Plane plane) const override {
    return station_of(state_.own_slot, plane);
  }

  // Not on the data path: asks for a link to the slot, if there is none.
  void want_link(uint32_t slot);
  // Whether the peers have taken all that was sent. For an orderly end.
  bool all_taken();

  const PortCounters& counters() const { return counters_; }

 private:
  static constexpr uint32_t kLoopFrames = 256;

  struct Looped {
    uint32_t frame;
    uint32_t length;
    Plane plane;
    bool has_icrc;
  };
  // Inside a burst; nested, since received frames keep it open.
  class Scope {
   public:
    explicit Scope(HostLink& link) : link_(link) { link_.enter(); }
    ~Scope() { link_.leave(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    HostLink& link_;
  };
  void enter() {
    if (depth_++ == 0) state_.guard.enter();
  }
  void leave() {
    if (--depth_ == 0) state_.guard.leave();
  }
  const LinkTable& table() const { return *state_.table.load(std::memory_order_acquire); }
  bool faulty(Plane plane) const {
    return state_.faults->planes[plane].load(std::memory_order_relaxed) != PlaneFault::kNone;
  }

  static uint32_t slot_to(const TxFrame& frame) {
    return frame.station != 0 ? frame.station : slot_of_station(frame.data);
  }
  void write_source(const TxFrame& frame) const;
  uint32_t number_of(const TxFrame& frame) const { return state_.memory.arena->number_of(frame.data); }
  std::atomic<uint64_t>& bell_of(const Link& link) { return state_.memory.bells->rung[link.slot / 64]; }

  void look_at(const LinkTable& table);
  void activate(Link& link);
  bool deactivate(Link& link, uint32_t at);
  void answer_bells(const LinkTable& table);
  size_t receive_looped(std::span<RxFrame> frames);
  size_t receive_from(Link& link, std::span<RxFrame> frames);
  size_t receive_from_one_idle(const LinkTable& table, std::span<RxFrame> frames);
  void send_to(Link* link, std::span<const TxFrame> frames);
  void send_to_self(const TxFrame& frame);
  void give_back(const TxFrame& frame, uint64_t* why);
  void reclaim(Link& link) {
    link.reclaim([this](uint32_t frame) { pool_.give(frame); });
  }
  void find_frames();
  void take_retired();

  LinkState& state_;
  uint32_t depth_ = 0;
  uint32_t held_ = 0;  // frames received and not released
  // Rings looked at in every turn.
  uint64_t seen_table_ = 0;
  uint32_t active_count_ = 0;
  uint32_t first_active_ = 0;
  uint32_t next_idle_ = 0;
  std::array<Link*, kSlotMax> active_;
  // To the own process.
  uint32_t loop_head_ = 0;
  uint32_t loop_tail_ = 0;
  std::array<Looped, kLoopFrames> loop_;
  FramePool pool_;
  PortCounters counters_;
};

}  // namespace mrc
