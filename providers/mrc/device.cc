// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/device.h"

#include <errno.h>
#include <stdlib.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "dpdk_io/device_config.h"
#include "dpdk_io/interface_mtu.h"
#include "providers/mrc/context.h"
#include "providers/mrc/cq.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/limits.h"
#include "providers/mrc/page_in.h"
#include "providers/mrc/qp.h"
#include "providers/mrc/srq.h"

namespace mrc::provider {
namespace {

// Never destroyed: threads of the application may outlive static destructors.
struct Registry {
  std::mutex mutex;
  std::vector<Device*> devices;
};
Registry& registry() {
  static auto* registry = new Registry;
  return *registry;
}

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

Device* Device::open(const char* name) {
  std::lock_guard lock(registry().mutex);
  static const int at_exit_set = atexit(&Device::at_exit);
  static_cast<void>(at_exit_set);
  for (Device* device : registry().devices) {
    if (device->name_ != name) continue;
    ++device->users_;
    return device;
  }
  auto* device = new Device(name);
  registry().devices.push_back(device);
  device->users_ = 1;
  return device;
}

void Device::open_again() {
  std::lock_guard lock(registry().mutex);
  ++users_;
}

void Device::close() {
  std::lock_guard lock(registry().mutex);
  if (--users_ == 0) stop();
}

void Device::add(Context* context) {
  std::lock_guard lock(contexts_mutex_);
  contexts_.push_back(context);
}

void Device::remove(Context* context) {
  std::lock_guard lock(contexts_mutex_);
  std::erase(contexts_, context);
}

void Device::at_exit() {
  // The application leaves without closing. What others can see goes; the rest goes with the process.
  if (forked_away() || !registry().mutex.try_lock()) return;
  for (Device* device : registry().devices) {
    device->progress_.stop_at_exit();
    if (device->stats_ != nullptr) device->stats_->remove_file();
  }
  registry().mutex.unlock();
}

int Device::start() {
  std::lock_guard lock(start_mutex_);
  if (engine_ != nullptr) return 0;
  if (failure_ != 0) return failure_;
  std::string error;
  int result = 0;
  try {
    result = failure_ = start_parts(&error);
  } catch (const std::bad_alloc&) {
    result = ENOMEM;  // there may be some later
  }
  if (result == 0) return 0;
  if (failure_ != 0) std::fprintf(stderr, "%s\n", error.c_str());
  progress_.stop();
  stats_.reset();
  engine_.reset();
  ports_.reset();
  return result;
}

int Device::start_parts(std::string* error) {
  DeviceConfig config;
  if (!load_device_config(&config, error)) return EINVAL;
  config.name = name_;
  if (config.network.has_real_ports()) {
    // DPDK starts once in a process, and what it has started cannot be taken over by a child.
    static const bool guarded = (guard_from_forks(), true);
    static_cast<void>(guarded);
  }
  choose_mtu(&config);
  ports_ = DevicePorts::open(config, error);
  if (ports_ == nullptr) return ENODEV;
  if (!random_.ready()) {
    *error = "mrc: the system gives no random numbers (getrandom), and keys must not be guessed; allow it";
    return ENOSYS;
  }
  EngineConfig engine;
  engine.first_qpn = ports_->first_qpn();
  engine.qpn_count = ports_->qpn_count();
  engine.seed = random_.next();
  engine.random = &random_;
  engine.transport = config.transport;
  engine.transport.datagram_bytes_max = config.mtu;
  engine.path_source = ports_->paths();
  engine.trace_events = config.trace_events;
  engine_ = std::make_unique<Engine>(engine, ports_->ports(), static_cast<EventSink*>(this));
  engine_->memory().set_pager(
      [](void* place, size_t bytes, bool writes) { return page_in(place, bytes, writes) == 0; });
  stats_ =
      std::make_unique<StatsWriter>(ports_->run_directory(), ports_->slot(), name_.c_str(), config.planes);
  const int result = progress_.start(engine_.get(), ports_.get(), stats_.get(), name_);
  if (result != 0) {
    *error = "mrc: " + name_ + " cannot start its thread; " + std::strerror(result) +
             "; raise the limit of processes";
  }
  return result;
}

void Device::stop() {
  std::lock_guard lock(start_mutex_);
  progress_.stop();
  stats_.reset();
  engine_.reset();
  ports_.reset();
  port_up_.store(true);
}

// --- what the engine tells, under the device's lock ---

void Device::completions(CompletionQueue& queue) {
  if (queue.owner == nullptr) {
    if (watcher_ != nullptr) watcher_->on_completions();
    return;
  }
  static_cast<Cq*>(queue.owner)->on_completions();
}

void Device::completion_queue_overrun(CompletionQueue& queue) {
  auto* cq = static_cast<Cq*>(queue.owner);
  if (cq == nullptr) return;
  cq->context->post_async(IBV_EVENT_CQ_ERR, &cq->verbs.cq);
}

void Device::queue_pair_event(QueuePair& queue_pair, QueuePairEvent event) {
  auto* qp = static_cast<Qp*>(queue_pair.config().owner);
  if (qp == nullptr) return;
  if (event == QueuePairEvent::kDrained && qp->attributes.en_sqd_async_notify == 0) return;
  qp->context->post_async(to_verbs(event), &qp->verbs.qp);
}

void Device::shared_receive_limit(SharedReceiveQueue& queue) {
  auto* srq = static_cast<Srq*>(queue.owner);
  srq->context->post_async(IBV_EVENT_SRQ_LIMIT_REACHED, &srq->verbs);
}

void Device::ports_changed(PlaneMask up) {
  const bool now_up = up != 0;
  if (port_up_.exchange(now_up) == now_up) return;
  std::lock_guard lock(contexts_mutex_);
  for (Context* context : contexts_)
    context->post_async(now_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, limits::kPort);
}

}  // namespace mrc::provider
