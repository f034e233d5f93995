// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/group_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dpdk_io/host/file_lock.h"
#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/process_slot.h"

namespace mrc {
namespace {

std::string group_file(const std::string& run_directory) {
  return run_directory + "/" + GroupPage::kFileName;
}

std::array<uint64_t, 2> words_of(const IpAddress& group) {
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), group.bytes.data(), sizeof words);
  return words;
}

}  // namespace

std::unique_ptr<GroupPage> GroupPage::open(const std::string& run_directory, uint32_t slot,
                                           std::string* error) {
  const std::string path = group_file(run_directory);
  const auto fail = [&](const std::string& why, const char* cure) -> std::unique_ptr<GroupPage> {
    *error = "mrc: " + path + ": " + why + "; " + cure;
    return nullptr;
  };
  static constexpr char kRemove[] = "remove the file and try again";
  static constexpr char kMakeRoom[] =
      "make room, or set MRC_RUNDIR to a directory of your own on another disk";
  std::string wrong;
  const int fd = open_private_file(path, O_RDWR | O_CREAT, &wrong);
  if (fd < 0) return fail(wrong, errno == ENOSPC || errno == EDQUOT ? kMakeRoom : kRemove);
  // As with the page of faults: zeros are an empty page, and what is in the file stays.
  const bool allocated = allocate_file(fd, sizeof(Page));
  void* mapped = allocated ? mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : nullptr;
  const int why = errno;
  close(fd);
  if (!allocated) return fail(std::strerror(why), kMakeRoom);
  if (mapped == MAP_FAILED) return fail(std::strerror(why), "try again");
  auto* page = static_cast<Page*>(mapped);
  uint32_t magic = 0;
  if (!page->magic.compare_exchange_strong(magic, Page::kMagic) && magic != Page::kMagic) {
    munmap(mapped, sizeof(Page));
    return fail("is not a page of multicast groups", kRemove);
  }
  std::unique_ptr<GroupPage> groups(new GroupPage(run_directory, slot, page));
  groups->remove_slot(slot);
  return groups;
}

GroupPage::~GroupPage() {
  if (!in_forked_child()) remove_slot(slot_);
  munmap(page_, sizeof(Page));
}

// The page is everybody's: a number in it is no reason to read behind it.
uint32_t GroupPage::used() const {
  return std::min(page_->used.load(std::memory_order_acquire), kGroupsMax);
}

const GroupPage::Entry* GroupPage::find(const IpAddress& group) const {
  const auto words = words_of(group);
  for (uint32_t i = 0; i < used(); ++i) {
    const Entry& entry = page_->entries[i];
    if (entry.address[0].load(std::memory_order_relaxed) == words[0] &&
        entry.address[1].load(std::memory_order_relaxed) == words[1])
      return &entry;
  }
  return nullptr;
}

// Under the lock. Null: there are too many.
GroupPage::Entry* GroupPage::make(const IpAddress& group) {
  for (uint32_t i = 0; i < kGroupsMax; ++i) {
    Entry& entry = page_->entries[i];
    const bool free = std::all_of(entry.members.begin(), entry.members.end(),
                                  [](const auto& bits) { return bits.load() == 0; });
    if (!free) continue;
    const auto words = words_of(group);
    for (size_t word = 0; word < words.size(); ++word) entry.address[word].store(words[word]);
    page_->used.store(std::max(used(), i + 1), std::memory_order_release);
    return &entry;
  }
  return nullptr;
}

int GroupPage::join(const IpAddress& group) {
  const FileLock lock(group_file(run_directory_));  // whoever changes the page
  if (lock.error() != 0) return lock.error();
  Entry* entry = find(group);
  if (entry == nullptr) entry = make(group);
  if (entry == nullptr) {
    for (uint32_t slot = 1; slot <= kSlotMax; ++slot)
      if (slot != slot_ && !slot_alive(run_directory_, slot)) remove_slot(slot);
    entry = make(group);
  }
  if (entry == nullptr) return ENOSPC;
  entry->members[slot_ / 64].fetch_or(uint64_t{1} << slot_ % 64, std::memory_order_release);
  return 0;
}

void GroupPage::leave(const IpAddress& group) {
  if (Entry* entry = find(group); entry != nullptr)
    entry->members[slot_ / 64].fetch_and(~(uint64_t{1} << slot_ % 64), std::memory_order_release);
}

void GroupPage::remove_slot(uint32_t slot) {
  for (uint32_t i = 0; i < used(); ++i)
    page_->entries[i].members[slot / 64].fetch_and(~(uint64_t{1} << slot % 64), std::memory_order_release);
}

// Under the lock, which a new owner of the slot needs to join.
void GroupPage::forget_if_dead(uint32_t slot) {
  const uint64_t bit = uint64_t{1} << slot % 64;
  const bool joined = std::any_of(
      page_->entries.begin(), page_->entries.begin() + used(),
      [&](const Entry& e) { return (e.members[slot / 64].load(std::memory_order_relaxed) & bit) != 0; });
  if (!joined) return;
  const FileLock lock(group_file(run_directory_));  // whoever changes the page
  if (lock.error() == 0 && !slot_alive(run_directory_, slot)) remove_slot(slot);
}

}  // namespace mrc
