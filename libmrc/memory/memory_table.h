// SPDX-License-Identifier: BSD-2-Clause
// Registered memory: keys, bounds and rights. Every byte that the engine reads for or writes from the network
// goes through translate(). Keys cannot be guessed, and one that has been does not come again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "libmrc/guard/random_source.h"
#include "libmrc/memory/key_sequence.h"
#include "libmrc/memory/present_ranges.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

enum class ProtectionDomain : uint32_t {};

// Who wants to use memory: a queue pair, or anybody of the domain.
struct Accessor {
  Accessor(ProtectionDomain domain) : domain(domain) {}
  Accessor(ProtectionDomain domain, Qpn qpn) : domain(domain), qpn(qpn) {}
  ProtectionDomain domain;
  Qpn qpn;
};

// Rights of a region (and of a queue pair for what its peer may do).
enum AccessRight : uint8_t {
  kLocalWrite = 1 << 0,
  kRemoteWrite = 1 << 1,
  kRemoteRead = 1 << 2,
  kRemoteAtomic = 1 << 3,
  kLocalRead = 1 << 4,    // every region has it, no window
  kWindowBind = 1 << 5,   // windows may be bound to the region
  kRemoteFlush = 1 << 7,  // IBTA A19: what was written may be made visible to all
  // No right: its pages may come and go, and whoever wants to copy asks for them first.
  kOnDemand = 1 << 6,
};

enum class MemoryKind : uint8_t {
  kRegion,
  kNothing,      // local: what is read from it is zero, what is written to it is lost
  kWindow,       // IBTA type 1: rebound as often as one likes
  kKeyedWindow,  // IBTA type 2: the application chooses its key; invalidated before it is bound again
};

struct MemoryRegion {
  uint8_t* base = nullptr;  // where it is in this process
  uint64_t address = 0;     // what work requests and packets call its first byte
  uint64_t bytes = 0;
  MemoryKey key{};
  ProtectionDomain domain{};
  uint8_t access = 0;
  MemoryKind kind = MemoryKind::kRegion;
  MemoryKey bound_to{};  // of a window: the region behind it; 0 = it is not bound
  uint32_t windows = 0;  // of a region: how many are bound to it
  Qpn owner;             // of a bound window of type 2: only by this queue pair it may be used; 0 = by any
  MemoryRegion* next_free = nullptr;  // the table's

  // Whether domain, rights and owner let this one use it so.
  bool lets(const Accessor& by, uint8_t rights) const {
    return domain == by.domain && (access & rights) == rights && (owner == Qpn{} || owner == by.qpn);
  }
  bool contains(uint64_t at, uint64_t length) const {
    return at >= address && length <= bytes && at - address <= bytes - length;
  }
  // As a number: the region of everything begins at the null pointer, which one cannot add to.
  uint8_t* place_of(uint64_t at) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(base) + (at - address));
  }
};

// What a window shall show.
struct WindowBinding {
  MemoryKey key{};  // its new one: its number with another tag
  MemoryKey region{};
  uint64_t address = 0;  // in the region
  uint64_t bytes = 0;    // 0 unbinds
  uint8_t access = 0;    // remote rights
  bool zero_based = false;
};

class MemoryTable {
 public:
  static constexpr uint32_t kRegionsMax = 1u << 20;
  // Brings memory in. False: it is not there, or must not be read, or written if that is wanted.
  using Pager = bool (*)(void* place, size_t bytes, bool writes);

  // Who wants to know that a window was bound or invalidated. On the data path.
  class WindowWatcher {
   public:
    virtual void window_changed(const MemoryRegion& window) = 0;

   protected:
    ~WindowWatcher() = default;
  };

  explicit MemoryTable(RandomSource& random, uint32_t regions_max = kRegionsMax);

