// SPDX-License-Identifier: BSD-2-Clause
// Which processes of a run directory have joined which multicast groups: a small file there, mapped by every
// process, so that a sender knows whom to send to without asking anybody.
//
// Nothing in it is trusted further than that: a wrong bit costs a frame that nobody takes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include "dpdk_io/host/slot_number.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class GroupPage {
 public:
  static constexpr uint32_t kGroupsMax = 256;
  static constexpr const char* kFileName = "groups";

  // Null: `error` says why. What the slot's last owner has joined is forgotten.
  static std::unique_ptr<GroupPage> open(const std::string& run_directory, uint32_t slot, std::string* error);
  ~GroupPage();  // leaves all groups
  GroupPage(const GroupPage&) = delete;
  GroupPage& operator=(const GroupPage&) = delete;

  // For this process; joining twice is joining once. 0 or an errno: ENOSPC, there are too many groups.
  int join(const IpAddress& group);
  void leave(const IpAddress& group);
  // What a process that has ended without leaving has joined.
  void forget_if_dead(uint32_t slot);

  // Calls with the slot of every member, this process's too. Takes no lock.
  template <typename Each>
  void for_each_member(const IpAddress& group, Each&& each) const {
    const Entry* entry = find(group);
    if (entry == nullptr) return;
    for (uint32_t word = 0; word < entry->members.size(); ++word)
      for (uint64_t bits = entry->members[word].load(std::memory_order_relaxed); bits != 0; bits &= bits - 1)
        each(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
  }

 private:
  // Free when it has no members. The address is changed only then, under the lock.
  struct Entry {
    std::array<std::atomic<uint64_t>, 2> address;
    std::array<std::atomic<uint64_t>, (kSlotMax + 64) / 64> members;  // one bit each
  };
  struct Page {
    static constexpr uint32_t kMagic = 0x4D524347;  // "MRCG"
    std::atomic<uint32_t> magic;
    std::atomic<uint32_t> used;  // entries behind this were never used
    std::array<Entry, kGroupsMax> entries;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  GroupPage(const std::string& run_directory, uint32_t slot, Page* page)
      : run_directory_(run_directory), slot_(slot), page_(page) {}
  const Entry* find(const IpAddress& group) const;
  Entry* find(const IpAddress& group) {
    return const_cast<Entry*>(static_cast<const GroupPage*>(this)->find(group));
  }
  uint32_t used() const;
  Entry* make(const IpAddress& group);
  void remove_slot(uint32_t slot);

  const std::string run_directory_;
  const uint32_t slot_;
  Page* const page_;
};

}  // namespace mrc
