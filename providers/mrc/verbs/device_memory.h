// SPDX-License-Identifier: BSD-2-Clause
// The registered memory of a device. Every shard has a table of its own, so that the data path shares
// nothing; all of them hold the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "libmrc/memory/memory_table.h"

namespace mrc::provider {

class Device;
class Shard;

// Takes the locks of the shards, one after the other: none may be held by the caller.
class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // As those of the table.
  MemoryKey add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address, uint8_t access);
  MemoryKey add_nothing(ProtectionDomain domain);
  MemoryKey add_window(ProtectionDomain domain, MemoryKind kind);
  bool change(MemoryKey key, ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
              uint8_t access);
  std::optional<MemoryRegion> find(MemoryKey key);

  // 0, EINVAL: there is none, or EBUSY: a window is bound to it. Nobody uses it any more when it is gone.
  int remove(MemoryKey key);
  // A window, whatever tag its key has now.
  void remove_window(MemoryKey key);

  // One more shard gets what the others have; nobody uses it yet. False: there is no memory for it.
  bool enter(Shard& shard);
  // A window was bound or invalidated in one shard, on its data path: the others hear of it.
  void tell_others(const Shard& shard, const MemoryRegion& window);

 private:
  MemoryKey make(const std::function<MemoryKey(MemoryTable&)>& in_first);
  bool copy_first(Shard& shard);

  Device& device_;
  std::mutex mutex_;  // before the locks of the shards
  size_t windows_ = 0;
  std::atomic<unsigned> told_{0};  // shards that hear of windows
};

}  // namespace mrc::provider
