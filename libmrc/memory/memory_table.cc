// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/memory/memory_table.h"

#include <algorithm>
#include <utility>

#include "libmrc/wire/cache_line.h"
#include "libmrc/wire/frame.h"

namespace mrc {

namespace {
constexpr size_t kPlacesFirst = 1024;
constexpr size_t kPlacesEach = 4;
constexpr uint64_t kPresentAhead = 64 << 10;
}  // namespace

MemoryTable::MemoryTable(RandomSource& random, uint32_t regions_max)
    : places_(kPlacesFirst),
      place_mask_(kPlacesFirst - 1),
      regions_max_(std::min(regions_max, kRegionsMax)),
      keys_(random),
      next_key_(keys_.next()) {}

// Twice as many places. What was alone at its place stays so, for it is told apart by more of its bits.
void MemoryTable::make_room() {
  std::vector<MemoryRegion*> places(2 * places_.size());
  place_mask_ = places.size() - 1;
  for (MemoryRegion* region : places_)
    if (region != nullptr) places[place_of(region->key)] = region;
  places_ = std::move(places);
}

// There is room for one more afterwards; nullptr when the table is full.
MemoryRegion* MemoryTable::take_free() {
  if (used_ >= regions_max_) return nullptr;
  if (kPlacesEach * (size_t{used_} + 1) > places_.size()) make_room();
  if (free_.empty()) {
    // First, for remove() must never fail, also after this has.
    if (free_.capacity() <= regions_.size()) free_.reserve(2 * regions_.size() + 1);
    free_.push_back(&regions_.emplace_back());
  }
  MemoryRegion* region = free_.back();
  free_.pop_back();
  return region;
}

// A region with a new key; nullptr when the table is full.
MemoryRegion* MemoryTable::create() {
  MemoryRegion* region = take_free();
  if (region == nullptr) return nullptr;
  MemoryKey key = next_key_;
  while (places_[place_of(key)] != nullptr) key = keys_.next();
  next_key_ = keys_.next();
  fetch_to_write(&places_[place_of(next_key_)]);
  *region = MemoryRegion{};
  region->key = key;
  places_[place_of(key)] = region;
  ++used_;
  return region;
}

bool MemoryTable::add_copy(const MemoryRegion& original) {
  if (original.kind == MemoryKind::kNothing) make_zeros();
  // The other one may have more places, for it has held more.
  while (places_[place_of(original.key)] != nullptr) make_room();
  MemoryRegion* region = take_free();
  if (region == nullptr) return false;
  *region = original;
  places_[place_of(region->key)] = region;
  ++used_;
  return true;
}

bool MemoryTable::copy_all(const MemoryTable& other) {
  for (const MemoryRegion* region : other.places_)
    if (region != nullptr && !add_copy(*region)) return false;
  return true;
}

void MemoryTable::follow(const MemoryRegion& window) {
  MemoryRegion* own = numbered(window.key);
  if (own == nullptr || (own->kind != MemoryKind::kWindow && own->kind != MemoryKind::kKeyedWindow)) return;
  unbind(*own);
  own->key = window.key;
  MemoryRegion* region = window.bound_to != MemoryKey{} ? at(window.bound_to) : nullptr;
  if (region == nullptr) return;
  ++region->windows;
  *own = window;
}

MemoryKey MemoryTable::add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
                           uint8_t access) {
  MemoryRegion* region = create();
  if (region == nullptr) return MemoryKey{};
  region->domain = domain;
  change(region->key, domain, base, bytes, address, access);
  return region->key;
}

void MemoryTable::make_zeros() {
  if (zeros_ != nullptr) return;
  sink_.reset(new uint8_t[kMtuMax]());
  zeros_.reset(new uint8_t[kMtuMax]());
}

MemoryKey MemoryTable::add_nothing(ProtectionDomain domain) {
  make_zeros();
  MemoryRegion* region = create();
  if (region == nullptr) return MemoryKey{};
  region->kind = MemoryKind::kNothing;
  region->domain = domain;
  region->bytes = UINT64_MAX;
  region->access = kLocalRead | kLocalWrite;
  return region->key;
}

MemoryKey MemoryTable::add_window(ProtectionDomain domain, MemoryKind kind) {
  MemoryRegion* window = create();
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
  places_[place_of(key)] = nullptr;
  // Oldest first would delay re-use longest; a stack keeps the table small and hot.
  free_.push_back(region);
  --used_;
  return true;
}

bool MemoryTable::lose(const void* place) {
  const auto* at = static_cast<const uint8_t*>(place);
  bool found = false;
  for (MemoryRegion* region : places_) {
    if (region == nullptr || region->kind == MemoryKind::kNothing) continue;
    // Wraps where the region is behind that place. What is not bound has no bytes.
    if (reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(region->base) >= region->bytes)
      continue;
    if ((region->access & kOnDemand) == 0) region->access = 0;
    found = true;
  }
  if (found) losses_.store(losses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return found;
}

bool MemoryTable::page_in(const MemoryRegion& region, uint8_t* place, uint64_t bytes, uint8_t rights) const {
  // Nobody copies more than a packet at a time: who asks for more wants to know his rights only.
  if (pager_ == nullptr || bytes == 0 || bytes > kMtuMax) return true;
  const bool writes = (rights & (kLocalWrite | kRemoteWrite | kRemoteAtomic)) != 0;
  const auto first = reinterpret_cast<uintptr_t>(place);
  if (present_.covers(first, bytes, writes)) return true;
  // Where packets follow each other, the next ones' memory is asked for at once.
  if (present_.follows(first, kPresentAhead, writes)) {
    const uint64_t left = region.bytes - (first - reinterpret_cast<uintptr_t>(region.base));
    const uint64_t more = std::min(left, kPresentAhead);
    if (more > bytes && pager_(place, more, writes)) {
      present_.add(first, more, writes);
      return true;
    }
  }
  if (!pager_(place, bytes, writes)) return false;
  present_.add(first, bytes, writes);
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
  MemoryRegion* named = numbered(binding.key);
  if (named == nullptr) return false;
  MemoryRegion& window = *named;
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
  if (binding.bytes == 0) {
    tell_of(window);
    return true;
  }
  window.base = region->place_of(binding.address);
  window.address = binding.zero_based ? 0 : binding.address;
  window.bytes = binding.bytes;
  window.access =
      (binding.access & (kRemoteWrite | kRemoteRead | kRemoteAtomic)) | (region->access & kOnDemand);
  window.bound_to = binding.region;
  if (keyed) window.owner = by.qpn;
  ++region->windows;
  tell_of(window);
  return true;
}

bool MemoryTable::invalidate(MemoryKey key, const Accessor& by) {
  MemoryRegion* window = at(key);
  if (window == nullptr || window->domain != by.domain || window->kind != MemoryKind::kKeyedWindow ||
      window->bound_to == MemoryKey{} || window->owner != by.qpn)
    return false;
  unbind(*window);
  tell_of(*window);
  return true;
}

}  // namespace mrc
