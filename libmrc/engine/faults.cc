// SPDX-License-Identifier: BSD-2-Clause
// The engine while something goes wrong on purpose, or somebody watches: every frame is looked at.
#include <array>
#include <utility>

#include "libmrc/engine/engine.h"

namespace mrc {

void Engine::set_faults(std::unique_ptr<FaultInjector> faults, Nanoseconds clock) {
  const Nanoseconds now = advance(clock);
  const uint64_t sent_before = transmitter_.frames_sent();
  if (faults_ != nullptr && faults != nullptr) {
    faults->take_over(*faults_);
  } else if (faults_ != nullptr) {
    release_held(kNever - 1);  // nobody would come for them any more
  }
  faults_ = std::move(faults);
  if (faults_ != nullptr) {
    faults_->set_counters(&counters_);
    faults_->set_now(now);
  }
  completions_.set_faults(faults_.get());
  const bool was_disordered = services_.disorder != nullptr;
  services_.disorder = faults_ != nullptr && faults_->disorders() ? faults_.get() : nullptr;
  if (was_disordered && services_.disorder == nullptr)
    tell_all(kNewsOfOrder, now);  // what was held back is placed now
  look_closely();
  transmitter_.flush_all();
  counters_.frames_sent += transmitter_.frames_sent() - sent_before;
  report();
}

void Engine::give_turn(QueuePair& qp, Nanoseconds now) {
  qp.on_timer(services_, now);
  schedule(qp);
  after_work(qp, now);
}

// What was held back and is due by then goes on.
void Engine::release_held(Nanoseconds until) {
  faults_->set_now(until);
  faults_->release(completions_);
  faults_->release_writers([this](Qpn qpn) {
    if (QueuePair* qp = find(qpn)) give_turn(*qp, time_);
  });
  faults_->release([this](Plane plane, const RxFrame& frame) { dispatch(plane, frame, time_); });
}

size_t Engine::receive_closely(Nanoseconds now) {
  if (faults_ != nullptr) release_held(now);
  size_t total = 0;
  std::array<RxFrame, kBurst>& frames = received_;
  for (size_t lane = 0; lane < transmitter_.lane_count(); ++lane) {
    Carrier& carrier = transmitter_.carrier(lane);
    const size_t count = carrier.receive(frames);
    for (size_t i = 0; i < count; ++i) {
      const Plane plane = transmitter_.plane_of(lane, frames[i]);
      FaultInjector::Arrivals arrivals{{frames[i], {}}, 1};
      if (faults_ != nullptr) arrivals = faults_->arrive(frames[i], plane, counters_);
      for (size_t each = 0; each < arrivals.count; ++each) {
        const RxFrame& frame = arrivals.frames[each];
        watch_arriving(plane, frame);
        dispatch(plane, frame, now);
      }
    }
    if (count > 0 && transmitter_.is_wire(lane)) note_heard(lane, {frames.data(), count}, now);
    if (count > 0) carrier.release({frames.data(), count});
    total += count;
  }
  return total;
}

}  // namespace mrc
