// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/device_memory.h"

#include <array>
#include <cerrno>
#include <new>

#include "providers/mrc/verbs/device.h"
#include "providers/mrc/verbs/progress.h"
#include "providers/mrc/verbs/shard.h"

namespace mrc::provider {

namespace {
// Regions of one shard that another one gets, while it has the lock.
constexpr size_t kCopiedAtOnce = 64;

// The engine has nothing to do because memory comes or goes, so nobody is woken for it.
struct Quietly : Progress::Control {
  explicit Quietly(Progress& progress) : Control(progress, Progress::Wakes::kNo) {}
};
}  // namespace

// The first shard's table chooses the key, the others follow.
MemoryKey DeviceMemory::make(const std::function<MemoryKey(MemoryTable&)>& in_first) {
  MemoryKey key;
  MemoryRegion made;
  {
    MemoryTable& table = device_.first().engine().memory();
    // What takes long is done under no lock of a shard: memory is got before, and given back behind it.
    MemoryTable::Supplies supplies = table.supplies_for_one_more();
    MemoryTable::Places outgrown;
    Quietly control(device_.first().progress());
    table.take(supplies);
    key = in_first(table);
    if (key == MemoryKey{}) return key;
    made = *table.find(key);
    outgrown = table.take_outgrown();
  }
  unsigned done = 1;
  for (bool room = true; room && done < device_.shards(); done += room ? 1 : 0) {
    MemoryTable& table = device_.shard(done).engine().memory();
    try {
      MemoryTable::Supplies supplies = table.supplies_for_one_more();
      MemoryTable::Places outgrown;
      Quietly control(device_.shard(done).progress());
      table.take(supplies);
      room = table.add_copy(made);
      outgrown = table.take_outgrown();
    } catch (const std::bad_alloc&) {
      room = false;
    }
  }
  if (done == device_.shards()) return key;
  while (done-- > 0) {
    Quietly control(device_.shard(done).progress());
    device_.shard(done).engine().memory().remove(key);
  }
  return MemoryKey{};
}

MemoryKey DeviceMemory::add(ProtectionDomain domain, void* base, uint64_t bytes, uint64_t address,
                            uint8_t access) {
  std::lock_guard lock(mutex_);
  return make([=](MemoryTable& table) { return table.add(domain, base, bytes, address, access); });
}

MemoryKey DeviceMemory::add_nothing(ProtectionDomain domain) {
  std::lock_guard lock(mutex_);
  return make([=](MemoryTable& table) { return table.add_nothing(domain); });
}

MemoryKey DeviceMemory::add_window(ProtectionDomain domain, MemoryKind kind) {
  std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < device_.shards(); ++i) device_.shard(i).news().make_room(windows_ + 1);
  const MemoryKey key = make([=](MemoryTable& table) { return table.add_window(domain, kind); });
  if (key != MemoryKey{}) ++windows_;
  return key;
}

bool DeviceMemory::change(MemoryKey key, ProtectionDomain domain, void* base, uint64_t bytes,
                          uint64_t address, uint8_t access) {
  std::lock_guard lock(mutex_);
  std::optional<MemoryRegion> before;
  unsigned done = 0;
  for (; done < device_.shards(); ++done) {
    Shard& shard = device_.shard(done);
    Quietly control(shard.progress());
    MemoryTable& table = shard.engine().memory();
    shard.news().apply(table);
    if (const MemoryRegion* region = table.find(key); region != nullptr && !before) before = *region;
    if (!table.change(key, domain, base, bytes, address, access)) break;
  }
  if (done == device_.shards()) return true;
  // A window was bound to it in the meantime.
  while (done-- > 0) {
    Quietly control(device_.shard(done).progress());
    device_.shard(done).engine().memory().change(key, before->domain, before->base, before->bytes,
                                                 before->address, before->access);
  }
  return false;
}

std::optional<MemoryRegion> DeviceMemory::find(MemoryKey key) {
  Quietly control(device_.first().progress());
  const MemoryRegion* region = device_.first().engine().memory().find(key);
  return region != nullptr ? std::optional(*region) : std::nullopt;
}

int DeviceMemory::remove(MemoryKey key) {
  std::lock_guard lock(mutex_);
  std::optional<MemoryRegion> before;
  unsigned done = 0;
  for (; done < device_.shards(); ++done) {
    Shard& shard = device_.shard(done);
    Quietly control(shard.progress());
    MemoryTable& table = shard.engine().memory();
    shard.news().apply(table);
    const MemoryRegion* region = table.find(key);
    if (region == nullptr && done == 0) return EINVAL;
    if (region != nullptr && !before) before = *region;
    if (!table.remove(key)) break;
  }
  if (done == device_.shards()) return 0;
  // A window was bound to it in the meantime. What was just removed has left its room.
  while (done-- > 0) {
    Quietly control(device_.shard(done).progress());
    device_.shard(done).engine().memory().add_copy(*before);
  }
  return EBUSY;
}

void DeviceMemory::remove_window(MemoryKey key) {
  std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < device_.shards(); ++i) {
    Shard& shard = device_.shard(i);
    Quietly control(shard.progress());
    MemoryTable& table = shard.engine().memory();
    shard.news().apply(table);
    table.remove(table.current_key(key));
  }
  --windows_;
}

// A burst's worth at a time, for those who use the first shard meanwhile. Nothing is added or removed, but
// windows may be bound: how they are is told in a second round, when all that they may show is there.
bool DeviceMemory::copy_first(Shard& shard) {
  Shard& first = device_.first();
  MemoryTable& from = first.engine().memory();
  MemoryTable& to = shard.engine().memory();
  std::array<MemoryRegion, kCopiedAtOnce> some;
  {
    Quietly control(shard.progress());
    to.make_places_like(from);
  }
  for (size_t place = 0; place < from.places();) {
    size_t count = 0;
    {
      Quietly control(first.progress());
      count = from.copy_some(&place, some);
    }
    Quietly control(shard.progress());
    for (size_t i = 0; i < count; ++i)
      if (!to.add_copy(some[i])) return false;
  }
  for (size_t place = 0; windows_ > 0 && place < from.places();) {
    size_t count = 0;
    {
      Quietly control(first.progress());
      first.news().apply(from);  // what it has not heard ours may have heard
      count = from.copy_windows(&place, some);
    }
    Quietly control(shard.progress());
    for (size_t i = 0; i < count; ++i) to.follow(some[i]);
  }
  return true;
}

bool DeviceMemory::enter(Shard& shard) {
  std::lock_guard lock(mutex_);
  bool entered = true;
  try {
    shard.news().make_room(windows_);
    // First, so that nothing is missed: to hear of a window twice does no harm.
    told_.store(shard.index() + 1);
    if (shard.index() > 0) entered = copy_first(shard);
  } catch (const std::bad_alloc&) {
    entered = false;
  }
  if (entered)
    device_.publish(shard);
  else
    told_.store(shard.index());
  return entered;
}

void DeviceMemory::tell_others(const Shard& shard, const MemoryRegion& window) {
  const unsigned count = told_.load();
  for (unsigned i = 0; i < count; ++i)
    if (i != shard.index()) device_.shard(i).news().tell(window);
}

}  // namespace mrc::provider
