// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/core/channel.h"

#include <algorithm>
#include <cassert>

#include "tests/sim/core/frame_headers.h"
#include "tests/sim/core/pause_control.h"

namespace mrc::sim {

Channel::Channel(Core& core, uint32_t id, const Wire& wire, const QueueSettings& queue, uint64_t seed)
    : core_(core),
      id_(id),
      delay_(wire.delay),
      settings_(queue),
      random_(seed),
      nominal_gigabits_(wire.gigabits) {
  set_rate(wire.gigabits);
}

void Channel::set_rate(double gigabits) {
  assert(gigabits > 0);
  byte_time_q8_ = static_cast<uint64_t>(8000.0 * 256.0 / gigabits + 0.5);
}

// ------------------------------------------------------------------------------------------------ queue

void Channel::send(Frame* frame) {
  ++counters_.offered;
  const bool priority = Dscp::is_priority(frame->dscp);
  if (down_) {
    if (!priority) left_queue(*frame);
    return drop(frame, Fate::kLostDown);
  }
  if (priority) {
    enqueue_control(frame);
  } else {
    enqueue_data(frame);
  }
  if (core_.events.now() >= busy_until_) {
    start_next();
  } else {
    schedule_free();
  }
}

void Channel::schedule_free() {
  if (free_scheduled_ || !has_next()) return;
  free_scheduled_ = true;
  core_.events.at(busy_until_, EventKind::kChannelFree, id_);
}

// Counted are those in data queues.
void Channel::left_queue(const Frame& frame) {
  if (pause_control_ != nullptr) pause_control_->leave(frame);
}

void Channel::enqueue_data(Frame* frame) {
  const uint64_t bytes = data_bytes_ + frame->length;
  if (settings_.trim_bytes != 0 && bytes > settings_.trim_bytes && Dscp::is_trimmable(frame->dscp) &&
      frame->length > kTrimmedBytes) {
    left_queue(*frame);
    trim(frame, settings_.last_hop ? Dscp::kTrimmedLastHop : Dscp::kTrimmed);
    ++counters_.trimmed;
    core_.trace.note(core_.events.now(), id_, *frame, Fate::kTrimmed);
    return enqueue_control(frame);
  }
  if (bytes > settings_.data_bytes_max) {
    left_queue(*frame);
    return drop(frame, Fate::kDropQueue);
  }
  data_bytes_ = bytes;
  counters_.data_bytes_peak = std::max(counters_.data_bytes_peak, bytes);
  data_.push(frame);
}

void Channel::enqueue_control(Frame* frame) {
  if (control_bytes_ + frame->length > settings_.control_bytes_max) return drop(frame, Fate::kDropControl);
  control_bytes_ += frame->length;
  control_.push(frame);
}

void Channel::start_next() {
  Frame* frame = control_.pop();
  if (frame != nullptr) {
    control_bytes_ -= frame->length;
  } else {
    if (paused_) return;
    frame = data_.pop();
    if (frame == nullptr) return;
    data_bytes_ -= frame->length;
    left_queue(*frame);
    if (settings_.ecn_max_bytes != 0) maybe_mark(frame);
  }
  busy_until_ = core_.events.now() + wire_time(frame->length);
  launch(frame, busy_until_);
  schedule_free();
}

void Channel::on_free() {
  free_scheduled_ = false;
  if (core_.events.now() >= busy_until_) {
    start_next();
  } else {
    schedule_free();
  }
}

void Channel::set_paused(bool paused) {
  if (paused == paused_) return;
  const Picoseconds now = core_.events.now();
  paused_ = paused;
  if (paused) {
    ++counters_.pauses;
    paused_since_ = now;
    return;
  }
  paused_before_ += now - paused_since_;
  if (now >= busy_until_) {
    start_next();
  } else {
    schedule_free();
  }
}

Picoseconds Channel::paused_time() const {
  return paused_before_ + (paused_ ? core_.events.now() - paused_since_ : 0);
}

// By what it leaves behind when it leaves: the freshest sign of congestion that it can carry.
void Channel::maybe_mark(Frame* frame) {
  if (data_bytes_ <= settings_.ecn_min_bytes) return;
  const double span = static_cast<double>(settings_.ecn_max_bytes) - settings_.ecn_min_bytes;
  const double over = static_cast<double>(data_bytes_ - settings_.ecn_min_bytes);
  if (over < span && !random_.chance(over / span * settings_.ecn_max_share)) return;
  if (!mark_congestion(frame)) return;
  ++counters_.marked;
  core_.trace.note(core_.events.now(), id_, *frame, Fate::kMarked);
}

void Channel::drop(Frame* frame, Fate fate) {
  ++counters_.dropped;
  core_.trace.note(core_.events.now(), id_, *frame, fate);
  core_.frames.give(frame);
}

// ------------------------------------------------------------------------------------------------- wire

void Channel::launch(Frame* frame, Picoseconds leaves) {
  Picoseconds arrives = leaves + delay_;
  if (faults_ != nullptr) {
    if (!survive(frame)) return;
    const WireFaults& faults = *faults_;
    if (random_.chance(faults.corruption)) frame = corrupt(frame);
    if (random_.chance(faults.duplication)) {
      ++counters_.duplicated;
      core_.trace.note(core_.events.now(), id_, *frame, Fate::kDuplicated);
      stray(core_.frames.copy(*frame), arrives + random_.below(faults.reorder_delay + kPerMicrosecond));
    }
    if (random_.chance(faults.reordering)) {
      core_.trace.note(core_.events.now(), id_, *frame, Fate::kDelayed);
      return stray(frame, arrives + random_.below(faults.reorder_delay + 1));
    }
  }
  frame->time = arrives;
  wire_.push(frame);
  if (wire_.count() == 1) core_.events.at(arrives, EventKind::kArrival, id_);
}

bool Channel::survive(Frame* frame) {
  const WireFaults& faults = *faults_;
  if (faults.black_hole) return drop(frame, Fate::kLostBlackHole), false;
  if (random_.chance(faults.loss)) return drop(frame, Fate::kLostRandom), false;
  if (faults.burst_start > 0) {
    bursting_ = bursting_ ? !random_.chance(faults.burst_end) : random_.chance(faults.burst_start);
    if (bursting_) return drop(frame, Fate::kLostBurst), false;
  }
  if (faults.entropy_loss > 0 &&
      std::find(faults.entropies.begin(), faults.entropies.end(), frame->entropy) != faults.entropies.end() &&
      random_.chance(faults.entropy_loss))
    return drop(frame, Fate::kLostEntropy), false;
  return true;
}

Frame* Channel::corrupt(Frame* frame) {
  frame = core_.frames.unfold(frame);
  uint8_t* bytes = frame->bytes();
  for (uint64_t flips = random_.between(1, 3); flips > 0; --flips)
    bytes[random_.below(frame->length)] ^= static_cast<uint8_t>(random_.between(1, 255));
  if (random_.chance(0.2)) frame->length = static_cast<uint32_t>(random_.below(frame->length) + 1);
  read_headers(frame);
  core_.trace.note(core_.events.now(), id_, *frame, Fate::kCorrupted);
  return frame;
}

void Channel::stray(Frame* frame, Picoseconds time) {
  ++strays_;
  core_.events.at(time, EventKind::kStrayArrival, id_, frame);
}

Frame* Channel::on_arrival() {
  Frame* frame = wire_.pop();
  if (!wire_.empty()) core_.events.at(wire_.front()->time, EventKind::kArrival, id_);
  return deliver(frame);
}

Frame* Channel::on_stray(Frame* frame) {
  --strays_;
  return deliver(frame);
}

Frame* Channel::deliver(Frame* frame) {
  if (down_) {
    drop(frame, Fate::kLostDown);
    return nullptr;
  }
  ++counters_.delivered;
  counters_.bytes_delivered += frame->length;
  return frame;
}

// ----------------------------------------------------------------------------------------------- faults

void Channel::set_down(bool down) {
  down_ = down;
  if (!down) return;
  data_bytes_ = control_bytes_ = 0;
  while (Frame* frame = data_.pop()) {
    left_queue(*frame);
    drop(frame, Fate::kLostDown);
  }
  while (Frame* frame = control_.pop()) drop(frame, Fate::kLostDown);
}

void Channel::set_faults(const WireFaults& faults) {
  bursting_ = false;
  faults_ = faults.any() ? std::make_unique<WireFaults>(faults) : nullptr;
}

}  // namespace mrc::sim
