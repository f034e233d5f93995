// SPDX-License-Identifier: BSD-2-Clause
// Two connection managers under virtual time, with a network between them that may lose, repeat and delay
// messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "libmrc/cm/manager.h"

namespace mrc::cm {

using Kind = Event::Kind;

inline constexpr IpAddress kAddressA = IpAddress::v4(10, 0, 0, 1);
inline constexpr IpAddress kAddressB = IpAddress::v4(10, 0, 0, 2);
inline constexpr ServiceId kService = service_of(0x0106, 7174);
inline constexpr ServiceId kDatagrams = service_of(0x0111, 7174);
inline constexpr uint64_t kListener = 1000;

inline ManagerConfig config_of(uint32_t slot) {
  ManagerConfig config;
  config.slot = slot;
  config.guid = 0x100 + slot;
  config.seed = slot * 77;
  return config;
}

struct Side {
  Side(uint32_t number, const IpAddress& gid) : slot(number), manager(config_of(number)), address(gid) {}
  uint32_t slot;
  Manager manager;
  IpAddress address;
  std::vector<Event> events;

  size_t count(Kind kind) const {
    return static_cast<size_t>(
        std::count_if(events.begin(), events.end(), [kind](const Event& e) { return e.kind == kind; }));
  }
  const Event* first(Kind kind) const {
    for (const Event& event : events)
      if (event.kind == kind) return &event;
    return nullptr;
  }
  // As a process that was killed and started again.
  void restart(uint64_t seed) {
    ManagerConfig config = config_of(slot);
    config.seed = seed;
    std::destroy_at(&manager);
    std::construct_at(&manager, config);
  }
  size_t connections() const {
    size_t count = 0;
    manager.for_each([&count](const Connection&) { ++count; });
    return count;
  }
};

struct Network {
  Side a{1, kAddressA};
  Side b{2, kAddressB};
  Nanoseconds now = kSecond;
  unsigned loss_percent = 0;
  unsigned repeat_percent = 0;
  Nanoseconds delay_max = 0;
  std::mt19937_64 random{1};
  std::multimap<Nanoseconds, std::pair<Side*, Outgoing>> under_way;
  std::vector<Outgoing> seen;
  size_t lose = SIZE_MAX;  // the number of a message that gets lost
  bool automatic = true;   // both sides go on as programs do
  std::vector<uint8_t> reply_data{9, 8, 7};

  Network() {
    b.manager.listen({kService, {}, false, kListener});
    b.manager.listen({kDatagrams, {}, true, kListener + 1});
  }

  bool chance(unsigned percent) { return random() % 100 < percent; }

  void collect(Side& from, Side& to) {
    for (Outgoing& out : from.manager.take_outgoing()) {
      EXPECT_EQ(out.gids.local, from.address);
      EXPECT_EQ(out.gids.remote, to.address);
      seen.push_back(out);
      if (seen.size() - 1 == lose) continue;
      for (unsigned copies = chance(repeat_percent) ? 2 : 1; copies > 0; --copies) {
        if (chance(loss_percent)) continue;
        under_way.insert({now + 1000 + (delay_max > 0 ? random() % delay_max : 0), {&to, out}});
      }
    }
    for (Event& event : from.manager.take_events()) {
      if (automatic) react(from, event);
      from.events.push_back(std::move(event));
    }
  }

  void react(Side& side, const Event& event) {
    if (event.kind == Kind::kRequest || event.kind == Kind::kServiceRequest) {
      EndPoint here;
      here.qpn = Qpn{0x8000 + static_cast<uint32_t>(event.connection) % 1000};
      here.queue_key = 0x01234567;
      EXPECT_TRUE(side.manager.accept(event.connection, 2, here, reply_data, now));
    }
    if (event.kind == Kind::kReply) {
      EXPECT_TRUE(side.manager.ready(event.connection, {}));
    }
  }

  // Everything that happens within the span.
  void run(Nanoseconds span) {
    const Nanoseconds end = now + span;
    for (;;) {
      for (int round = 0; round < 4; ++round) {
        collect(a, b);
        collect(b, a);
      }
      Nanoseconds next = std::min(a.manager.next_deadline(), b.manager.next_deadline());
      if (!under_way.empty()) next = std::min(next, under_way.begin()->first);
      if (next > end) break;
      now = std::max(now, next);
      while (!under_way.empty() && under_way.begin()->first <= now) {
        auto [to, out] = under_way.begin()->second;
        under_way.erase(under_way.begin());
        to->manager.receive(out.mad, {out.gids.remote, out.gids.local}, now);
      }
      a.manager.on_time(now);
      b.manager.on_time(now);
    }
    now = end;
  }

  Manager::Call call(ServiceId service = kService) {
    Manager::Call call;
    call.service = service;
    call.addresses = {5555, kAddressA, kAddressB};
    call.gids = {kAddressA, kAddressB};
    call.here.qpn = Qpn{0x4001};
    call.here.first_psn = Psn{0x111};
    call.here.responder_resources = 4;
    call.here.initiator_depth = 2;
    call.owner = 1;
    return call;
  }
};

}  // namespace mrc::cm
