// SPDX-License-Identifier: BSD-2-Clause
// What processes say of themselves, now and when they were last asked: rates are the difference.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "examples/shared/stats_pages.h"

namespace mrc {

// Of a process or a device, per second.
struct Rates {
  double seconds = 0;  // that they are of; 0: there are none yet
  double out_gbps = 0;
  double in_gbps = 0;
  double drops = 0;
  double gap = 0;
  double timeout = 0;
  double trim = 0;
  double nack = 0;
  double port_down = 0;
  double other = 0;
  double retransmits() const { return gap + timeout + trim + nack + port_down + other; }
};

// One process, or one of its engines.
// NOLINTNEXTLINE(bugprone-exception-escape): an empty json takes no memory
struct Reading {
  uint64_t time_ns = 0;
  nlohmann::json state;  // with queue pairs and paths, if that was asked for
  ProcessStats stats;
  Rates rates;
};

class Readings {
 public:
  using Key = std::pair<uint32_t, uint32_t>;  // pid and slot
  using All = std::map<Key, Reading>;

  explicit Readings(const std::string& run_directory)
      : run_directory_(run_directory), pages_(run_directory) {}
  // Of one process, or of all (0).
  void read(uint32_t pid, bool with_state);
  const All& now() const { return now_; }
  // The same process at the reading before; null: it was not there.
  const Reading* before(const Key& key) const;
  bool empty() const { return now_.empty(); }

 private:
  const std::string run_directory_;
  StatsPages pages_;
  All now_;
  All last_;
};

}  // namespace mrc
