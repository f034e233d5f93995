// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/fault_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "dpdk_io/host/file_lock.h"
#include "dpdk_io/host/private_file.h"

namespace mrc {

FaultPage* map_fault_page(const std::string& run_directory, std::string* error, const std::string& suffix) {
  const std::string path = run_directory + "/" + FaultPage::kFileName + suffix;
  const auto fail = [&](const std::string& why, const char* cure) -> FaultPage* {
    *error = "mrc: " + path + ": " + why + "; " + cure;
    return nullptr;
  };
  static constexpr char kRemove[] = "remove the file and try again";
  static constexpr char kMakeRoom[] =
      "make room, or set MRC_RUNDIR to a directory of your own on another disk";
  std::string wrong;
  const int fd = open_private_file(path, O_RDWR | O_CREAT, &wrong);
  if (fd < 0) return fail(wrong, errno == ENOSPC || errno == EDQUOT ? kMakeRoom : kRemove);
  // Processes may make it at the same time: growing is harmless, shrinking never happens, zero means no
  // fault. What is in the file stays.
  if (!allocate_file(fd, sizeof(FaultPage))) {
    const int why = errno;
    close(fd);
    return fail(std::strerror(why), kMakeRoom);
  }
  void* mapped = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  close(fd);
  if (mapped == MAP_FAILED) return fail(std::strerror(why), "try again");
  auto* page = static_cast<FaultPage*>(mapped);
  uint32_t magic = 0;
  if (!page->magic.compare_exchange_strong(magic, FaultPage::kMagic) && magic != FaultPage::kMagic) {
    munmap(mapped, sizeof(FaultPage));
    return fail("is not a page of faults", kRemove);
  }
  return page;
}

void unmap_fault_page(FaultPage* page) {
  if (page != nullptr) munmap(page, sizeof(FaultPage));
}

namespace {

using Words = std::array<uint64_t, sizeof(FaultRule) / sizeof(uint64_t)>;

FaultRule load(const FaultPage::Place& place) {
  Words words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = place.words[i].load(std::memory_order_relaxed);
  return std::bit_cast<FaultRule>(words);
}

void store(const FaultRule& rule, FaultPage::Place* place) {
  const auto words = std::bit_cast<Words>(rule);
  for (size_t i = 0; i < words.size(); ++i) place->words[i].store(words[i], std::memory_order_relaxed);
}

FaultRule no_rule() {
  return std::bit_cast<FaultRule>(Words{});
}

// Holds everybody else off; readers see that somebody writes. One who was killed at it leaves an odd number.
class Change {
 public:
  Change(FaultPage& page, const std::string& run_directory)
      : page_(page), lock_(run_directory + "/" + FaultPage::kLockName) {
    if (error() != 0) return;
    page_.changes.store(page_.changes.load() | 1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~Change() {
    if (error() != 0) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    page_.changes.store(page_.changes.load() + 1);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  int error() const { return lock_.error(); }

 private:
  FaultPage& page_;
  FileLock lock_;
};

}  // namespace

bool read_faults(FaultPage& page, std::vector<PlacedRule>* rules, uint32_t* changes) {
  rules->clear();
  const uint32_t before = page.changes.load(std::memory_order_acquire);
  for (FaultPage::Place& place : page.places)
    if (const FaultRule rule = load(place);
        rule.id != 0 && static_cast<size_t>(rule.kind) < kFaultKinds)  // else of another version
      rules->push_back({rule, &place.hits});
  std::atomic_thread_fence(std::memory_order_acquire);
  *changes = before;
  return before % 2 == 0 && page.changes.load(std::memory_order_relaxed) == before;
}

int add_fault(FaultPage& page, const std::string& run_directory, FaultRule* rule) {
  const Change change(page, run_directory);
  if (change.error() != 0) return change.error();
  for (FaultPage::Place& place : page.places) {
    if (load(place).id != 0) continue;
    rule->id = page.last_id.fetch_add(1) + 1;
    place.hits.store(0);
    store(*rule, &place);
    return 0;
  }
  return ENOSPC;
}

int remove_fault(FaultPage& page, const std::string& run_directory, uint32_t id) {
  const Change change(page, run_directory);
  if (change.error() != 0) return change.error();
  for (FaultPage::Place& place : page.places) {
    if (id == 0 || load(place).id != id) continue;
    store(no_rule(), &place);
    return 0;
  }
  return ENOENT;
}

int clear_faults(FaultPage& page, const std::string& run_directory) {
  const Change change(page, run_directory);
  if (change.error() != 0) return change.error();
  for (FaultPage::Place& place : page.places) store(no_rule(), &place);
  return 0;
}

}  // namespace mrc
