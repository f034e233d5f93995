// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/core/pause_control.h"

#include <algorithm>

#include "libmrc/wire/frame.h"
#include "tests/sim/core/channel.h"

namespace mrc::sim {

uint32_t PauseControl::headroom_bytes(const Channel& channel) {
  const double bytes_per_ps = channel.nominal_gigabits() / 8000;
  const double on_wires = 2 * static_cast<double>(channel.delay()) * bytes_per_ps;
  return static_cast<uint32_t>(on_wires) + 3 * static_cast<uint32_t>(kFrameBytesMax) + kPauseFrameBytes +
         kWireOverheadBytes;
}

void PauseControl::add(const Channel& channel, const Channel& back) {
  if (entries_.size() <= channel.id()) entries_.resize(channel.id() + 1);
  entries_[channel.id()] = {&back, 0, settings_.xoff_bytes + headroom_bytes(channel), false};
}

bool PauseControl::enter(uint32_t channel, Frame* frame) {
  Entry& entry = entries_[channel];
  const uint64_t bytes = entry.bytes + frame->length;
  if (bytes > entry.limit) return false;
  entry.bytes = bytes;
  bytes_peak_ = std::max(bytes_peak_, bytes);
  frame->came_by = channel;
  if (!entry.paused && bytes > settings_.xoff_bytes) tell(channel, true);
  return true;
}

void PauseControl::leave(const Frame& frame) {
  const auto channel = static_cast<uint32_t>(frame.came_by);
  Entry& entry = entries_[channel];
  entry.bytes -= frame.length;
  if (entry.paused && entry.bytes <= settings_.xon_bytes) tell(channel, false);
}

// Before everything else, but what is on the wire back ends first. Links that are down carry it, too: what
// counts is that nobody stays paused for ever.
void PauseControl::tell(uint32_t channel, bool pause) {
  Entry& entry = entries_[channel];
  entry.paused = pause;
  const Picoseconds begins = std::max(events_.now(), entry.back->busy_until());
  const Picoseconds arrives = begins + entry.back->wire_time(kPauseFrameBytes) + entry.back->delay();
  events_.at(arrives, pause ? EventKind::kPause : EventKind::kResume, channel);
}

}  // namespace mrc::sim
