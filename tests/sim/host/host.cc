// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host/host.h"

#include <algorithm>

#include "tests/sim/core/frame_headers.h"
#include "tests/sim/host/congestion_notification.h"

namespace mrc::sim {

namespace {
// How soon a host that is blocked looks again although no port told that it has room.
constexpr Picoseconds kBlockedCheck = 10 * kPerMicrosecond;
}  // namespace

Host::Host(Core& core, uint32_t number, const HostConfig& config, const std::vector<Channel*>& outgoing)
    : core_(core), number_(number), config_(config), address_(address_of(number, config.v4)) {
  std::vector<Port*> ports;
  for (Channel* channel : outgoing) {
    const MacAddress mac{{2, 1, static_cast<uint8_t>(ports.size()), static_cast<uint8_t>(number >> 16),
                          static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)}};
    ports_.push_back(std::make_unique<HostPort>(core, static_cast<Plane>(ports.size()), mac, *channel,
                                                config.transmit_frames_max, config.receive_frames_max,
                                                config.dcqcn));
    ports.push_back(ports_.back().get());
  }
  EventSink* sink = this;
  engine_ = std::make_unique<Engine>(config.engine, ports, sink);
}

// --------------------------------------------------------------------------------------- when it runs

void Host::arrive(Plane plane, uint32_t channel, Frame* frame) {
  if (config_.dcqcn && heed_notification(plane, channel, frame)) return;
  if (ports_[plane]->arrive(channel, frame)) wake();
}

// DCQCN is the NIC's: the engine sees nothing of it. True: the frame was a notification, and is gone.
bool Host::heed_notification(Plane plane, uint32_t channel, Frame* frame) {
  const std::optional<Qpn> qpn = notified(*frame);
  if (!qpn) {
    if (frame->data && is_marked(*frame)) notify_sender(plane, *frame);
    return false;
  }
  core_.trace.note(core_.events.now(), channel, *frame, Fate::kDelivered);
  core_.frames.give(frame);
  if (const QueuePair* qp = engine_->find(*qpn); qp != nullptr)
    ports_[plane]->paced()->on_notification(flow_key(qp->connection().next_hops[plane].bytes.data()));
  return true;
}

// DCQCN's notification point: a flow with marks is told so, but not too often.
void Host::notify_sender(Plane plane, const Frame& frame) {
  const std::optional<Qpn> qpn = destination_qpn(frame);
  const QueuePair* qp = qpn ? engine_->find(*qpn) : nullptr;
  if (qp == nullptr) return;
  const auto [last, first] = notified_.try_emplace(qpn->value(), core_.events.now());
  if (!first && core_.events.now() < last->second + config_.dcqcn->notify_gap) return;
  last->second = core_.events.now();
  Frame* notification = make_notification(core_.frames, qp->connection(), frame.entropy);
  Channel& out = ports_[plane]->out();
  core_.trace.note(core_.events.now(), out.id(), *notification, Fate::kSent);
  out.send(notification);
}

void Host::pace(Plane plane) {
  if (ports_[plane]->paced()->proceed() && blocked_) wake();
}

void Host::room_changed(Plane plane) {
  // A few frames at once: a run of the engine per frame would cost more than it shows.
  HostPort& port = *ports_[plane];
  if (port.paced() != nullptr) return pace(plane);
  if (blocked_ && port.room() * 2 >= port.transmit_frames_max()) wake();
}

void Host::pause_until(Picoseconds time) {
  paused_until_ = std::max(paused_until_, time);
  wake_at(paused_until_);
}

void Host::set_port_up(Plane plane, bool up) {
  ports_[plane]->set_up(up);
  // The engine's own notification of links goes here.
  wake();
}

void Host::wake_at(Picoseconds time) {
  if (ran_) time = std::max(time, last_run_ + from_nanoseconds(config_.burst_gap));
  time = std::max({time, paused_until_, core_.events.now()});
  if (time >= wake_time_) return;
  wake_time_ = time;
  core_.events.at(time, EventKind::kHostWake, number_);
}

void Host::on_wake() {
  if (core_.events.now() != wake_time_) return;  // an earlier one came instead
  if (core_.events.now() < paused_until_) {
    wake_time_ = kForever;
    wake_at(paused_until_);
    return;
  }
  run();
}

// At most one event far ahead: it is looked at again when it comes.
void Host::set_timer(Picoseconds time) {
  if (time >= timer_time_) return;
  timer_time_ = time;
  core_.events.at(time, EventKind::kHostTimer, number_);
}

void Host::on_timer() {
  if (core_.events.now() != timer_time_) return;
  timer_time_ = kForever;
  const Picoseconds deadline = from_nanoseconds(engine_->next_deadline());
  if (deadline == kForever) return;
  if (deadline <= core_.events.now()) {
    wake();
  } else {
    set_timer(deadline);
  }
}

bool Host::frames_wait() const {
  return std::any_of(ports_.begin(), ports_.end(), [](const auto& port) { return port->frames_wait(); });
}

void Host::run() {
  const Picoseconds now = core_.events.now();
  wake_time_ = kForever;
  last_run_ = now;
  ran_ = true;
  ++runs_;
  const size_t work = engine_->progress(to_nanoseconds(now));
  if (listener_ != nullptr) {
    for (size_t i = 0; i < completed_.size(); ++i) listener_->on_completions(*completed_[i]);
    completed_.clear();
    if (watched_) listener_->on_run(number_);
  }
  const Nanoseconds deadline = engine_->next_deadline();
  const bool ready = deadline <= to_nanoseconds(now);
  blocked_ = false;
  if (frames_wait() || engine_->doorbell_pending() || (ready && work > 0)) {
    wake_at(now);
  } else if (ready) {
    blocked_ = true;
    wake_at(now + kBlockedCheck);
  } else if (deadline != kNever) {
    set_timer(from_nanoseconds(deadline));
  }
}

// --------------------------------------------------------------------------------------- what it tells

void Host::completions(CompletionQueue& queue) {
  if (listener_ != nullptr) completed_.push_back(&queue);
}

void Host::completion_queue_overrun(CompletionQueue& queue) {
  if (listener_ != nullptr) listener_->on_overrun(queue);
}

void Host::queue_pair_event(QueuePair& qp, QueuePairEvent event) {
  if (listener_ != nullptr) listener_->on_event(qp, event);
}

}  // namespace mrc::sim
