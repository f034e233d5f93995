// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/memory/memory_table.h"

#include "libmrc/wire/frame.h"

namespace mrc {

MemoryTable::MemoryTable(uint64_t seed, uint32_t regions_max) : regions_max_(regions_max), random_(seed | 1) {
  regions_.emplace_back();
}

// A free slot with a new key; nullptr when the table is full.
MemoryRegion* MemoryTable::take_slot() {
  uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
  } else if (regions_.size() <= regions_max_ && regions_.size() < (1u << 24)) {
    index = static_cast<uint32_t>(regions_.size());
    regions_.emplace_back();
    free_.push_back(index);
  } else {
    return nullptr;
  }
  free_.pop_back();
  // A new tag for every use of the slot: an old key must not reach the new region.
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  auto tag = static_cast<uint8_t>(random_ >> 56);
  MemoryRegion& region = regions_[index];
  const auto last_tag = static_cast<uint8_t>(region.bytes);  // remove() leaves the old tag here
  if (tag == last_tag) ++tag;
  region = MemoryRegion{};
  region.key = MemoryKey{index << 8 | tag};
  ++used_;
  return &region;
}

MemoryKey MemoryTable::add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
                           uint8_t access) {
  MemoryRegion* region = take_slot();
  if (region == nullptr) return MemoryKey{};
  region->domain = domain;
  change(region->key, domain, base, bytes, address, access);
  return region->key;
}

MemoryKey MemoryTable::add_nothing(ProtectionDomain domain) {
  if (zeros_ == nullptr) {
    zeros_.reset(new uint8_t[kMtuMax]());
    sink_.reset(new uint8_t[kMtuMax]());
  }
  MemoryRegion* region = take_slot();
  if (region == nullptr) return MemoryKey{};
  region->kind = MemoryKind::kNothing;
  region->domain = domain;
  region->bytes = UINT64_MAX;
  region->access = kLocalRead | kLocalWrite;
  return region->key;
}

MemoryKey MemoryTable::add_window(ProtectionDomain domain, MemoryKind kind) {
  MemoryRegion* window = take_slot();
  if (window == nullptr) return MemoryKey{};
  window->kind = kind;
  window->domain = domain;
  return window->key;
}

bool MemoryTable::change(MemoryKey key, ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
                         uint8_t access) {
  MemoryRegion* region = at(key);
  if (region == nullptr || region->kind != MemoryKind::kRegion || region->windows != 0) return false;
  region->base = static_cast<uint8_t*>(base);
  region->address = address;
  region->bytes = bytes;
  region->domain = domain;
  region->access = access | kLocalRead;
  return true;
}

bool MemoryTable::remove(MemoryKey key) {
  MemoryRegion* region = at(key);
  if (region == nullptr || region->windows != 0) return false;
  unbind(*region);
  const uint32_t index = static_cast<uint32_t>(key) >> 8;
  regions_[index] = MemoryRegion{};
  regions_[index].bytes = static_cast<uint8_t>(static_cast<uint32_t>(key));
  // Oldest first would delay re-use longest; a stack keeps the table small and hot.
  free_.push_back(index);
  --used_;
  return true;
}

// ----------------------------------------------------------------------------------------------- windows

void MemoryTable::unbind(MemoryRegion& window) {
  if (window.bound_to == MemoryKey{}) return;
  --at(window.bound_to)->windows;
  window.bound_to = MemoryKey{};
  window.access = 0;
  window.bytes = 0;
  window.owner = Qpn{};
}

// IBTA 10.6.7.2, 11.2.8.11
bool MemoryTable::bind(const WindowBinding& binding, const Accessor& by) {
  const uint32_t index = static_cast<uint32_t>(binding.key) >> 8;
  if (index == 0 || index >= regions_.size()) return false;
  MemoryRegion& window = regions_[index];
  const bool keyed = window.kind == MemoryKind::kKeyedWindow;
  if ((!keyed && window.kind != MemoryKind::kWindow) || window.domain != by.domain) return false;
  if (keyed && (window.bound_to != MemoryKey{} || binding.bytes == 0)) return false;
  MemoryRegion* region = at(binding.region);
  if (binding.bytes > 0) {
    constexpr uint8_t kChanges = kRemoteWrite | kRemoteAtomic;
    if (region == nullptr || region->domain != by.domain || (region->access & kWindowBind) == 0) return false;
    if (!region->contains(binding.address, binding.bytes)) return false;
    if ((binding.access & kChanges) != 0 && (region->access & kLocalWrite) == 0) return false;
  }
  unbind(window);
  window.key = binding.key;
  if (binding.bytes == 0) return true;
  window.base = region->base + (binding.address - region->address);
  window.address = binding.zero_based ? 0 : binding.address;
  window.bytes = binding.bytes;
  window.access = binding.access & (kRemoteWrite | kRemoteRead | kRemoteAtomic);
  window.bound_to = binding.region;
  if (keyed) window.owner = by.qpn;
  ++region->windows;
  return true;
}

bool MemoryTable::invalidate(MemoryKey key, const Accessor& by) {
  MemoryRegion* window = at(key);
  if (window == nullptr || window->domain != by.domain || window->kind != MemoryKind::kKeyedWindow ||
      window->bound_to == MemoryKey{} || window->owner != by.qpn)
    return false;
  unbind(*window);
  return true;
}

}  // namespace mrc
