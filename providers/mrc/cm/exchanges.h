// SPDX-License-Identifier: BSD-2-Clause
// The connection managers of this process, one for each device of the settings. Each runs when its device is
// first used.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "providers/mrc/cm/exchange.h"
#include "providers/mrc/cm/host_gids.h"

namespace mrc::provider {

class Exchanges {
 public:
  using Deliver = std::function<void(Exchange&, const cm::Event&)>;

  // Everything here is called under `mutex`, but for drive() and say_good_bye(). `deliver` is, too.
  Exchanges(std::mutex& mutex, Deliver deliver) : mutex_(mutex), deliver_(std::move(deliver)) {}
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  // Looks at the settings, before anything else is asked; the second time it does nothing.
  void open();
  HostGids& gids() { return *gids_; }
  Exchange& of(size_t device) { return *all_[device]; }
  const std::vector<std::unique_ptr<Exchange>>& all() const { return all_; }

  // One that runs; null: none does.
  Exchange* any_running() const;
  void flush(Nanoseconds now);
  void stop_when_idle();
  // Lets the engines send at once. Under no lock.
  void drive();
  // The process ends: says good-bye to all peers, and waits a moment for their answers. Takes the mutex.
  void say_good_bye();

 private:
  bool all_quiet() const;

  std::mutex& mutex_;
  const Deliver deliver_;
  std::optional<HostGids> gids_;
  std::vector<std::unique_ptr<Exchange>> all_;  // by their place in the settings
};

}  // namespace mrc::provider
