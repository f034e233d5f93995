// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/process_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/stats_page.h"

namespace mrc {
namespace {

constexpr int kTries = 1500;  // of 2 ms: a busy machine may take a while

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

bool answered(const StatsPage& page, const std::atomic<uint32_t>& written, uint32_t number) {
  const timespec pause{0, 2'000'000};
  for (int tries = 0; tries < kTries; ++tries) {
    // Two who ask at the same time are both served by the later answer.
    if (static_cast<int32_t>(written.load(std::memory_order_acquire) - number) >= 0) return true;
    if (page.magic.load(std::memory_order_relaxed) != StatsPage::kMagic) return false;
    nanosleep(&pause, nullptr);
  }
  return false;
}

}  // namespace

bool ask_for_state(const std::string& run_directory, uint32_t slot, StateForm form, std::string* text) {
  text->clear();
  const bool words = form == StateForm::kWords;
  const std::string number = std::to_string(slot);
  StatsPage* page = map_writable(run_directory + "/" + StatsPage::kFilePrefix + number);
  if (page == nullptr) return false;
  auto& wanted = words ? page->state_wanted : page->detail_wanted;
  const bool told =
      page->version == StatsPage::kVersion &&
      answered(*page, words ? page->state_written : page->detail_written, wanted.fetch_add(1) + 1);
  munmap(page, sizeof(StatsPage));
  const std::string file =
      run_directory + "/" + (words ? StatsPage::kStatePrefix : StatsPage::kDetailPrefix) + number;
  if (!told || !is_private_file(file)) return false;
  std::ifstream stream(file);
  text->assign(std::istreambuf_iterator<char>(stream), {});
  remove_private_file(file);
  return !text->empty();
}

}  // namespace mrc
