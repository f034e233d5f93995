// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/device.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <vector>

#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/wire/interface_mtu.h"
#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/srq.h"

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

// More engines than CPUs would only take turns.
unsigned usable_cpus() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&usable)));
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
  for (Device* device : registry().devices)
    for (unsigned i = 0; i < device->shards(); ++i) device->shards_[i]->stop_at_exit();
  registry().mutex.unlock();
}

Device::Device(const char* name) : name_(name), settings_(device_settings(name)) {
  shards_[0] = new Shard(*this, 0);
}

int Device::start() {
  std::lock_guard lock(start_mutex_);
  if (shards() != 0) return 0;
  if (failure_ != 0) return failure_;
  std::string error;
  int result = 0;
  try {
    result = failure_ = start_first(&error);
  } catch (const std::bad_alloc&) {
    result = ENOMEM;  // there may be some later
  }
  if (result == 0) return 0;
  if (failure_ != 0) std::fprintf(stderr, "%s\n", error.c_str());
  first().stop();
  return result;
}

int Device::start_first(std::string* error) {
  config_ = {};
  if (!load_device_config(name_, &config_, error)) return EINVAL;
  if (config_.network.any_port(&PortConfig::is_own_ethdev)) {
    // DPDK starts once in a process, and what it has started cannot be taken over by a child.
    static const bool guarded = (guard_from_forks(), true);
    static_cast<void>(guarded);
  }
  choose_mtu(&config_);
  // A real port belongs to one engine.
  if (config_.engines == 0) config_.engines = std::min(usable_cpus(), kShardsMax);
  shards_most_ = config_.network.has_real_ports() ? 1 : config_.engines;
  faults_.open();
  if (const int result = first().open(config_, error); result != 0) return result;
  if (const int result = first().run(error); result != 0) return result;
  memory_.enter(first());  // and is used from here on
  faults_.follow();
  return 0;
}

void Device::stop() {
  std::lock_guard lock(start_mutex_);
  const unsigned count = running_.exchange(0);
  for (unsigned i = 0; i < count; ++i) shards_[i]->stop();
  lanes_ = {};
  lanes_used_ = 0;
  port_up_.store(true);
  ports_up_.store(~PlaneMask{0});
}

void Device::set_ports_up(PlaneMask up) {
  ports_up_.store(up);
  set_port_up(up != 0);
}

PlaneMask Device::ports_enabled() {
  const PlaneMask all = (PlaneMask{1} << settings_.planes) - 1;
  int why = 0;
  const ControlPage* page = control(&why);
  return page != nullptr ? all & ~page->ports_disabled() : all;
}

// It stays as long as the process: threads may look at it without a lock.
ControlPage* Device::control(int* why) {
  std::lock_guard lock(control_mutex_);
  std::string error;
  if (control_ != nullptr) return control_.get();
  if ((*why = ControlPage::open(&control_, &error, page_suffix(settings_))) != 0) return nullptr;
  control_->set_ports(((uint32_t{1} << settings_.planes) - 1) << 1);
  return control_.get();
}

void Device::follow_faults() {
  faults_.follow();
  for (unsigned i = 0; i < shards(); ++i) {
    Progress::Control control(shards_[i]->progress());
    shards_[i]->follow_faults();
  }
}

void Device::raise(uint32_t event, uint32_t qpn) {
  std::lock_guard lock(contexts_mutex_);
  for (Context* context : contexts_) context->raise(static_cast<ibv_event_type>(event), qpn);
}

void Device::set_port_up(bool up) {
  if (port_up_.exchange(up) == up) return;
  std::lock_guard lock(contexts_mutex_);
  for (Context* context : contexts_)
    context->post_async(up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, limits::kPort);
}

Shard& Device::shard_of(Qpn qpn) {
  for (unsigned i = 1; i < shards(); ++i) {
    const uint32_t first = shards_[i]->ports().first_qpn().value();
    if (qpn.value() >= first && qpn.value() - first < shards_[i]->ports().qpn_count()) return *shards_[i];
  }
  return first();
}

// --- which shard ---

unsigned Device::lane_of_this_thread() {
  static std::atomic<unsigned> next{0};
  static thread_local const unsigned lane = next.fetch_add(1) % kLanes;
  return lane;
}

// Null: there is none, and then those that are there must do.
Shard* Device::one_more() {
  const unsigned index = shards();
  if (index >= shards_most_) return nullptr;
  if (shards_[index] == nullptr) shards_[index] = new (std::nothrow) Shard(*this, index);
  Shard* shard = shards_[index];
  if (shard == nullptr) return nullptr;
  std::string error;
  try {
    // Others see it as soon as it has the memory of all; nobody uses it yet.
    if (shard->open(config_, &error) == 0 && shard->run(&error) == 0 && memory_.enter(*shard)) {
      flows_.enter(*shard);
      return shard;
    }
  } catch (const std::bad_alloc&) {
  }
  shard->stop();
  return nullptr;
}

Shard& Device::shard_of_lane(unsigned lane) {
  std::optional<unsigned>& place = lanes_[lane];
  if (!place) {
    place = lanes_used_++;
    if (*place > 0) one_more();
  }
  return *shards_[*place % shards()];
}

// A queue that nobody used belongs where it is first used. One that is used elsewhere takes completions from
// both.
void Device::settle_locked(Cq& queue, Shard& shard) {
  const uint32_t from = queue.shards.load();
  if (from == 0) {
    queue.home.store(&shard);
    queue.shards.store(shard.bit());
    return;
  }
  if ((from & shard.bit()) != 0) return;
  if (!queue.ring.shared()) {
    Progress::Control control(queue.home.load()->progress());  // the only one that pushes
    queue.ring.share(kShardsMax);
  }
  queue.shards.store(from | shard.bit());
}

void Device::settle(Cq& queue, Shard& shard) {
  std::lock_guard lock(settle_mutex_);
  settle_locked(queue, shard);
}

Shard& Device::settle(Cq& send, Cq& receive, Srq* shared) {
  std::lock_guard lock(settle_mutex_);
  Shard* shard = shared != nullptr ? shared->shard.load() : nullptr;
  if (shard == nullptr) shard = send.shards.load() != 0 ? send.home.load() : &shard_of_lane(send.lane);
  if (shared != nullptr) shared->shard.store(shard);
  settle_locked(send, *shard);
  settle_locked(receive, *shard);
  return *shard;
}

Shard& Device::settle_in_first(Cq& send, Cq& receive) {
  std::lock_guard lock(settle_mutex_);
  settle_locked(send, first());
  settle_locked(receive, first());
  return first();
}

void Device::help_others(const Shard& own, Nanoseconds now_if_known) {
  const unsigned count = shards();
  if (count < 2) return;
  const Nanoseconds now = now_if_known != 0 ? now_if_known : clock_now();
  for (unsigned i = 0; i < count; ++i) {
    Shard& other = *shards_[i];
    if (&other != &own && other.progress().neglected(now)) other.progress().drive();
  }
}

}  // namespace mrc::provider
