// SPDX-License-Identifier: BSD-2-Clause
// Keeps this process's stats page up to date for mrc_top. One that cannot be made, as on a full
// disk, is done without, and that is said.
#pragma once

#include <atomic>
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
  // What others may ask for.
  struct Answer {
    std::string path;
    std::string text = {};  // to be written
    uint32_t number = 0;
    bool is_there = false;
  };
  static bool is_asked(const std::atomic<uint32_t>& wanted, Answer* answer);
  static void write(Answer* answer, std::atomic<uint32_t>* written);

  const std::string path_;
  Answer state_;
  Answer detail_;
  StatsPage* page_ = nullptr;
};

}  // namespace mrc::provider
