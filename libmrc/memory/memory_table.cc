// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/memory/memory_table.h"

#include <algorithm>
#include <new>
#include <utility>

#include "libmrc/wire/cache_line.h"
#include "libmrc/wire/frame.h"

namespace mrc {

namespace {
constexpr size_t kPlacesFirst = 1024;
constexpr size_t kPlacesEach = 4;
// Regions come in chunks: so many at first, then a quarter of what there is, up to what lies in one huge page
// of most machines.
constexpr size_t kChunkFirst = 128;
constexpr size_t kChunkMost = (2 << 20) / sizeof(MemoryRegion);
// With the last quarter of the regions that fit come so many places each: 16 would do.
constexpr size_t kPlacesMovedAtOnce = 64;
constexpr uint64_t kPresentAhead = 64 << 10;

void clear_binding(MemoryRegion& window) {
  window.bound_to = MemoryKey{};
  window.access = 0;
  window.bytes = 0;
  window.owner = Qpn{};
}
}  // namespace

MemoryTable::MemoryTable(RandomSource& random, uint32_t regions_max)
    : places_(make_places(kPlacesFirst)),
      place_mask_(kPlacesFirst - 1),
      regions_max_(std::min(regions_max, kRegionsMax)),
      keys_(random),
      next_key_(keys_.next()) {}

void* MemoryTable::zeroes(size_t bytes) const {
  void* memory = source_ != nullptr ? source_(bytes) : std::calloc(1, bytes);
  if (memory == nullptr) throw std::bad_alloc();  // Not by a packet: who registers memory.
  return memory;
}

MemoryTable::Places MemoryTable::make_places(size_t count) const {
  return Places(static_cast<MemoryRegion**>(zeroes(count * sizeof(void*))));
}

MemoryTable::Regions MemoryTable::make_regions(size_t count) const {
  Regions regions(static_cast<MemoryRegion*>(zeroes(count * sizeof(MemoryRegion))));
  for (size_t i = 0; i + 1 < count; ++i) regions[i].next_free = &regions[i + 1];
  return regions;
}

MemoryTable::Supplies MemoryTable::supplies_for_one_more() const {
  Supplies supplies;
  if (used_ >= regions_max_) return supplies;
  if (grown_ == nullptr && kPlacesEach * (size_t{used_} + 1) > places() - places() / 4) {
    supplies.place_count = 2 * places();
    supplies.places = make_places(supplies.place_count);
  }
  if (free_ == nullptr) {
    supplies.region_count = std::clamp<size_t>(used_ / 4, kChunkFirst, kChunkMost);
    supplies.regions = make_regions(supplies.region_count);
  }
  return supplies;
}

void MemoryTable::take(Supplies& supplies) {
  if (supplies.places != nullptr && grown_ == nullptr)
    begin_growth(std::move(supplies.places), supplies.place_count);
  if (supplies.regions == nullptr) return;
  chunks_.push_back(std::move(supplies.regions));
  MemoryRegion* first = chunks_.back().get();
  first[supplies.region_count - 1].next_free = std::exchange(free_, first);
}

void MemoryTable::begin_growth(Places places, size_t count) {
  grown_ = std::move(places);
  grown_mask_ = count - 1;
  grown_from_ = 0;
}

// What was alone at its place stays so, for it is told apart by more of its bits.
void MemoryTable::grow_some() {
  const size_t end = std::min(grown_from_ + kPlacesMovedAtOnce, places());
  places_moved_ += end - grown_from_;
  for (; grown_from_ < end; ++grown_from_)
    if (MemoryRegion* region = places_[grown_from_]; region != nullptr)
      grown_[KeySequence::number_of(region->key) & grown_mask_] = region;
  if (end < places()) return;
  outgrown_ = std::exchange(places_, std::move(grown_));
  place_mask_ = grown_mask_;
}

// Now: of a table that other keys come into than it has given out, and that has fewer places than the other.
void MemoryTable::make_room() {
  const size_t count = 2 * places();
  if (grown_ == nullptr) begin_growth(make_places(count), count);
  while (grown_ != nullptr) grow_some();
}

void MemoryTable::make_places_like(const MemoryTable& other) {
  const size_t wanted = other.grown_ != nullptr ? other.grown_mask_ + 1 : other.places();
  while (grown_ != nullptr) grow_some();
  if (wanted <= places()) return;
  begin_growth(make_places(wanted), wanted);
  while (grown_ != nullptr) grow_some();
}

// There is room for one more afterwards; nullptr when the table is full.
MemoryRegion* MemoryTable::take_free() {
  if (used_ >= regions_max_) return nullptr;
  Supplies supplies = supplies_for_one_more();
  take(supplies);
  if (grown_ != nullptr) grow_some();
  if (kPlacesEach * (size_t{used_} + 1) > places()) make_room();
  return std::exchange(free_, free_->next_free);
}

// At the place of its key, which is free.
void MemoryTable::put(MemoryRegion* region) {
  places_[place_of(region->key)] = region;
  if (grown_ != nullptr) grown_[KeySequence::number_of(region->key) & grown_mask_] = region;
  ++used_;
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
  put(region);
  return region;
}

bool MemoryTable::add_copy(const MemoryRegion& original) {
  if (original.kind == MemoryKind::kNothing) make_zeros();
  // The other one may have more places, for it has held more.
  while (places_[place_of(original.key)] != nullptr) make_room();
  MemoryRegion* region = take_free();
  if (region == nullptr) return false;
  *region = original;
  put(region);
  return true;
}

size_t MemoryTable::copy_some(size_t* place, std::span<MemoryRegion> out) const {
  size_t count = 0;
  const size_t end = std::min(places(), *place + kPlacesEach * out.size());
  for (; *place < end && count < out.size(); ++*place) {
    if (places_[*place] == nullptr) continue;
    MemoryRegion& copy = out[count++] = *places_[*place];
    copy.windows = 0;
    if (copy.kind != MemoryKind::kWindow && copy.kind != MemoryKind::kKeyedWindow) continue;
    clear_binding(copy);
  }
  return count;
}

size_t MemoryTable::copy_windows(size_t* place, std::span<MemoryRegion> out) const {
  size_t count = 0;
  const size_t end = std::min(places(), *place + kPlacesEach * out.size());
  for (; *place < end && count < out.size(); ++*place) {
    const MemoryRegion* region = places_[*place];
    if (region != nullptr &&
        (region->kind == MemoryKind::kWindow || region->kind == MemoryKind::kKeyedWindow))
      out[count++] = *region;
  }
  return count;
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
  if (grown_ != nullptr) grown_[KeySequence::number_of(key) & grown_mask_] = nullptr;
  // Oldest first would delay re-use longest; a stack keeps the table small and hot.
  region->next_free = std::exchange(free_, region);
  --used_;
  return true;
}

bool MemoryTable::lose(const void* place) {
  const auto* at = static_cast<const uint8_t*>(place);
  bool found = false;
  for (size_t i = 0; i < places(); ++i) {
    MemoryRegion* region = places_[i];
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
  clear_binding(window);
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
