// SPDX-License-Identifier: BSD-2-Clause
// One direction of a cable and the output queue in front of it: a data queue and a control queue of strict
// priority, both limited in bytes; ECN marking, trimming, tail drop; a wire with rate and delay; and what can
// go wrong on the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/sim/core/event_queue.h"
#include "tests/sim/core/frame_pool.h"
#include "tests/sim/core/random.h"
#include "tests/sim/core/trace.h"

namespace mrc::sim {

// What every part of the fabric works with.
struct Core {
  EventQueue events;
  FramePool frames;
  Trace trace;
};

// MRC 5.5 gives these in bandwidth-delay products. 0 in a threshold switches that off.
struct QueueSettings {
  uint32_t data_bytes_max = 1u << 30;
  uint32_t control_bytes_max = 1u << 30;
  uint32_t ecn_min_bytes = 0;  // marking begins, and rises linearly...
  uint32_t ecn_max_bytes = 0;  // ...to this share here, and from here on everything is marked
  double ecn_max_share = 1;
  uint32_t trim_bytes = 0;  // data that finds more than this is trimmed instead of queued
  bool last_hop = false;    // towards a host: trimmed packets get a class of their own
};

// Besides the frame: preamble, frame check sequence, gap.
inline constexpr uint32_t kWireOverheadBytes = 24;

struct Wire {
  double gigabits = 100;
  Picoseconds delay = 0;
};

// Everything that can happen to a frame on the wire. Probabilities are per frame.
struct WireFaults {
  double loss = 0;
  double corruption = 0;
  double duplication = 0;
  double reordering = 0;          // share of frames that are held back...
  Picoseconds reorder_delay = 0;  // ...by up to this much
  bool black_hole = false;
  // Burst loss (two states): in the bad one every frame is lost.
  double burst_start = 0;
  double burst_end = 0;
  // Loss for chosen entropy values only.
  double entropy_loss = 0;
  std::vector<uint32_t> entropies;

  bool any() const {
    return loss > 0 || corruption > 0 || duplication > 0 || reordering > 0 || black_hole || burst_start > 0 ||
           entropy_loss > 0;
  }
};

struct ChannelCounters {
  uint64_t offered = 0;     // frames that came to the queue
  uint64_t duplicated = 0;  // made on the wire
  uint64_t delivered = 0;   // reached the far end
  uint64_t dropped = 0;     // by the queue or lost on the wire
  uint64_t marked = 0;
  uint64_t trimmed = 0;
  uint64_t bytes_delivered = 0;
  uint64_t data_bytes_peak = 0;  // longest data queue seen
  uint64_t pauses = 0;           // by priority flow control
};

class PauseControl;

class Channel {
 public:
  Channel(Core& core, uint32_t id, const Wire& wire, const QueueSettings& queue, uint64_t seed);

  uint32_t id() const { return id_; }
  const QueueSettings& settings() const { return settings_; }
  const ChannelCounters& counters() const { return counters_; }
  uint64_t data_bytes() const { return data_bytes_; }
  uint32_t data_frames() const { return data_.count(); }
  uint32_t frames_inside() const { return data_.count() + control_.count() + wire_.count() + strays_; }
  Picoseconds delay() const { return delay_; }
  Picoseconds wire_time(uint32_t frame_bytes) const {
    return (frame_bytes + kWireOverheadBytes) * byte_time_q8_ >> 8;
  }

  // Takes the frame over.
  void send(Frame* frame);
  // Events. on_arrival: the frame that reached the far end, or nullptr if it did not.
  void on_free();
  Frame* on_arrival();
  Frame* on_stray(Frame* frame);

  // Priority flow control: data wait, control does not. The frame that is on its way ends first.
  void set_paused(bool paused);
  bool paused() const { return paused_; }
  Picoseconds paused_time() const;
  Picoseconds busy_until() const { return busy_until_; }
  // Whoever counts what is in this queue; outlives the channel.
  void set_pause_control(PauseControl* control) { pause_control_ = control; }

  // Faults.
  void set_rate(double gigabits);
  double nominal_gigabits() const { return nominal_gigabits_; }
  void set_down(bool down);
  bool down() const { return down_; }
  void set_faults(const WireFaults& faults);

 private:
  void enqueue_data(Frame* frame);
  void enqueue_control(Frame* frame);
  void start_next();
  void schedule_free();
  bool has_next() const { return (!data_.empty() && !paused_) || !control_.empty(); }
  void left_queue(const Frame& frame);
  void launch(Frame* frame, Picoseconds leaves);
  bool survive(Frame* frame);
  void stray(Frame* frame, Picoseconds time);
  Frame* corrupt(Frame* frame);
  void maybe_mark(Frame* frame);
  void drop(Frame* frame, Fate fate);
  Frame* deliver(Frame* frame);

  Core& core_;
  uint32_t id_;
  bool down_ = false;
  bool free_scheduled_ = false;
  bool bursting_ = false;
  bool paused_ = false;
  uint64_t byte_time_q8_ = 0;  // picoseconds per byte, times 256
  Picoseconds delay_;
  Picoseconds busy_until_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t control_bytes_ = 0;
  FrameList data_;
  FrameList control_;
  FrameList wire_;
  uint32_t strays_ = 0;
  QueueSettings settings_;
  std::unique_ptr<WireFaults> faults_;
  Random random_;
  ChannelCounters counters_;
  double nominal_gigabits_;
  PauseControl* pause_control_ = nullptr;
  Picoseconds paused_since_ = 0;
  Picoseconds paused_before_ = 0;  // all pauses that are over
};

}  // namespace mrc::sim
