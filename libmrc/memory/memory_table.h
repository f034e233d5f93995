// SPDX-License-Identifier: BSD-2-Clause
// Registered memory: keys, bounds and rights. Every byte that the engine reads for or writes from the network
// goes through translate(); a key names a region and a generation, so a stale key never matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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
  kLocalRead = 1 << 4,   // every region has it, no window
  kWindowBind = 1 << 5,  // windows may be bound to the region
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
  MemoryKey key{};  // 0 = slot is free
  ProtectionDomain domain{};
  uint8_t access = 0;
  MemoryKind kind = MemoryKind::kRegion;
  MemoryKey bound_to{};  // of a window: the region behind it; 0 = it is not bound
  uint32_t windows = 0;  // of a region: how many are bound to it
  Qpn owner;             // of a bound window of type 2: only by this queue pair it may be used; 0 = by any

  bool contains(uint64_t at, uint64_t length) const {
    return at >= address && length <= bytes && at - address <= bytes - length;
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
  explicit MemoryTable(uint64_t seed, uint32_t regions_max = 1u << 20);

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

  // False: window, region or rights forbid it; nothing was changed.
  bool bind(const WindowBinding& binding, const Accessor& by);
  // What is in the slot of this key now, whatever tag it has.
  MemoryKey current_key(MemoryKey key) const {
    const uint32_t index = static_cast<uint32_t>(key) >> 8;
    return index < regions_.size() ? regions_[index].key : MemoryKey{};
  }
  // Local invalidate and SEND with invalidate: what may be ended by them are windows of type 2.
  bool invalidate(MemoryKey key, const Accessor& by);
  size_t size() const { return used_; }

  const MemoryRegion* find(MemoryKey key) const {
    const uint32_t index = static_cast<uint32_t>(key) >> 8;
    if (index >= regions_.size()) return nullptr;
    const MemoryRegion& region = regions_[index];
    return region.key == key && key != MemoryKey{} ? &region : nullptr;
  }

  // Where [address, address + bytes) lives, or nullptr if key, accessor, bounds or rights forbid it.
  [[gnu::hot]] uint8_t* translate(MemoryKey key, const Accessor& by, uint64_t address, uint64_t bytes,
                                  uint8_t rights) const {
    const MemoryRegion* region = find(key);
    if (region == nullptr || region->domain != by.domain || (region->access & rights) != rights)
      return nullptr;
    if (region->owner != Qpn{} && region->owner != by.qpn) return nullptr;
    if (!region->contains(address, bytes)) return nullptr;
    if (region->kind == MemoryKind::kNothing) return (rights & kLocalWrite) != 0 ? sink_.get() : zeros_.get();
    return region->base + (address - region->address);
  }

 private:
  MemoryRegion* at(MemoryKey key) { return const_cast<MemoryRegion*>(find(key)); }
  MemoryRegion* take_slot();
  void unbind(MemoryRegion& window);

  std::deque<MemoryRegion> regions_;  // slot 0 stays empty; addresses of regions do not move
  std::vector<uint32_t> free_;
  // Behind the regions that hold nothing. Nobody touches more than a packet's payload at a time.
  std::unique_ptr<uint8_t[]> zeros_;
  std::unique_ptr<uint8_t[]> sink_;
  uint32_t regions_max_;
  uint32_t used_ = 0;
  uint64_t random_;
};

}  // namespace mrc
