// SPDX-License-Identifier: BSD-2-Clause
// RC beside MRC where something breaks: the same two hosts, the same network with all its planes, the same
// fault. Every queue pair has one plane and, by ECMP, one path in it, and keeps it whatever happens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

struct RcRun {
  WorldConfig config;  // as MRC has it
  StreamConfig stream;
  Picoseconds fault_at = 0;
  Picoseconds end = 0;
  // Called once packets flow and before fault_at. Unlike MRC, RC uses few links: what is to break should be
  // in use.
  std::function<void(World& world, Stream& stream)> plan_faults;
  std::string prefix;  // of the names of the rows
  std::vector<Transport> transports;
};

// RC with 1, 8 and 16 queue pairs, and in the full form with DCQCN, too.
std::vector<Transport> rc_beside(const ScenarioOptions& options);
// Rows for each, none with a target, and a line in the plot.
void add_rc_rows(const RcRun& run, ScenarioResult* result, Plot* plot);

// Where the stream's first queue pair goes, and the link from host 0's leaf to a spine with most data in that
// plane.
const Path& first_path(Stream& stream);
const Link& link_in_use(World& world, Stream& stream);

// No stream posts any more. What is under way gets the time that all attempts of the transport timer take,
// and is then complete or in error; returns how many streams are neither.
uint32_t drain(World& world);
// Of all messages; one that never completed counts with its age.
std::vector<double> message_times(World& world);
// The end of a run: drains it, then P50, P99 and P99.9 of all messages.
void add_message_times(World& world, const std::string& name, ScenarioResult* result);

}  // namespace mrc::sim