  // The key of the new region, or MemoryKey{0} when the table is full.
  MemoryKey add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address, uint8_t access);
  // The key of a region that holds nothing, and of a window that is not bound; 0 as above.
  MemoryKey add_nothing(ProtectionDomain domain);
  MemoryKey add_window(ProtectionDomain domain, MemoryKind kind);
  // Gives a region another place, domain or rights. False: there is none, or windows are bound to it.
  bool change(MemoryKey key, ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
              uint8_t access);
  // False: there is none, or windows are bound to it.
  bool remove(MemoryKey key);

  // --- several tables that hold the same ---
  // What was added to another one, with its key. False: the table is full. What one table gives out keys for
  // must be in all.
  bool add_copy(const MemoryRegion& original);
  // As many places as that one has, before its regions come. May throw bad_alloc.
  void make_places_like(const MemoryTable& other);
  // Some of its regions, from this place on, which moves: as many as `out` takes, but not more places than
  // that are looked at. How many; all have been when `place` is places(). Copies are of regions that no
  // window is bound to, and of windows that are not bound: then `follow` tells how they are.
  size_t copy_some(size_t* place, std::span<MemoryRegion> out) const;
  // The same of windows alone, as they are now.
  size_t copy_windows(size_t* place, std::span<MemoryRegion> out) const;
  // A window as it is now in another one.
  void follow(const MemoryRegion& window);
  void set_window_watcher(WindowWatcher* watcher) { window_watcher_ = watcher; }

  // False: window, region or rights forbid it; nothing was changed.
  bool bind(const WindowBinding& binding, const Accessor& by);
  // The key with this number, whatever tag it has now.
  MemoryKey current_key(MemoryKey key) const {
    const MemoryRegion* region = numbered(key);
    return region != nullptr ? region->key : MemoryKey{};
  }
  // Local invalidate and SEND with invalidate: what may be ended by them are windows of type 2.
  bool invalidate(MemoryKey key, const Accessor& by);
  size_t size() const { return used_; }
  // It grows a few places at a time: how many there are, and how many were looked at for that.
  size_t places() const { return place_mask_ + 1; }
  uint64_t places_moved() const { return places_moved_; }
  struct Freed {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Places = std::unique_ptr<MemoryRegion*[], Freed>;
  using Regions = std::unique_ptr<MemoryRegion[], Freed>;
  // What it has grown out of, which takes a while to free: not under the engine's lock.
  Places take_outgrown() { return std::move(outgrown_); }
  // Memory that one region more takes, often none. To have it from the system takes a while, too: it is made
  // ready under no lock, by who alone adds and removes, and taken under it. What was not is made when the
  // region comes. May throw bad_alloc.
  struct Supplies {
    Places places;
    size_t place_count = 0;
    Regions regions;  // each names the next as free
    size_t region_count = 0;
  };
  Supplies supplies_for_one_more() const;
  void take(Supplies& supplies);
  // Where they come from: zeroes, for std::free(); null if there are none. Without one it is calloc().
  using Source = void* (*)(size_t bytes);
  void set_source(Source source) { source_ = source; }

  // Who knows what is mapped. Without one all on-demand memory is taken to be there.
  void set_pager(Pager pager) { pager_ = pager; }
  // What the pager said is not believed any longer. Before every burst: the application runs between them.
  void doubt_presence() { present_.forget(); }
  // Whether these bytes of the region may be copied now, by one with these rights.
  bool present(const MemoryRegion& region, uint8_t* place, uint64_t bytes, uint8_t rights) const {
    return (region.access & kOnDemand) == 0 || page_in(region, place, bytes, rights);
  }

  // The memory at this place is gone, as somebody finds out in the middle of a copy: what shows it has no
  // rights any more, unless its pages may come and go. False: nothing shows it.
  bool lose(const void* place);
  // How often that was so. Who copies asks before and after: with another answer it has copied nothing.
  uint32_t losses() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // a signal handler may have counted
    return losses_.load(std::memory_order_relaxed);
  }

  const MemoryRegion* find(MemoryKey key) const {
    const MemoryRegion* region = places_[place_of(key)];
    return region != nullptr && region->key == key ? region : nullptr;
  }

  // Where [address, address + bytes) lives, or nullptr if key, accessor, bounds or rights forbid it.
  struct Found {
    uint8_t* place = nullptr;
    bool steady = false;  // any part of it may be used until the table changes; else each is to be asked for
  };
  [[gnu::hot]] Found look_up(MemoryKey key, const Accessor& by, uint64_t address, uint64_t bytes,
                             uint8_t rights) const {
    const MemoryRegion* region = find(key);
    if (region == nullptr || !region->lets(by, rights) || !region->contains(address, bytes)) return {};
    if (region->kind == MemoryKind::kNothing) [[unlikely]]
      return {(rights & kLocalWrite) != 0 ? sink_.get() : zeros_.get(), false};
    uint8_t* const place = region->place_of(address);
    if ((region->access & kOnDemand) == 0) [[likely]]
      return {place, true};
    return {page_in(*region, place, bytes, rights) ? place : nullptr, false};
  }
  uint8_t* translate(MemoryKey key, const Accessor& by, uint64_t address, uint64_t bytes,
                     uint8_t rights) const {
    return look_up(key, by, address, bytes, rights).place;
  }

 private:
  size_t place_of(MemoryKey key) const { return KeySequence::number_of(key) & place_mask_; }
  MemoryRegion* numbered(MemoryKey key) const {
    MemoryRegion* region = places_[place_of(key)];
    return region != nullptr && KeySequence::number_of(region->key) == KeySequence::number_of(key) ? region
                                                                                                   : nullptr;
  }
  MemoryRegion* at(MemoryKey key) { return const_cast<MemoryRegion*>(find(key)); }
  void make_zeros();
  MemoryRegion* create();
  MemoryRegion* take_free();
  void put(MemoryRegion* region);
  void* zeroes(size_t bytes) const;
  Places make_places(size_t count) const;
  Regions make_regions(size_t count) const;
  void grow_some();
  void begin_growth(Places places, size_t count);
  void make_room();
  void unbind(MemoryRegion& window);
  void tell_of(const MemoryRegion& window) {
    if (window_watcher_ != nullptr) window_watcher_->window_changed(window);
  }
  bool page_in(const MemoryRegion& region, uint8_t* place, uint64_t bytes, uint8_t rights) const;

  Source source_ = nullptr;
  // Their addresses do not move.
  std::vector<Regions> chunks_;
  MemoryRegion* free_ = nullptr;
  // By the lower bits of their numbers: a key whose place is taken is not given out, so that one look finds a
  // region. At most a quarter full, so that a key is seldom drawn in vain. Twice as many are made before
  // that, and filled while more regions come: no call moves all.
  Places places_;
  size_t place_mask_;
  Places grown_;  // there while it is filled; whatever comes and goes does so in both
  size_t grown_mask_ = 0;
  size_t grown_from_ = 0;  // places before this one are in it
  Places outgrown_;
  uint64_t places_moved_ = 0;
  // Behind the regions that hold nothing. Nobody touches more than a packet's payload at a time.
  std::unique_ptr<uint8_t[]> zeros_;
  std::unique_ptr<uint8_t[]> sink_;
  uint32_t regions_max_;
  uint32_t used_ = 0;
  std::atomic<uint32_t> losses_{0};
  KeySequence keys_;
  MemoryKey next_key_;  // drawn ahead, for its place is likely to be in no cache when there are many
  Pager pager_ = nullptr;
  WindowWatcher* window_watcher_ = nullptr;
  mutable PresentRanges present_;
};

}  // namespace mrc
