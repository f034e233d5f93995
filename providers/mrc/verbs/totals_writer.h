// SPDX-License-Identifier: BSD-2-Clause
// Adds what a shard counts to the totals of its device in the run directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dpdk_io/host/totals_page.h"
#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"

namespace mrc::provider {

class TotalsWriter {
 public:
  TotalsWriter(const std::string& run_directory, const std::string& device);

  // Under the shard's lock.
  void update(const Counters& counters);
  // Under no lock: the files of text, now and then.
  void show(Nanoseconds now);
  // The last time: now.
  void show_last();

 private:
  TotalsPage page_;
  const std::optional<uint32_t> place_;
  TotalValues told_{};
};

}  // namespace mrc::provider
