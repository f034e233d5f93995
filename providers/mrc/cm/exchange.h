// SPDX-License-Identifier: BSD-2-Clause
// The connection manager of this process at work on one device: the sans-I/O manager, QP 1, the registry of
// ports, and the thread that brings time and messages to it.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "libmrc/cm/manager.h"
#include "providers/mrc/cm/general_service.h"
#include "providers/mrc/cm/held_disconnects.h"
#include "providers/mrc/cm/host_gids.h"
#include "providers/mrc/cm/port_registry.h"
#include "providers/mrc/verbs/device.h"
#include "providers/mrc/verbs/system_random.h"

namespace mrc::provider {

class Exchange {
 public:
  // Everything here is called under `mutex`, but for drive(). `deliver` is, too.
  // `index`: the device's place in the settings.
  Exchange(std::mutex& mutex, HostGids& host, size_t index, std::function<void(const cm::Event&)> deliver);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Starts the device and its QP 1; 0 or an errno. Does nothing if it runs.
  int start();
  bool running() const { return manager_ != nullptr; }
  // Nobody uses it any more: it ends as soon as nothing is left to be said to others.
  void stop_when_idle() { stop_when_idle_ = true; }

  // Only while running. After anything that made the manager speak or wait, flush().
  cm::Manager& manager() { return *manager_; }
  PortRegistry& ports() { return *ports_; }
  void flush(Nanoseconds now);
  // Nothing waits for an answer of somebody else.
  bool quiet() const;
  // The process ends: good-bye to all peers.
  void release_all(Nanoseconds now);

  LocalGids& gids() { return host_.of(index_); }
  uint64_t guid();  // of the device, as programs see it

  // Lets the engine send at once. Under no lock.
  void drive();

 private:
  void run();
  Nanoseconds turn_if_running();
  void wake();
  void turn(Nanoseconds now);
  void arrived(std::span<const uint8_t> mad, const cm::GidPair& gids, Nanoseconds now);
  bool hears_all(const cm::Target& target) const;
  void look_for_claims(Nanoseconds now);
  void settle(Nanoseconds now);
  void tell(const cm::Event& event, Nanoseconds now);
  void send(const cm::Outgoing& out, Nanoseconds now);
  uint32_t slot_for(const cm::Target& target, size_t device, Nanoseconds now) const;
  uint32_t slot_for(const cm::Outgoing& out, Nanoseconds now) const;
  void keep_for_late_listener(const cm::Outgoing& out, Nanoseconds now);
  void look_for_late_listeners(Nanoseconds now);
  void refuse_locally(const cm::Outgoing& out, Nanoseconds now);
  void look_for_the_dead(Nanoseconds now);
  void stop();

  std::mutex& mutex_;
  HostGids& host_;
  const size_t index_;
  HeldDisconnects disconnects_;
  SystemRandom random_;
  Device* device_ = nullptr;
  std::unique_ptr<cm::Manager> manager_;
  std::unique_ptr<GeneralService> service_;
  std::unique_ptr<PortRegistry> ports_;
  std::deque<cm::Outgoing> waiting_;  // for room in the send queue
  // Requests to this host for which nobody listens yet.
  struct Early {
    cm::Outgoing out;
    Nanoseconds until;
  };
  std::vector<Early> early_;
  // Requests from other hosts for which nobody listens yet.
  struct Unclaimed {
    std::vector<uint8_t> mad;
    cm::GidPair gids;
    Nanoseconds until;
  };
  std::vector<Unclaimed> unclaimed_;
  uint64_t guid_ = 0;
  int wake_fd_ = -1;
  bool thread_runs_ = false;
  bool stop_when_idle_ = false;
  Nanoseconds next_look_ = 0;
};

}  // namespace mrc::provider
