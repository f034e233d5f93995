// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "dpdk_io/host/private_file.h"
#include "examples/shared/stats_pages.h"

namespace mrc {
namespace {

constexpr int kTries = 300;  // of 10 ms: a busy machine may take a while

StatsPage* map_writable(const std::string& path) {
  const int fd = open_private_file(path, O_RDWR);
  if (fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  // A page that is too short would be a trap.
  if (lseek(fd, 0, SEEK_END) >= static_cast<off_t>(sizeof(StatsPage)))
    mapped = mmap(nullptr, sizeof(StatsPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<StatsPage*>(mapped);
}

bool answered(const StatsPage& page, uint32_t number) {
  const timespec pause{0, 10'000'000};
  for (int tries = 0; tries < kTries; ++tries) {
    // Two who ask at the same time are both served by the later answer.
    if (static_cast<int32_t>(page.state_written.load(std::memory_order_acquire) - number) >= 0) return true;
    if (page.magic.load(std::memory_order_relaxed) != StatsPage::kMagic) return false;
    nanosleep(&pause, nullptr);
  }
  return false;
}

bool show(const std::string& run_directory, const ProcessStats& process) {
  const std::string slot = std::to_string(process.slot);
  std::printf("process %u (%s), slot %s, device %s\n", process.pid, process.command.c_str(), slot.c_str(),
              process.device.c_str());
  StatsPage* page = map_writable(run_directory + "/" + StatsPage::kFilePrefix + slot);
  const bool told = page != nullptr && answered(*page, page->state_wanted.fetch_add(1) + 1);
  if (page != nullptr) munmap(page, sizeof(StatsPage));
  std::fflush(stdout);
  const std::string file = run_directory + "/" + StatsPage::kStatePrefix + slot;
  std::ifstream text;
  if (told && is_private_file(file)) text.open(file);
  if (text.is_open() && text.peek() != std::ifstream::traits_type::eof()) {
    std::cout << text.rdbuf() << std::flush;
    remove_private_file(file);
    return true;
  }
  std::printf(
      "  does not answer: it has ended or is stopped, or a thread of it has kept the device to itself for "
      "seconds\n");
  return false;
}

}  // namespace

int show_state(const std::string& run_directory) {
  bool all = true;
  const auto processes = StatsPages(run_directory).read();
  for (const ProcessStats& process : processes) all = show(run_directory, process) && all;
  if (processes.empty()) std::printf("no program uses the device now\n");
  return all ? 0 : 1;
}

}  // namespace mrc
