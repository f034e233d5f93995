// SPDX-License-Identifier: BSD-2-Clause
// Registered memory: keys, bounds and rights. Every byte that the engine reads for or writes from the network
// goes through translate(); a key names a region and a generation, so a stale key never matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "libmrc/wire/identifiers.h"

namespace mrc {

enum class ProtectionDomain : uint32_t {};

// Rights of a region (and of a queue pair for what its peer may do).
enum AccessRight : uint8_t {
  kLocalRead = 0,  // always granted
  kLocalWrite = 1 << 0,
  kRemoteWrite = 1 << 1,
  kRemoteRead = 1 << 2,
  kRemoteAtomic = 1 << 3,
};

struct MemoryRegion {
  uint8_t* base = nullptr;  // where it is in this process
  uint64_t address = 0;     // what work requests and packets call its first byte
  uint64_t bytes = 0;
  MemoryKey key{};  // 0 = slot is free
  ProtectionDomain domain{};
  uint8_t access = 0;
  bool invalidatable = false;  // a peer's SEND with invalidate may end it

  bool contains(uint64_t at, uint64_t length) const {
    return at >= address && length <= bytes && at - address <= bytes - length;
  }
};

class MemoryTable {
 public:
  explicit MemoryTable(uint64_t seed, uint32_t regions_max = 1u << 20);

  // The key of the new region, or MemoryKey{0} when the table is full.
  MemoryKey add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address, uint8_t access);
  bool remove(MemoryKey key);
  // SEND with invalidate: only regions made for it may be ended by the peer.
  bool invalidate(MemoryKey key, ProtectionDomain domain) {
    const MemoryRegion* region = find(key);
    return region != nullptr && region->domain == domain && region->invalidatable && remove(key);
  }
  size_t size() const { return used_; }

  const MemoryRegion* find(MemoryKey key) const {
    const uint32_t index = static_cast<uint32_t>(key) >> 8;
    if (index >= regions_.size()) return nullptr;
    const MemoryRegion& region = regions_[index];
    return region.key == key && key != MemoryKey{} ? &region : nullptr;
  }

  // Where [address, address + bytes) lives, or nullptr if key, domain, bounds or rights forbid it.
  uint8_t* translate(MemoryKey key, ProtectionDomain domain, uint64_t address, uint64_t bytes,
                     uint8_t rights) const {
    const MemoryRegion* region = find(key);
    if (region == nullptr || region->domain != domain || (region->access & rights) != rights) return nullptr;
    if (!region->contains(address, bytes)) return nullptr;
    return region->base + (address - region->address);
  }

 private:
  std::deque<MemoryRegion> regions_;  // slot 0 stays empty; addresses of regions do not move
  std::vector<uint32_t> free_;
  uint32_t regions_max_;
  uint32_t used_ = 0;
  uint64_t random_;
};

}  // namespace mrc
