// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/fault_watch.h"

#include <filesystem>
#include <utility>

namespace mrc {
namespace {

const char* word(PlaneFault fault) {
  switch (fault) {
    case PlaneFault::kBlackHole:
      return " cut (black hole)";
    case PlaneFault::kLinkDown:
      return " cut (link down)";
    default:
      return " restored";
  }
}

// The page of the first device has no suffix, that of mrc1 ".mrc1".
std::string name_of(const std::string& suffix, size_t plane) {
  return (suffix.empty() ? "" : suffix.substr(1) + " ") + "plane " + std::to_string(plane);
}

}  // namespace

FaultWatch::FaultWatch(std::string run_directory) : run_directory_(std::move(run_directory)) {
  changes();  // what stands already is no news
}

FaultWatch::~FaultWatch() {
  for (const auto& [suffix, watched] : pages_) unmap_fault_page(watched.page);
}

// Devices may appear while we look.
void FaultWatch::look_for_pages() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (fs::directory_iterator at(run_directory_, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    const std::string first = FaultPage::kFileName;
    if (name.rfind(first, 0) != 0 || name == FaultPage::kLockName) continue;
    const std::string suffix = name.substr(first.size());
    if ((!suffix.empty() && suffix[0] != '.') || pages_.contains(suffix)) continue;
    std::string error;
    if (FaultPage* page = map_fault_page(run_directory_, &error, suffix)) pages_[suffix].page = page;
  }
}

std::string FaultWatch::changes() {
  look_for_pages();
  std::string text;
  for (auto& [suffix, watched] : pages_) {
    for (size_t plane = 0; plane < kPlanesMax; ++plane) {
      const PlaneFault now = watched.page->planes[plane].load(std::memory_order_relaxed);
      if (std::exchange(watched.last[plane], now) == now) continue;
      text += (text.empty() ? "" : ", ") + name_of(suffix, plane) + word(now);
    }
  }
  return text;
}

std::vector<std::string> FaultWatch::standing() const {
  std::vector<std::string> all;
  for (const auto& [suffix, watched] : pages_)
    for (size_t plane = 0; plane < kPlanesMax; ++plane)
      if (watched.last[plane] != PlaneFault::kNone)
        all.push_back(name_of(suffix, plane) + word(watched.last[plane]));
  return all;
}

}  // namespace mrc
