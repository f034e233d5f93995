// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/stats_pages.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "dpdk_io/host/private_file.h"

namespace mrc {
namespace {

// A process that was killed leaves its page behind.
bool is_running(uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

std::string text(const char* field, size_t size) {
  return {field, ::strnlen(field, size)};
}

ProcessStats snapshot(uint32_t slot, const StatsPage& page) {
  ProcessStats stats;
  stats.slot = slot;
  stats.pid = page.pid;
  stats.planes = page.planes;
  stats.device = text(page.device, sizeof page.device);
  stats.command = text(page.command, sizeof page.command);
  stats.updated_ns = page.updated_ns.load(std::memory_order_relaxed);
  stats.connected_qps = page.connected_qps.load(std::memory_order_relaxed);
  stats.paths_active = page.paths_active.load(std::memory_order_relaxed);
  stats.paths_all = page.paths_all.load(std::memory_order_relaxed);
  stats.payload_bytes_sent = page.payload_bytes_sent.load(std::memory_order_relaxed);
  stats.payload_bytes_placed = page.payload_bytes_placed.load(std::memory_order_relaxed);
  stats.retransmits = {.gap = page.retransmits_gap.load(std::memory_order_relaxed),
                       .timeout = page.retransmits_timeout.load(std::memory_order_relaxed),
                       .trim = page.retransmits_trim.load(std::memory_order_relaxed),
                       .nack = page.retransmits_nack.load(std::memory_order_relaxed),
                       .port_down = page.retransmits_port_down.load(std::memory_order_relaxed),
                       .other = page.retransmits_other.load(std::memory_order_relaxed)};
  stats.paths_demoted = page.paths_demoted.load(std::memory_order_relaxed);
  stats.paths_restored = page.paths_restored.load(std::memory_order_relaxed);
  stats.drops = page.drops.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace

StatsPages::StatsPages(std::string run_directory, Show show)
    : run_directory_(std::move(run_directory)), show_(show) {}

StatsPages::~StatsPages() {
  for (const Mapped& mapped : mapped_) ::munmap(const_cast<StatsPage*>(mapped.page), sizeof(StatsPage));
}

void StatsPages::scan() {
  DIR* listing = ::opendir(run_directory_.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    const auto named = slot_in_name(entry->d_name, StatsPage::kFilePrefix);
    if (!named) continue;
    const uint32_t slot = *named;
    const int fd = open_private_file(run_directory_ + "/" + entry->d_name, O_RDONLY);
    if (fd < 0) continue;
    struct stat status {};
    const bool whole = ::fstat(fd, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(StatsPage));
    // A slot's next owner makes a new file.
    const auto known = std::find_if(mapped_.begin(), mapped_.end(),
                                    [slot](const Mapped& mapped) { return mapped.slot == slot; });
    if (known != mapped_.end() && known->inode != status.st_ino) {
      ::munmap(const_cast<StatsPage*>(known->page), sizeof(StatsPage));
      mapped_.erase(known);
    } else if (known != mapped_.end()) {
      ::close(fd);
      continue;
    }
    void* mapped = whole ? ::mmap(nullptr, sizeof(StatsPage), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    ::close(fd);
    if (mapped != MAP_FAILED) mapped_.push_back({slot, status.st_ino, static_cast<const StatsPage*>(mapped)});
  }
  ::closedir(listing);
  std::sort(mapped_.begin(), mapped_.end(),
            [](const Mapped& one, const Mapped& other) { return one.slot < other.slot; });
}

std::vector<ProcessStats> StatsPages::read() {
  scan();
  std::vector<ProcessStats> all;
  for (const Mapped& mapped : mapped_) {
    if (mapped.page->magic.load(std::memory_order_acquire) != StatsPage::kMagic ||
        mapped.page->version != StatsPage::kVersion ||
        (show_ == Show::kLive && !is_running(mapped.page->pid)))
      continue;
    all.push_back(snapshot(mapped.slot, *mapped.page));
  }
  return all;
}

}  // namespace mrc
