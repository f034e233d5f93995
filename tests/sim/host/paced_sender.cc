// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host/paced_sender.h"

#include <algorithm>

#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

FlowKey flow_key(const uint8_t* mac) {
  FlowKey key = 0;
  for (int i = 0; i < 6; ++i) key = key << 8 | mac[i];
  return key;
}

PacedSender::PacedSender(Core& core, Channel& out, const DcqcnSettings& settings, uint32_t frames_max)
    : core_(core), out_(out), settings_(settings), frames_max_(frames_max) {}

PacedSender::~PacedSender() {
  for (auto& [key, flow] : flows_)
    while (Frame* frame = flow.waiting.pop()) core_.frames.give(frame);
}

PacedSender::Flow& PacedSender::flow(FlowKey key) {
  return flows_.try_emplace(key, Flow{.rate = DcqcnRate(settings_), .waiting = {}}).first->second;
}

double PacedSender::gigabits(FlowKey key) const {
  const auto at = flows_.find(key);
  return at != flows_.end() ? at->second.rate.gigabits() : 0;
}

uint32_t PacedSender::room(FlowKey key) {
  wire_full_ = out_.data_frames() >= frames_max_;  // of acknowledgements: it is paused
  if (wire_full_) return 0;
  const auto at = flows_.find(key);
  return at == flows_.end() ? frames_max_ : frames_max_ - std::min(frames_max_, at->second.waiting.count());
}

void PacedSender::send(Frame* frame) {
  if (!frame->data) return out_.send(frame);
  make_ecn_capable(frame);
  const FlowKey key = flow_key(frame->bytes());
  Flow& sender = flow(key);
  if (sender.waiting.empty()) turns_.insert({sender.next, key, &sender});
  sender.waiting.push(frame);
  sender.full = sender.full || sender.waiting.count() >= frames_max_;
  ++held_;
  proceed();
}

void PacedSender::on_notification(FlowKey key) {
  ++notifications_;
  flow(key).rate.on_notification(core_.events.now());
}

bool PacedSender::proceed() {
  bool room_again = false;
  if (timer_ <= core_.events.now()) timer_ = kForever;
  while (!turns_.empty() && turns_.begin()->time <= core_.events.now() && out_.data_frames() < kAtWireMax) {
    const Turn turn = *turns_.begin();
    turns_.erase(turns_.begin());
    Flow& sender = *turn.flow;
    send_first(sender);
    if (!sender.waiting.empty()) turns_.insert({sender.next, turn.key, &sender});
    if (sender.full && 2 * sender.waiting.count() <= frames_max_) {
      sender.full = false;
      room_again = true;
    }
  }
  set_timer();
  if (wire_full_ && 2 * out_.data_frames() <= frames_max_) {
    wire_full_ = false;
    room_again = true;
  }
  return room_again;
}

// A flow whose turn came late may be early by one frame next time, but no more: it keeps its rate and makes
// no burst.
void PacedSender::send_first(Flow& sender) {
  const Picoseconds now = core_.events.now();
  Frame* frame = sender.waiting.pop();
  --held_;
  const uint32_t bytes = frame->length + kWireOverheadBytes;
  sender.rate.on_sent(now, bytes);
  const auto time = static_cast<Picoseconds>(bytes * 8000.0 / sender.rate.gigabits());
  sender.next = std::max(sender.next, now - std::min(now, time)) + time;
  out_.send(frame);
}

// If the wire is what is waited for, it tells.
void PacedSender::set_timer() {
  if (turns_.empty()) return;
  const Picoseconds next = turns_.begin()->time;
  if (next <= core_.events.now() || next >= timer_) return;
  timer_ = next;
  core_.events.at(next, EventKind::kPace, out_.id());
}

}  // namespace mrc::sim
