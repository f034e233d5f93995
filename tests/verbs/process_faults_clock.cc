// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_clock.h"

#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>

namespace process_faults {
namespace {

std::atomic<long> g_ahead{0};

bool is_time_of_day(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

}  // namespace

void jump_clock(long seconds) {
  g_ahead = seconds;
}

}  // namespace process_faults

// Sanitizers have these for themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

using GetTime = int (*)(clockid_t, timespec*);

// The C library's own.
int true_clock(clockid_t clock, timespec* time) {
  static std::atomic<GetTime> found{nullptr};
  GetTime get = found.load(std::memory_order_relaxed);
  if (get == nullptr) found = get = reinterpret_cast<GetTime>(dlsym(RTLD_NEXT, "clock_gettime"));
  return get(clock, time);
}

}  // namespace

// What the provider and DPDK call is this, for the program comes first when symbols are looked up.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = true_clock(clock, time);
  if (result == 0 && process_faults::is_time_of_day(clock)) time->tv_sec += process_faults::g_ahead;
  return result;
}

extern "C" int gettimeofday(timeval* time, void*) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* to) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

#endif
