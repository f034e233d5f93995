// SPDX-License-Identifier: BSD-2-Clause
// Keeps this process's stats page up to date for mrc_top. A page that cannot be made is done without.
#pragma once

#include <cstdint>
#include <string>

#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"
#include "providers/mrc/stats_page.h"

namespace mrc::provider {

class StatsWriter {
 public:
  StatsWriter(const std::string& run_directory, uint32_t slot, const char* device, uint32_t planes);
  ~StatsWriter();
  StatsWriter(const StatsWriter&) = delete;
  StatsWriter& operator=(const StatsWriter&) = delete;

  // Under the device's lock.
  void update(const Engine& engine, Nanoseconds now);
  // Takes the file away; update() does nothing from now on. Also safe at exit().
  void remove_file();

 private:
  std::string path_;
  StatsPage* page_ = nullptr;
};

}  // namespace mrc::provider
