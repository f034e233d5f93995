// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/exchange.h"

#include <infiniband/verbs.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/settings/device_config.h"
#include "libmrc/cm/target.h"
#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

constexpr Nanoseconds kPeerLookInterval = 200 * kMillisecond;  // do the peers live?
constexpr Nanoseconds kTryAgain = kMillisecond;
constexpr Nanoseconds kListenerPatience = 500 * kMillisecond;
constexpr Nanoseconds kListenerInterval = 5 * kMillisecond;
constexpr size_t kUnclaimedMax = 256;

// IBTA code of an MTU: 256 is 1, 4096 is 5.
uint8_t mtu_code(uint32_t bytes) {
  uint8_t code = 1;
  while (code < 5 && (128u << (code + 1)) <= bytes) ++code;
  return code;
}

// As the class tree says, because librdmacm compares it with that.
uint64_t find_guid(const DeviceConfig& device) {
  uint64_t guid = 0;
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i)
    if (device.name == ibv_get_device_name(devices[i])) guid = be64toh(ibv_get_device_guid(devices[i]));
  if (devices != nullptr) ibv_free_device_list(devices);
  return guid != 0 ? guid : read_gid_table(device).node_guid();
}

}  // namespace

Exchange::Exchange(std::mutex& mutex, HostGids& host, size_t index,
                   std::function<void(const cm::Event&)> deliver)
    : mutex_(mutex), host_(host), index_(index), disconnects_(std::move(deliver)) {}

uint64_t Exchange::guid() {
  if (guid_ == 0) guid_ = find_guid(all_device_settings()[index_]);
  return guid_;
}

