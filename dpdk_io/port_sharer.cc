// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/port_sharer.h"

#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/ethdev/eal_needs.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/host/short_slices.h"
#include "dpdk_io/share/frame_gate.h"
#include "dpdk_io/share/frame_switch.h"
#include "dpdk_io/share/share_server.h"
#include "dpdk_io/shared_wires.h"
#include "dpdk_io/wire/host_map.h"

namespace mrc {
namespace {

// It polls on for so long after the last frame, and then naps: the longer nothing has come, the longer.
constexpr Nanoseconds kPollOn = 20 * kMicrosecond;
constexpr std::chrono::milliseconds kIdleWait{100};  // without programs

Nanoseconds nap_after(Nanoseconds idle) {
  if (idle > kSecond) return kMillisecond;
  return idle > 20 * kMillisecond ? 200 * kMicrosecond : 20 * kMicrosecond;
}

// Names or numbers. False: `error` names the one that is not known.
bool find_users(const ShareUsers& users, std::vector<uid_t>* found, std::string* error) {
  found->push_back(geteuid());
  for (const std::string& name : users.names) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(name.c_str(), &end, 10);
    if (*end == '\0' && name[0] >= '0' && name[0] <= '9') {
      found->push_back(static_cast<uid_t>(number));
    } else if (const passwd* entry = getpwnam(name.c_str())) {
      found->push_back(entry->pw_uid);
    } else {
      *error = "mrc: \"users\" in [mrcd] names \"" + name + "\", and there is no such user";
      return false;
    }
  }
  return true;
}

}  // namespace

// Two threads: one turns the switch, the other does all that may take its time: the kernel makes whoever
// opens or closes a packet socket wait, and memory is mapped and unmapped.
class PortSharer::Impl {
 public:
  ~Impl() {
    switch_.reset();  // before what it switches between
  }
  bool open(const DeviceConfig& config, const Place& place, std::string* error);
  void run(const std::atomic<bool>& stop);

 private:
  using Change = std::function<void()>;

  void take_ports();
  // Makes a change to the switch between two of its turns, and waits for that.
  void change_switch(const Change& change);
  // The other side of it.
  void turn_switch();
  void make_change();
  void wait_for_change();

  std::vector<uid_t> users_;
  std::unique_ptr<ControlLoop> loop_;
  std::unique_ptr<SharedWires> wires_;
  std::unique_ptr<HostMap> hosts_;
  std::unique_ptr<FrameGate> gate_;
  std::unique_ptr<FrameSwitch> switch_;
  std::unique_ptr<ShareServer> server_;

  bool turning_ = false;  // there is a thread that turns the switch
  std::atomic<bool> stop_turning_{false};
  std::atomic<bool> change_waits_{false};
  std::mutex change_mutex_;
  std::condition_variable change_made_;
  std::condition_variable change_asked_;
  const Change* change_ = nullptr;
};

bool PortSharer::Impl::open(const DeviceConfig& config, const Place& place, std::string* error) {
  if (!find_users(config.share_users, &users_, error)) return false;
  if (config.network.any_port(&PortConfig::is_shared_ethdev) &&
      !start_eal(error, eal_needs_of(config, &PortConfig::is_shared_ethdev)))
    return false;
  loop_ = ControlLoop::open(error);
  if (loop_ == nullptr) return false;
  wires_ = SharedWires::open(config, *loop_, error);
  if (wires_ == nullptr) return false;
  const auto is_local = [this](const IpAddress& address) { return wires_->is_local(address); };
  hosts_ = std::make_unique<HostMap>(config.network, is_local);
  gate_ = std::make_unique<FrameGate>(
      FrameGate::Rules{is_local, [this](Plane plane) { return hosts_->outer_source(plane); }});
  switch_ = std::make_unique<FrameSwitch>(*gate_);
  for (const SharedWires::Wire& wire : wires_->wires()) switch_->add_wire(wire.config->plane, *wire.carrier);
  ShareServer::Config serving;
  serving.socket = place.socket;
  serving.path = place.ledger;
  serving.per_user = place.per_user;
  serving.admits = [this, all = config.share_users.all](uid_t user) {
    return all || std::find(users_.begin(), users_.end(), user) != users_.end();
  };
  serving.on_host = claim_on_host;
  serving.hold_on_host = hold_on_host;
  serving.joined = [this](ShareServer::Client& client) {
    change_switch([&] { switch_->add_program(client.slot, client.end); });
  };
  serving.leaving = [this](ShareServer::Client& client) {
    change_switch([&] { switch_->remove_program(client.slot, monotonic_now()); });
  };
  server_ = ShareServer::open(serving, error);
  if (server_ == nullptr) return false;
  wires_->on_change([this] { take_ports(); });
  take_ports();
  return true;
}

