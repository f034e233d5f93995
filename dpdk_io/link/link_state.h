// SPDX-License-Identifier: BSD-2-Clause
// What the two sides of the same-host links share: the data path (HostLink, under the engine's lock) and the
// thread that makes and removes links (HostMesh::service).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "dpdk_io/host/burst_guard.h"
#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/group_page.h"
#include "dpdk_io/host/slot_number.h"
#include "dpdk_io/link/arena.h"
#include "dpdk_io/link/link.h"
#include "libmrc/wire/time.h"

namespace mrc {

// The links at one time. Never changed once published: a change is a new table.
struct LinkTable {
  uint64_t number = 0;  // tells tables apart
  uint32_t count = 0;
  std::array<Link*, kSlotMax> links{};
  std::array<uint16_t, kSlotMax + 1> by_slot{};  // index in `links` plus one

  Link* find(uint32_t slot) const {
    return slot > kSlotMax || by_slot[slot] == 0 ? nullptr : links[by_slot[slot] - 1];
  }
};

struct LinkState {
  uint32_t own_slot = 0;
  uint32_t planes = 0;
  bool icrc_always = false;  // frames carry one, and it is checked
  FaultPage* faults = nullptr;
  std::unique_ptr<GroupPage> groups;
  int wake_fd = -1;
  OwnMemory memory;

  // The data path reads the table only inside a burst, which lasts until received frames are released; who
  // replaces it waits for the guard and then owns the old.
  BurstGuard guard;
  std::atomic<const LinkTable*> table{nullptr};

  // Slots to which the data path wants a link, one bit each. Set by the data path, taken by service().
  std::array<std::atomic<uint64_t>, (kSlotMax + 64) / 64> wanted{};
  std::atomic<bool> any_wanted{false};
  // Until when frames to a slot without a link are held back (0: dropped at once).
  std::array<std::atomic<Nanoseconds>, kSlotMax + 1> hold_until{};

  // Links that are out of the table; the data path takes their frames back and deletes them.
  std::atomic<Link*> retired{nullptr};
};

}  // namespace mrc