int Exchange::start() {
  stop_when_idle_ = false;
  if (running()) return 0;
  DeviceConfig config;
  std::string error;
  if (!load_device_config(all_device_settings()[index_].name, &config, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return EINVAL;
  }
  if (wake_fd_ < 0) wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return errno;
  device_ = Device::open(config.name.c_str());
  if (const int failure = device_->start(); failure != 0) {
    device_->close();
    return failure;
  }
  service_ = std::make_unique<GeneralService>(*device_, [this] { wake(); });
  if (!service_->open()) {
    service_.reset();
    device_->close();
    return EBUSY;
  }
  cm::ManagerConfig manager;
  manager.slot = device_->ports().slot();
  manager.guid = guid();
  manager.mtu = mtu_code(config.mtu);
  manager.random = &random_;
  ports_ = std::make_unique<PortRegistry>(device_->ports().run_directory(), manager.slot,
                                          static_cast<uint32_t>(index_));
  manager_ = std::make_unique<cm::Manager>(manager);
  if (thread_runs_) return 0;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int result = pthread_create(
      &thread, nullptr,
      [](void* self) -> void* {
        static_cast<Exchange*>(self)->run();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result != 0) {
    stop();
    return result;
  }
  pthread_detach(thread);
  thread_runs_ = true;
  return 0;
}

void Exchange::stop() {
  ports_->remove_all();
  ports_.reset();
  manager_.reset();
  service_.reset();
  waiting_.clear();
  early_.clear();
  unclaimed_.clear();
  disconnects_.clear();
  device_->close();
  device_ = nullptr;
}

void Exchange::drive() {
  Device* device;
  {
    std::lock_guard lock(mutex_);
    device = device_;
    // Another thread may stop() meanwhile; the engine must not go while this one is in it.
    if (device != nullptr) device->open_again();
  }
  if (device == nullptr) return;
  device->progress().drive();
  device->close();
}

// --- sending ---

void Exchange::flush(Nanoseconds now) {
  settle(now);
  wake();  // deadlines may have changed
}

void Exchange::settle(Nanoseconds now) {
  // What is refused locally, and who is told about it, may make the manager speak again.
  for (bool more = true; more;) {
    more = false;
    for (const cm::Outgoing& out : manager_->take_outgoing()) {
      send(out, now);
      more = true;
    }
    for (const cm::Event& event : manager_->take_events()) {
      tell(event, now);
      more = true;
    }
  }
  while (!waiting_.empty()) {
    const cm::Outgoing& out = waiting_.front();
    if (!service_->send(out, slot_for(out, now))) break;
    waiting_.pop_front();
  }
}

void Exchange::tell(const cm::Event& event, Nanoseconds now) {
  const cm::Connection* connection = manager_->find(event.connection);
  disconnects_.take(event, connection != nullptr ? connection->here.qpn : Qpn{}, *device_, now);
}

// Which process of this host, and which device of it, a message is for; 0: none that is known. All there is
// to finding the right QP 1.
uint32_t Exchange::slot_for(const cm::Target& target, size_t device, Nanoseconds now) const {
  switch (target.kind) {
    case cm::Target::Kind::kProcess:
      return target.slot;
    case cm::Target::Kind::kService:
      return ports_->find_listener(target.service, target.address, static_cast<uint32_t>(device), now);
    default:
      return 0;
  }
}

uint32_t Exchange::slot_for(const cm::Outgoing& out, Nanoseconds now) const {
  const auto device = host_.owner_of(out.gids.remote, index_, now);
  return device ? slot_for(out.target, *device, now) : 0;
}

void Exchange::send(const cm::Outgoing& out, Nanoseconds now) {
  const bool to_this_host = host_.owner_of(out.gids.remote, index_, now).has_value();
  const uint32_t slot = slot_for(out, now);
  if (to_this_host && slot == 0) return keep_for_late_listener(out, now);
  if (waiting_.empty() && service_->send(out, slot)) return;
  // What others can make us say does not pile up.
  if (!out.to_stranger) waiting_.push_back(out);
}

// Programs agree by other means that the server listens now, and the client is sometimes quicker.
void Exchange::keep_for_late_listener(const cm::Outgoing& out, Nanoseconds now) {
  const auto message = cm::decode(out.mad);
  const bool request = std::holds_alternative<cm::Request>(message->body) ||
                       std::holds_alternative<cm::ServiceRequest>(message->body);
  Nanoseconds until = now + kListenerPatience;
  // A repetition does not get more time; anything else takes the request back.
  std::erase_if(early_, [&](const Early& early) {
    const bool same = cm::decode(early.out.mad)->transaction == message->transaction;
    if (same) until = early.until;
    return same;
  });
  if (request) early_.push_back({out, until});
}

void Exchange::look_for_late_listeners(Nanoseconds now) {
  for (const Early& early : std::exchange(early_, {})) {
    if (slot_for(early.out, now) != 0)
      send(early.out, now);
    else if (now < early.until)
      early_.push_back(early);
    else
      refuse_locally(early.out, now);
  }
}

// There is no process that would say it, so we do: nobody listens.
void Exchange::refuse_locally(const cm::Outgoing& out, Nanoseconds now) {
  const auto message = cm::decode(out.mad);
  const cm::GidPair& gids = out.gids;
  if (const auto* request = std::get_if<cm::Request>(&message->body)) {
    cm::Rejection rejection;
    rejection.remote = request->local;
    rejection.reason = cm::RejectReason::kInvalidServiceId;
    manager_->receive(cm::encode({message->transaction, rejection}), gids, now);
  } else if (const auto* service = std::get_if<cm::ServiceRequest>(&message->body)) {
    cm::ServiceReply reply;
    reply.request = service->request;
    reply.service = service->service;
    reply.status = cm::ServiceStatus::kUnsupported;
    manager_->receive(cm::encode({message->transaction, reply}), gids, now);
  }
}

// --- the thread ---

void Exchange::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

// When the next one is due.
Nanoseconds Exchange::turn_if_running() {
  std::lock_guard lock(mutex_);
  if (!running()) return kNever;
  const Nanoseconds now = clock_now();
  turn(now);
  Nanoseconds next = manager_->next_deadline();
  if (!waiting_.empty() || !disconnects_.empty()) next = std::min(next, now + kTryAgain);
  if (!early_.empty() || !unclaimed_.empty()) next = std::min(next, now + kListenerInterval);
  if (stop_when_idle_ && quiet()) stop();
  return next;
}

void Exchange::run() {
  pthread_setname_np(pthread_self(), "mrc-cm");
  for (;;) {
    Nanoseconds next = kNever;
    try {
      next = turn_if_running();
    } catch (const std::bad_alloc&) {
      next = clock_now() + kTryAgain;  // what was not sent is repeated
    }
    drive();
    const Nanoseconds now = clock_now();
    const Nanoseconds span = next <= now ? 0 : std::min(next - now, kPeerLookInterval);
    const timespec time{static_cast<time_t>(span / kSecond), static_cast<long>(span % kSecond)};
    pollfd file{wake_fd_, POLLIN, 0};
    ppoll(&file, 1, &time, nullptr);
    uint64_t count;
    while (::read(wake_fd_, &count, sizeof count) > 0) {
    }
  }
}

// Processes that share a port all hear what comes for QP 1 from another host; the one that is meant takes it.
void Exchange::arrived(std::span<const uint8_t> mad, const cm::GidPair& gids, Nanoseconds now) {
  const cm::Target target = cm::target_of(mad);
  const uint32_t slot = slot_for(target, index_, now);
  if (target.kind == cm::Target::Kind::kService && slot == 0) {
    // As with requests from this host: the listener may come a little later.
    const Unclaimed request{{mad.begin(), mad.end()}, gids, now + kListenerPatience};
    const bool repeated = std::any_of(unclaimed_.begin(), unclaimed_.end(),
                                      [&](const Unclaimed& known) { return known.mad == request.mad; });
    if (!repeated && unclaimed_.size() < kUnclaimedMax) unclaimed_.push_back(request);
  } else if (slot == device_->ports().slot() || (slot == 0 && hears_all(target))) {
    manager_->receive(mad, gids, now);
  }
}

// What is for no process in particular one of them answers. Of those who give up before they know whom they
// have asked all must hear; that is not answered.
bool Exchange::hears_all(const cm::Target& target) const {
  return target.kind == cm::Target::Kind::kAsked || device_->ports().speaks_for_host();
}

void Exchange::look_for_claims(Nanoseconds now) {
  for (const Unclaimed& request : std::exchange(unclaimed_, {})) {
    const uint32_t slot = slot_for(cm::target_of(request.mad), index_, now);
    if (slot == 0 && now < request.until)
      unclaimed_.push_back(request);
    else if (slot == device_->ports().slot() || (slot == 0 && device_->ports().speaks_for_host()))
      manager_->receive(request.mad, request.gids, now);  // 0: to be refused
  }
}

void Exchange::turn(Nanoseconds now) {
  service_->poll([&](std::span<const uint8_t> mad, const cm::GidPair& gids) { arrived(mad, gids, now); });
  look_for_claims(now);
  manager_->on_time(now);
  look_for_late_listeners(now);
  disconnects_.release(*device_, now);
  if (now >= next_look_) {
    look_for_the_dead(now);
    next_look_ = now + kPeerLookInterval;
  }
  settle(now);
}

// A process that was killed does not say good-bye, and nobody does it for it.
void Exchange::look_for_the_dead(Nanoseconds now) {
  std::vector<cm::CommunicationId> lost;
  std::vector<std::pair<uint32_t, bool>> known;
  manager_->for_each([&](const cm::Connection& connection) {
    if (connection.remote == cm::CommunicationId{} || connection.state == cm::State::kIdle ||
        connection.state == cm::State::kTimeWait || !host_.owner_of(connection.gids.remote, index_, now))
      return;
    const uint32_t slot = cm::slot_of(connection.remote);
    auto found = std::find_if(known.begin(), known.end(), [slot](const auto& k) { return k.first == slot; });
    if (found == known.end())
      found = known.insert(known.end(), {slot, slot_alive(device_->ports().run_directory(), slot)});
    if (!found->second) lost.push_back(connection.local);
  });
  for (const cm::CommunicationId id : lost) manager_->lost(id, now);
}

bool Exchange::quiet() const {
  bool quiet = waiting_.empty();
  manager_->for_each([&quiet](const cm::Connection& connection) {
    if (connection.state != cm::State::kIdle && connection.state != cm::State::kTimeWait &&
        connection.state != cm::State::kServiceReplied)
      quiet = false;
  });
  return quiet;
}

void Exchange::release_all(Nanoseconds now) {
  stop_when_idle_ = false;  // the process does that
  std::vector<cm::CommunicationId> all;
  manager_->for_each([&all](const cm::Connection& connection) { all.push_back(connection.local); });
  for (const cm::CommunicationId id : all) manager_->release(id, now);
  flush(now);
  ports_->remove_all();
}

}  // namespace mrc::provider
