// SPDX-License-Identifier: BSD-2-Clause
// Keeps this process's stats page up to date for mrc_top. One that cannot be made, as on a full
// disk, is done without, and that is said.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "dpdk_io/host/stats_page.h"
#include "libmrc/engine/engine.h"
#include "libmrc/engine/state_report.h"
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
  // Somebody has asked for the state, and not all of it is collected: then it goes on with answer_some(),
  // under the shard's lock, which lets others have the lock in between. May throw bad_alloc.
  bool is_answering() const;
  void answer_some(Engine& engine, Nanoseconds now);
  // Under no lock: writes down what is whole.
  void write_answers();
  // Takes the file away; update() does nothing from now on. Also safe at exit().
  void remove_file();

 private:
  // What others may ask for.
  struct Answer {
    std::string path;
    std::optional<StateReport> report = {};  // while it is asked for
    bool whole = false;
    uint32_t number = 0;
    bool is_there = false;
  };
  static void begin_if_asked(const std::atomic<uint32_t>& wanted, StateReport::Form form, Answer* answer);
  static void write(Answer* answer, std::atomic<uint32_t>* written);

  const std::string path_;
  Answer state_;
  Answer detail_;
  StatsPage* page_ = nullptr;
};

}  // namespace mrc::provider
