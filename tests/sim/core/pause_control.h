// SPDX-License-Identifier: BSD-2-Clause
// Priority flow control (IEEE 802.1Qbb) of the data class: how many bytes that came by each channel are in
// the output queues of the switch at its end, and when that switch asks the channel's sender to pause. A
// pause is in force after the way back; until then data keep coming, and there is headroom for them.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/core/event_queue.h"
#include "tests/sim/core/frame_pool.h"

namespace mrc::sim {

class Channel;

struct PauseSettings {
  uint32_t xoff_bytes = 0;  // of one channel: more than this, and it is paused; 0 = no PFC
  uint32_t xon_bytes = 0;   // so many or fewer, and it goes on

  bool on() const { return xoff_bytes != 0; }
};

class PauseControl {
 public:
  static constexpr uint32_t kPauseFrameBytes = 60;

  PauseControl(EventQueue& events, const PauseSettings& settings) : events_(events), settings_(settings) {}

  // `channel` leads to a switch; `back` is the other direction of the same cable.
  void add(const Channel& channel, const Channel& back);

  // A data frame came by this channel, and goes to a queue of the switch. False: there is no room for it.
  bool enter(uint32_t channel, Frame* frame);
  // It has left that queue, or was dropped from it.
  void leave(const Frame& frame);

  // What may still come after a pause was asked for: all that is on both wires, the frame that is on its way
  // when the pause arrives, the one that the pause had to wait for, and the one that was too much.
  static uint32_t headroom_bytes(const Channel& channel);

  uint64_t bytes(uint32_t channel) const { return entries_[channel].bytes; }
  uint64_t bytes_peak() const { return bytes_peak_; }  // of any channel

 private:
  struct Entry {
    const Channel* back = nullptr;
    uint64_t bytes = 0;
    uint64_t limit = 0;
    bool paused = false;  // what its sender was told last
  };
  void tell(uint32_t channel, bool pause);

  EventQueue& events_;
  PauseSettings settings_;
  std::vector<Entry> entries_;  // by channel
  uint64_t bytes_peak_ = 0;
};

}  // namespace mrc::sim