void PortSharer::Impl::take_ports() {
  const SharedPorts ports = wires_->ports();
  if (ports == server_->ports()) return;
  change_switch([&] {
    for (Plane plane = 0; plane < kPlanesMax; ++plane) switch_->set_up(plane, (ports.up >> plane & 1) != 0);
  });
  server_->set_ports(ports);
}

void PortSharer::Impl::run(const std::atomic<bool>& stop) {
  // Signals are for this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  turning_ = true;
  std::thread turner([this] { turn_switch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (!stop.load(std::memory_order_relaxed)) {
    pollfd files[] = {{server_->event_fd(), POLLIN, 0}, {loop_->fd(), POLLIN, 0}};
    poll(files, 2, static_cast<int>(kIdleWait.count()));
    const Nanoseconds now = monotonic_now();
    loop_->run(now);
    server_->service(now);
  }
  stop_turning_.store(true);
  turner.join();
  turning_ = false;
}

void PortSharer::Impl::change_switch(const Change& change) {
  if (!turning_) return change();
  std::unique_lock lock(change_mutex_);
  change_ = &change;
  change_waits_.store(true, std::memory_order_release);
  change_asked_.notify_one();
  change_made_.wait(lock, [this] { return change_ == nullptr; });
}

void PortSharer::Impl::make_change() {
  const std::lock_guard lock(change_mutex_);
  change_waits_.store(false, std::memory_order_relaxed);
  if (change_ == nullptr) return;
  (*change_)();
  change_ = nullptr;
  change_made_.notify_one();
}

void PortSharer::Impl::wait_for_change() {
  std::unique_lock lock(change_mutex_);
  change_asked_.wait_for(lock, kIdleWait, [this] { return change_ != nullptr; });
}

void PortSharer::Impl::turn_switch() {
  prctl(PR_SET_TIMERSLACK, 1);
  ask_for_short_slices();
  Nanoseconds last_frame = 0;
  bool napped = true;
  while (!stop_turning_.load(std::memory_order_relaxed)) {
    if (change_waits_.load(std::memory_order_acquire)) make_change();
    const Nanoseconds now = monotonic_now();
    const bool moved = switch_->turn(now, napped) > 0;
    napped = false;
    if (moved) {
      last_frame = now;
    } else if (switch_->program_count() == 0) {
      wait_for_change();
    } else if (now >= last_frame + kPollOn) {
      // Not a yield: who yields to somebody that computes gets the CPU back late, who wakes up at once.
      const timespec span{0, static_cast<long>(nap_after(now - last_frame))};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
      napped = true;
    }
  }
}

std::unique_ptr<PortSharer> PortSharer::open(const DeviceConfig& config, const Place& place,
                                             std::string* error) {
  auto impl = std::make_unique<Impl>();
  if (!impl->open(config, place, error)) return nullptr;
  return std::unique_ptr<PortSharer>(new PortSharer(std::move(impl)));
}

PortSharer::PortSharer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PortSharer::~PortSharer() = default;

void PortSharer::run(const std::atomic<bool>& stop) {
  impl_->run(stop);
}

}  // namespace mrc
