// SPDX-License-Identifier: BSD-2-Clause
// One end of a link that leads to one other process alone: from a program to mrcd, which shares a wire, or
// from there to the program. The memory is this link's, so nobody but the two sees what goes by it. The other
// end may go and come back: what was under way is lost, buffers stay good.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dpdk_io/host/burst_guard.h"
#include "dpdk_io/host/port_counters.h"
#include "dpdk_io/link/arena.h"
#include "dpdk_io/link/descriptor_message.h"
#include "dpdk_io/link/frame_pool.h"
#include "dpdk_io/link/link.h"
#include "libmrc/port/carrier.h"

namespace mrc {

inline constexpr uint32_t kSharerSlot = 0;  // mrcd's: no program has it

class LinkEnd final : public Carrier {
 public:
  // Who an end is, as its arena says.
  struct Owner {
    uint32_t slot;
    uint32_t planes;
    uint64_t incarnation;
  };
  struct Other {
    uint32_t slot;
    uint64_t incarnation;
    uint64_t number;  // of the link, as the other end calls it
  };

  LinkEnd() = default;
  ~LinkEnd() override;
  LinkEnd(const LinkEnd&) = delete;
  LinkEnd& operator=(const LinkEnd&) = delete;
  // False: `error` says why.
  bool open(const Owner& owner, std::string* error);

  // --- one thread at a time, beside the data path ---
  SentPair memory() const { return {memory_.arena_fd, memory_.bells_fd}; }
  // Makes this end's half of the link that it calls `number`. False: the descriptors are not what the other
  // would send.
  bool join(uint64_t number, const Other& other, const DescriptorPair& theirs);
  void part();

  // --- the data path ---
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  // Without another end all are taken, and lost.
  size_t transmit_room(const MacAddress& = {}) override;
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  PortCounters& counters() { return counters_; }

 private:
  // What there is of a link as long as there is another end.
  struct Half {
    PeerMemory theirs;
    std::unique_ptr<Link> link;
    Half* next_retired = nullptr;
  };
  class Scope;
  void enter() {
    if (depth_++ == 0) guard_.enter();
  }
  void leave() {
    if (--depth_ == 0) guard_.leave();
  }
  Half* half() const { return half_.load(std::memory_order_acquire); }
  uint32_t number_of(const TxFrame& frame) const { return memory_.arena->number_of(frame.data); }
  void find_frames();
  void take_retired();
  void reclaim(Link& link) {
    link.reclaim([this](uint32_t frame) { pool_.give(frame); });
  }

  Owner owner_{};
  OwnMemory memory_;
  // The data path uses a half only inside a burst, which lasts until received frames are released; who takes
  // it away waits for the guard.
  BurstGuard guard_;
  std::atomic<Half*> half_{nullptr};
  std::atomic<Half*> retired_{nullptr};  // the data path takes their frames back and deletes them
  uint32_t depth_ = 0;
  uint32_t held_ = 0;
  FramePool pool_;
  PortCounters counters_;
};

}  // namespace mrc
