// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/ping_pong.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

constexpr uint64_t kEnd = UINT64_MAX;  // in a small frame: the run is over

// The answer to a ping. False: none comes.
bool wait_for_answer(Carrier& carrier, Idle& idle) {
  RxFrame frame;
  double give_up = 0;
  for (unsigned polls = 1; carrier.receive({&frame, 1}) == 0; ++polls) {
    idle();
    if (polls % 4096 != 0) continue;
    if (give_up == 0) give_up = seconds_now() + kIdleEnd;
    if (seconds_now() > give_up) return false;
  }
  carrier.release({&frame, 1});
  return true;
}

}  // namespace

void send_small(Carrier& carrier, const MacAddress& to, uint64_t number) {
  TxFrame frame;
  if (carrier.acquire({&frame, 1}) != 1) return;
  std::memcpy(frame.data, to.bytes.data(), 6);
  std::memcpy(frame.data + 16, &number, sizeof number);
  frame.length = kSmallFrameBytes;
  carrier.transmit({&frame, 1});
}

uint64_t number_in(const RxFrame& frame) {
  uint64_t number = 0;
  std::memcpy(&number, frame.data + 16, sizeof number);
  return number;
}

void send_end(Carrier& carrier, const MacAddress& to) {
  for (const double until = seconds_now() + 1; seconds_now() < until; sched_yield()) {
    if (carrier.transmit_room(to) == 0) continue;
    send_small(carrier, to, kEnd);
    return;
  }
}

bool print_half_round_trip(Carrier& carrier, const MacAddress& to, double seconds, bool yields) {
  Idle idle(yields);
  std::vector<float> trips;
  trips.reserve(1 << 20);
  const double start = seconds_now();
  for (double now = start; now - start < seconds && trips.size() < trips.capacity();) {
    const double sent = now;
    send_small(carrier, to, trips.size());
    if (!wait_for_answer(carrier, idle)) return false;
    now = seconds_now();
    trips.push_back(static_cast<float>(now - sent));
  }
  const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2);
  std::nth_element(trips.begin(), middle, trips.end());
  std::printf("%.3f\n", *middle / 2 * 1e6);
  send_end(carrier, to);
  return true;
}

void answer_pings(Carrier& carrier, bool yields) {
  Idle idle(yields);
  double last = seconds_now() + 5;
  for (uint64_t round = 0; round % 1024 != 0 || seconds_now() < last + kIdleEnd; ++round) {
    RxFrame frame;
    if (carrier.receive({&frame, 1}) == 0) {
      idle();
      continue;
    }
    const uint64_t number = number_in(frame);
    MacAddress back;
    std::memcpy(back.bytes.data(), frame.data + 6, 6);
    carrier.release({&frame, 1});
    if (number == kEnd) return;
    send_small(carrier, back, 0);
    last = seconds_now();
  }
}

}  // namespace mrc::bench
