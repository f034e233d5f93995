// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/shard.h"

#include <errno.h>

#include <cstring>
#include <utility>

#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/device.h"
#include "providers/mrc/verbs/page_in.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/srq.h"
#include "providers/mrc/verbs/zeroed_memory.h"

namespace mrc::provider {
namespace {

ibv_event_type to_verbs(QueuePairEvent event) {
  switch (event) {
    case QueuePairEvent::kFatal:
      return IBV_EVENT_QP_FATAL;
    case QueuePairEvent::kAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case QueuePairEvent::kRequestError:
      return IBV_EVENT_QP_REQ_ERR;
    case QueuePairEvent::kConnected:
      return IBV_EVENT_COMM_EST;
    case QueuePairEvent::kDrained:
      return IBV_EVENT_SQ_DRAINED;
    case QueuePairEvent::kLastReceiveReached:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
  }
  return IBV_EVENT_QP_FATAL;
}

}  // namespace

int Shard::open(const DeviceConfig& config, std::string* error) {
  name_ = config.name;
  ports_ = DevicePorts::open(config, error);
  if (ports_ == nullptr) return ENODEV;
  if (!random_.ready()) {
    *error = "mrc: the system gives no random numbers (getrandom), and keys must not be guessed; allow it";
    return ENOSYS;
  }
  int why = 0;
  ControlPage* control = device_.control(&why);
  if (control == nullptr) {
    *error = "mrc: " + ports_->run_directory() + "/" + ControlPage::kFileName + ": " + std::strerror(why) +
             "; remove the file, or make room, and try again";
    return ENODEV;
  }
  profiles_ = std::make_unique<ControlProfiles>(*control, ports_->slot(), config.mtu, config.transport,
                                                ports_->paths());
  EngineConfig engine;
  engine.first_qpn = ports_->first_qpn();
  engine.qpn_count = ports_->qpn_count();
  engine.index = index_;
  engine.seed = random_.next();
  engine.random = &random_;
  engine.transport = config.transport;
  engine.transport.datagram_bytes_max = config.mtu;
  engine.path_source = profiles_->allowed_paths();
  engine.profiles = profiles_.get();
  engine.trace_events = config.trace_events;
  engine_ = std::make_unique<Engine>(engine, ports_->ports(), static_cast<EventSink*>(this));
  engine_->memory().set_source(zeroed_memory);
  engine_->memory().set_pager(
      [](void* place, size_t bytes, bool writes) { return page_in(place, bytes, writes) == 0; });
  engine_->memory().set_window_watcher(this);
  faults_version_.store(0);
  follow_faults();
  stats_ =
      std::make_unique<StatsWriter>(ports_->run_directory(), ports_->slot(), name_.c_str(), config.planes);
  capture_ = std::make_unique<CaptureTap>(
      ports_->run_directory(), name_, index_ == 0 ? CaptureTap::Hears::kOthers : CaptureTap::Hears::kNothing);
  totals_ = std::make_unique<TotalsWriter>(ports_->run_directory(), name_);
  return 0;
}

int Shard::run(std::string* error) {
  const int result = progress_.start({engine_.get(), ports_.get(), stats_.get(), capture_.get(),
                                      totals_.get(), &news_, profiles_.get(), this},
                                     name_);
  if (result != 0)
    *error = "mrc: " + name_ + " cannot start its thread; " + std::strerror(result) +
             "; raise the limit of processes";
  return result;
}

void Shard::stop() {
  progress_.stop();
  if (totals_ != nullptr && engine_ != nullptr) {
    totals_->update(engine_->counters());
    totals_->show_last();
  }
  totals_.reset();
  stats_.reset();
  engine_.reset();
  capture_.reset();
  profiles_.reset();
  ports_.reset();
  news_.clear();
}

void Shard::stop_at_exit() {
  progress_.stop_at_exit();
  if (stats_ != nullptr) stats_->remove_file();
  if (capture_ != nullptr) capture_->leave();
}

// --- what the engine tells, under the shard's lock ---

void Shard::completions(CompletionQueue& queue) {
  if (queue.owner == nullptr) return device_.tell_watcher();
  static_cast<Cq*>(queue.owner)->on_completions(progress_);
}

void Shard::completion_queue_overrun(CompletionQueue& queue) {
  auto* cq = static_cast<Cq*>(queue.owner);
  if (cq == nullptr) return;
  cq->context->post_async(IBV_EVENT_CQ_ERR, &cq->verbs.cq);
}

void Shard::queue_pair_event(QueuePair& queue_pair, QueuePairEvent event) {
  auto* qp = static_cast<Qp*>(queue_pair.config().owner);
  if (qp == nullptr) return;
  if (event == QueuePairEvent::kDrained && qp->attributes.en_sqd_async_notify == 0) return;
  qp->context->post_async(to_verbs(event), &qp->verbs.qp);
}

void Shard::shared_receive_limit(SharedReceiveQueue& queue) {
  auto* srq = static_cast<Srq*>(queue.owner);
  srq->context->post_async(IBV_EVENT_SRQ_LIMIT_REACHED, &srq->verbs);
}

void Shard::window_changed(const MemoryRegion& window) {
  device_.memory().tell_others(*this, window);
}

bool Shard::faults_changed() const {
  return device_.faults().version() != faults_version_.load(std::memory_order_relaxed);
}

void Shard::follow_events() {
  if (index_ == 0) device_.faults().follow();
}

void Shard::follow_faults() {
  DeviceFaults& faults = device_.faults();
  if (faults.version() == faults_version_.load()) return;
  std::unique_ptr<FaultInjector> injector;
  uint64_t version = 0;
  if (!faults.make(index_, &version, &injector)) return;
  engine_->set_faults(std::move(injector), clock_now());
  faults_version_.store(version);
}

std::optional<ControlProfiles::Word> Shard::read_profiles() const {
  if (!profiles_->changed()) return std::nullopt;
  return profiles_->read();
}

void Shard::take_profiles(std::optional<ControlProfiles::Word>& word) {
  if (word) profiles_->take(&*word, *engine_, clock_now());
}

void Shard::ev_probe_answered(uint64_t cookie, Nanoseconds rtt, Plane plane) {
  if (prober_ != nullptr) prober_->answered(cookie, rtt, plane);
}

void Shard::path_event(const QueuePair& qp, const PathEvent& event) {
  profiles_->tell(qp, event);
}

void Shard::ports_changed(PlaneMask up) {
  if (index_ == 0) device_.set_ports_up(up);
}

}  // namespace mrc::provider
