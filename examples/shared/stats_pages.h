// SPDX-License-Identifier: BSD-2-Clause
// The statistics pages of this user's running processes, as mrc_top and mrcctl read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/host/stats_page.h"

namespace mrc {

// Packets sent again, by cause.
struct Retransmits {
  uint64_t gap = 0;
  uint64_t timeout = 0;
  uint64_t trim = 0;
  uint64_t nack = 0;
  uint64_t port_down = 0;
  uint64_t other = 0;
  uint64_t all() const { return gap + timeout + trim + nack + port_down + other; }
};

// A page as it was at one moment.
struct ProcessStats {
  uint32_t slot = 0;
  uint32_t pid = 0;
  uint32_t planes = 0;
  std::string device;
  std::string command;
  uint64_t updated_ns = 0;
  uint64_t connected_qps = 0;
  uint64_t paths_active = 0;
  uint64_t paths_all = 0;
  uint64_t payload_bytes_sent = 0;
  uint64_t payload_bytes_placed = 0;
  Retransmits retransmits;
  uint64_t paths_demoted = 0;
  uint64_t paths_restored = 0;
  uint64_t drops = 0;
};

// Keeps pages mapped between readings.
class StatsPages {
 public:
  // kAny also shows processes that seem dead, for readers in another PID namespace than the writers.
  enum class Show { kLive, kAny };
  explicit StatsPages(std::string run_directory, Show show = Show::kLive);
  ~StatsPages();
  StatsPages(const StatsPages&) = delete;
  StatsPages& operator=(const StatsPages&) = delete;

  // The live processes, by slot.
  std::vector<ProcessStats> read();

 private:
  struct Mapped {
    uint32_t slot;
    uint64_t inode;
    const StatsPage* page;
  };
  void scan();

  std::string run_directory_;
  Show show_;
  std::vector<Mapped> mapped_;
};

}  // namespace mrc
