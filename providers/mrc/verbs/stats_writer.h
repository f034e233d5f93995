// SPDX-License-Identifier: BSD-2-Clause
// Keeps this process's stats page up to date for mrc_top. One that cannot be made, as on a full
// disk, is done without, and that is said.
#pragma once

#include <cstdint>
#include <string>

#include "dpdk_io/host/stats_page.h"
#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"

namespace mrc::provider {

class StatsWriter {
 public:
  StatsWriter(const std::string& run_directory, uint32_t slot, const char* device, uint32_t planes);
  ~StatsWriter();
  StatsWriter(const StatsWriter&) = delete;
  StatsWriter& operator=(const StatsWriter&) = delete;

  // Under the shard's lock.
  void update(Engine& engine, Nanoseconds now);
  // Under no lock, after update(): writes the state down if somebody wanted it.
  void answer();
  // Takes the file away; update() does nothing from now on. Also safe at exit().
  void remove_file();

 private:
  const std::string path_;
  const std::string state_path_;
  std::string state_;  // to be written
  uint32_t state_number_ = 0;
  bool state_is_there_ = false;
  StatsPage* page_ = nullptr;
};

}  // namespace mrc::provider
