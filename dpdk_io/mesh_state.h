// SPDX-License-Identifier: BSD-2-Clause
// What the two sides of a memif mesh share: the data path (MemifPort, under the device's lock) and the thread
// that makes and removes links (MemifMesh::service).
#pragma once

#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "dpdk_io/burst_guard.h"
#include "dpdk_io/fault_page.h"
#include "dpdk_io/memif_link.h"
#include "dpdk_io/process_slot.h"
#include "libmrc/wire/time.h"

namespace mrc {

inline Nanoseconds monotonic_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

inline constexpr size_t kLinksMax = RTE_MAX_ETHPORTS;

// The connected links at one time. Never changed once published: a change is a new table.
struct LinkTable {
  uint32_t count = 0;
  std::array<MemifLink*, kLinksMax> links{};
  std::array<uint8_t, kSlotMax + 1> by_slot{};  // index in `links` plus one

  MemifLink* find(uint32_t slot) const { return by_slot[slot] == 0 ? nullptr : links[by_slot[slot] - 1]; }
};

struct MeshState {
  uint32_t own_slot = 0;
  FaultPage* faults = nullptr;
  rte_mempool* pool = nullptr;
  int wake_fd = -1;

  // The data path reads the table only inside a burst; who replaces it waits for the guard and then owns the
  // old.
  BurstGuard guard;
  std::atomic<const LinkTable*> table{nullptr};

  // Slots to which the data path wants a link, one bit each. Set by the data path, taken by service().
  std::array<std::atomic<uint64_t>, (kSlotMax + 64) / 64> wanted{};
  std::atomic<bool> any_wanted{false};
  // Until when frames to a slot without a link are held back (0: dropped at once).
  std::array<std::atomic<Nanoseconds>, kSlotMax + 1> hold_until{};

  // Buffers of removed links on their way back to the pool, which only the data path may touch.
  std::atomic<rte_mbuf*> returned{nullptr};
};

}  // namespace mrc
