// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/exchanges.h"

#include <unistd.h>

#include <algorithm>

#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

constexpr Nanoseconds kGoodByePatience = 200 * kMillisecond;

}  // namespace

void Exchanges::open() {
  if (!all_.empty()) return;
  std::vector<std::unique_ptr<Exchange>> all;
  HostGids& gids = gids_.emplace();
  for (size_t i = 0; i < all_device_settings().size(); ++i)
    all.push_back(std::make_unique<Exchange>(
        mutex_, gids, i, [this, i](const cm::Event& event) { deliver_(*all_[i], event); }));
  all_ = std::move(all);
}

Exchange* Exchanges::any_running() const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [](const auto& exchange) { return exchange->running(); });
  return found == all_.end() ? nullptr : found->get();
}

void Exchanges::flush(Nanoseconds now) {
  for (const auto& exchange : all_)
    if (exchange->running()) exchange->flush(now);
}

void Exchanges::stop_when_idle() {
  for (const auto& exchange : all_) exchange->stop_when_idle();
}

void Exchanges::drive() {
  for (const auto& exchange : all_) exchange->drive();
}

bool Exchanges::all_quiet() const {
  return std::all_of(all_.begin(), all_.end(),
                     [](const auto& exchange) { return !exchange->running() || exchange->quiet(); });
}

void Exchanges::say_good_bye() {
  const Nanoseconds until = clock_now() + kGoodByePatience;
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock()) {
    // Somebody may have ended the process while he held it.
    if (clock_now() > until) return;
    usleep(1000);
  }
  for (const auto& exchange : all_)
    if (exchange->running()) exchange->release_all(clock_now());
  while (!all_quiet() && clock_now() < until) {
    lock.unlock();
    drive();
    usleep(500);
    lock.lock();
  }
}

}  // namespace mrc::provider
