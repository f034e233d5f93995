// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/memory/memory_table.h"

namespace mrc {

MemoryTable::MemoryTable(uint64_t seed, uint32_t regions_max) : regions_max_(regions_max), random_(seed | 1) {
  regions_.emplace_back();
}

MemoryKey MemoryTable::add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
                           uint8_t access) {
  uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
  } else if (regions_.size() <= regions_max_ && regions_.size() < (1u << 24)) {
    index = static_cast<uint32_t>(regions_.size());
    regions_.emplace_back();
    free_.push_back(index);
  } else {
    return MemoryKey{};
  }
  free_.pop_back();
  // A new tag for every use of the slot: an old key must not reach the new region.
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  auto tag = static_cast<uint8_t>(random_ >> 56);
  MemoryRegion& region = regions_[index];
  const auto last_tag = static_cast<uint8_t>(region.bytes);  // remove() leaves the old tag here
  if (tag == last_tag) ++tag;
  region = {static_cast<uint8_t*>(base), address, bytes, MemoryKey{index << 8 | tag}, domain, access};
  ++used_;
  return region.key;
}

bool MemoryTable::remove(MemoryKey key) {
  if (find(key) == nullptr) return false;
  const uint32_t index = static_cast<uint32_t>(key) >> 8;
  regions_[index] = MemoryRegion{};
  regions_[index].bytes = static_cast<uint8_t>(static_cast<uint32_t>(key));
  // Oldest first would delay re-use longest; a stack keeps the table small and hot.
  free_.push_back(index);
  --used_;
  return true;
}

}  // namespace mrc
