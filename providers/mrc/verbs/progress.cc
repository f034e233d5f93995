// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/progress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "dpdk_io/host/cancellation.h"
#include "dpdk_io/host/short_slices.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/shard.h"

namespace mrc::provider {
namespace {

// An application thread that has not run the engine for so long does not poll.
constexpr Nanoseconds kHandOver = 50 * kMicrosecond;
// So many frames, and reading the clock once more costs nothing beside them.
constexpr size_t kLongTurn = 8;
// Who posts in answer to what it has just received, and then polls, need not look at the ports in between.
constexpr Nanoseconds kLookInterval = 10 * kMicrosecond;
// The longer one has polled without a break, the less often the background thread looks whether it still
// does: on a CPU that both share each look costs two changes of thread, and where pollers share one it tears
// a whole round trip apart.
constexpr Nanoseconds kWatchMax = kMillisecond;
constexpr Nanoseconds kWatchStep = 5 * kMicrosecond;
constexpr Nanoseconds kWatchWakes = 200 * kMicrosecond;  // naps so long can be broken off
// Naps while queue pairs are connected: nobody else may be looking at the ports. The longer nothing has come,
// the less an arrival is expected; naps of 50 us for ever would cost a tenth of a CPU.
struct Nap {
  Nanoseconds idle;  // for so long
  Nanoseconds span;
};
constexpr Nanoseconds kNap = 50 * kMicrosecond;
constexpr Nap kLongerNaps[] = {{kSecond, kMillisecond}, {20 * kMillisecond, 200 * kMicrosecond}};
constexpr Nanoseconds kNapMin = 5 * kMicrosecond;
// An engine that no thread of the application has run for so long is run by those who poll others of the
// device.
constexpr Nanoseconds kNeglect = 10 * kMicrosecond;
// The background thread polls on for so long after the last frame before it naps.
constexpr Nanoseconds kKeepPolling = 100 * kMicrosecond;
// Polls in vain by one application thread before it offers its CPU.
constexpr Nanoseconds kPatienceMin = 200;  // where nobody else wants the CPU
constexpr Nanoseconds kPatienceMax = 20 * kMicrosecond;
// A yield that came back so soon found nobody else on this CPU.
constexpr Nanoseconds kShortYield = kMicrosecond;
// A yield that took so long went to somebody who does not poll but computes. To yield again and again to such
// a one would give the CPU away altogether.
constexpr Nanoseconds kLongYield = 500 * kMicrosecond;
constexpr Nanoseconds kYieldPauseMax = 5 * kMillisecond;
// Who cannot have the engine for so long gives way: the thread that has it has no CPU, and waits for ours.
constexpr Nanoseconds kKeptOutMax = 20 * kMicrosecond;
// With such company the background thread naps instead: who wakes up is let in at once.
constexpr Nanoseconds kNapInCompany = 20 * kMicrosecond;
constexpr Nanoseconds kCompanyMemory = 10 * kMillisecond;
// With nothing connected there is nothing to be late for.
constexpr Nanoseconds kIdleSleep = 20 * kMillisecond;
// But for sniffers: what they do not hear soon is overwritten.
constexpr Nanoseconds kSnifferSleep = 200 * kMicrosecond;
constexpr Nanoseconds kServiceInterval = kMillisecond;
constexpr Nanoseconds kStatsInterval = 10 * kMillisecond;
// Whoever holds the lock looks at the ports when nobody has for so long and others wait for it.
constexpr Nanoseconds kControlLook = 50 * kMicrosecond;
// Doorbells that ring while somebody else has the lock are served by the holder, but not for ever.
constexpr unsigned kTurnsMax = 4;
// Channels with new events, between two releases of the lock.
constexpr size_t kDeliveriesAtOnce = 8;
constexpr Nanoseconds kExitPatience = 100 * kMillisecond;
constexpr Nanoseconds kLockPatience = 10 * kMillisecond;

// Of one application thread. One object, and placed with the library: to find a thread's variables takes a
// call for each otherwise.
struct Poller {
  Nanoseconds patience = kPatienceMin;
  Nanoseconds vain_since = 0;       // when it began to poll in vain; 0 = it does not
  Nanoseconds no_yield_before = 0;  // its last yield took too long
  Nanoseconds kept_out_since =
      0;  // when it last began to find the engine with another thread; 0 = it has had it
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Poller t_poller;

// How long others had the CPU.
Nanoseconds yield_for(Nanoseconds now, Nanoseconds* after) {
  sched_yield();
  *after = clock_now();
  return *after - now;
}

timespec to_timespec(Nanoseconds span) {
  return {static_cast<time_t>(span / kSecond), static_cast<long>(span % kSecond)};
}

// How long to nap when nothing has come since `last_frame` and the engine wants a turn at `deadline`.
Nanoseconds nap_span(Nanoseconds now, Nanoseconds last_frame, Nanoseconds deadline) {
  Nanoseconds span = kNap;
  for (const Nap& longer : kLongerNaps) {
    if (now < last_frame + longer.idle) continue;
    span = longer.span;
    break;
  }
  // A deadline that is over belongs to work that waits for something else, such as room in a ring.
  if (deadline <= now) return kNap;
  return std::clamp(deadline - now, kNapMin, span);
}

void nap(Nanoseconds span) {
  const timespec time = to_timespec(span);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace

void EngineLock::lock() {
  waiters_.fetch_add(1, std::memory_order_relaxed);
  for (Backoff backoff; held_.exchange(true, std::memory_order_acquire);) do
      backoff.wait();
    while (held_.load(std::memory_order_relaxed));
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

int Progress::start(const Parts& parts, const std::string& device) {
  engine_ = parts.engine;
  ports_ = parts.ports;
  stats_ = parts.stats;
  capture_ = parts.capture;
  totals_ = parts.totals;
  news_ = parts.news;
  profiles_ = parts.profiles;
  shard_ = parts.shard;
  memory_guard_.watch();
  thread_name_ = ("mrc-" + device).substr(0, 15);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return errno;
  stopping_.store(false);
  running_.store(true);
  // The application's signals are none of this thread's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);  // but its own faults are (memory_guard.h)
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int result = pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        static_cast<Progress*>(self)->run();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result == 0) return 0;
  running_.store(false);
  close(wake_fd_);
  wake_fd_ = -1;
  return result;
}

void Progress::stop() {
  if (!running_.load()) return;
  stopping_.store(true);
  wake();
  pthread_join(thread_, nullptr);
  running_.store(false);
  close(wake_fd_);
  wake_fd_ = -1;
}

void Progress::stop_at_exit() {
  if (!running_.load()) return;
  stopping_.store(true);
  wake();
  // Not by the time of day, as pthread_timedjoin_np() waits: that may be set back meanwhile.
  const Nanoseconds until = clock_now() + kExitPatience;
  bool ended = false;
  while (!(ended = pthread_tryjoin_np(thread_, nullptr) == 0) && clock_now() < until) nap(kNap);
  running_.store(false);
  if (ended) say_last_words();
}

// The application has seen what arrived. A peer that waits for the acknowledgement shall not wait in vain.
void Progress::say_last_words() {
  // Another thread may hold the lock for good: exit() does not wait for it.
  for (const Nanoseconds until = clock_now() + kLockPatience; !lock_.try_lock();) {
    if (clock_now() > until) return;
    sched_yield();
  }
  memory_guard_.enter(engine_->memory());
  engine_->answer_all(clock_now());
  memory_guard_.leave();
  ports_->say_good_bye();
  totals_->update(engine_->counters());
  lock_.unlock();
  totals_->show_last();
}

// --- application threads ---

// Many frames take a while: who moved them has run the engine until now.
[[gnu::hot]] inline Nanoseconds Progress::application_ran(Nanoseconds began, const Turn& done) {
  const Nanoseconds now = done.frames < kLongTurn ? began : clock_now();
  application_drove_.store(now, std::memory_order_relaxed);
  return now;
}

[[gnu::hot]] Nanoseconds Progress::drive(Purpose purpose) {
  if (!running_.load(std::memory_order_acquire)) return 0;
  const Nanoseconds now = clock_now();
  const Turn done = turn(now, purpose);
  if (!done.ran) return 0;
  if (profiles_->changed()) [[unlikely]]
    take_profiles();
  return application_ran(now, done);
}

[[gnu::hot]] void Progress::drive_posted(QueuePair& qp) {
  if (running_.load(std::memory_order_acquire)) {
    const Nanoseconds now = clock_now();
    const Turn done = turn(now, Purpose::kPost, &qp);
    if (done.ran) {
      application_ran(now, done);
      return;
    }
  }
  // Somebody else has the engine: a bell that it hears before it lets go, or we have it then.
  engine_->ring_doorbell(qp);
  full_fence();  // pairs with the one in turn()
  drive(Purpose::kPost);
}

[[gnu::hot]] bool Progress::found_nothing(Nanoseconds now_if_known) {
  // Two pollers on two CPUs shall not pay a system call per poll; two on one CPU shall not wait for a time
  // slice.
  const Nanoseconds now = now_if_known != 0 ? now_if_known : clock_now();
  Poller& self = t_poller;
  if (self.vain_since == 0) self.vain_since = now;
  if (now_if_known != 0)
    self.kept_out_since = 0;
  else if (self.kept_out_since == 0)
    self.kept_out_since = now;
  const bool kept_out = now_if_known == 0 && now >= self.kept_out_since + kKeptOutMax;
  if (!kept_out && (now < self.vain_since + self.patience || now < self.no_yield_before)) return false;
  const Nanoseconds lost = yield_for(now, &self.vain_since);
  // Nobody else wanted this CPU: the next offer can wait. Somebody did: the sooner he has it the better.
  const bool shared = lost >= kShortYield;
  self.patience = shared ? 0 : std::clamp(2 * self.patience, kPatienceMin, kPatienceMax);
  // Unless those who had it poll, too, and have run our engine meanwhile: what we wait for is theirs to do.
  const bool driven = application_drove_.load(std::memory_order_relaxed) > now;
  if (lost > kLongYield && !driven && !kept_out)
    self.no_yield_before = self.vain_since + std::min(lost, kYieldPauseMax);
  return shared;
}

bool Progress::neglected(Nanoseconds now) const {
  return connected_.load(std::memory_order_relaxed) != 0 &&
         now >= application_drove_.load(std::memory_order_relaxed) + kNeglect;
}

void Progress::found_something() {
  t_poller.vain_since = 0;
}

// Want of memory ends neither the process, if this is its background thread, nor goes up into a program in C.
// What could not be done for it is as lost as a packet, and repeated like one.
[[gnu::hot]] inline size_t Progress::run_engine(Nanoseconds now, Purpose purpose) {
  size_t frames = 0;
  news_->apply(engine_->memory());
  memory_guard_.enter(engine_->memory());
  try {
    if (purpose == Purpose::kPost && now < looked_ + kLookInterval) {
      frames = engine_->send_posted(now);
    } else {
      looked_ = now;
      frames = engine_->progress(now);
    }
  } catch (const std::bad_alloc&) {
  }
  memory_guard_.leave();
  return frames;
}

[[gnu::hot]] Progress::Turn Progress::turn(Nanoseconds now, Purpose purpose, QueuePair* posted) {
  Turn result;
  // A doorbell that rang while another thread held the lock must not wait for the next poll: either we see it
  // after unlocking, or its ringer gets the lock. Unlocking and looking are in one order with the fence
  // behind ring_doorbell().
  for (unsigned turns = 0; turns < kTurnsMax; ++turns) {
    if (!lock_.try_lock()) return result;
    result.ran = true;
    if (posted != nullptr) engine_->take_posted(*std::exchange(posted, nullptr));
    result.frames += run_engine(now, purpose);
    if (purpose == Purpose::kBackground && result.frames == 0) result.deadline = engine_->next_deadline();
    unlock();
    if (!engine_->doorbell_pending(std::memory_order_seq_cst)) break;
  }
  return result;
}

[[gnu::hot]] void Progress::unlock() {
  connected_.store(engine_->connected(), std::memory_order_relaxed);
  if (delivering_.empty()) [[likely]]
    return lock_.unlock();
  unlock_and_deliver();
}

// A few at a time, for they are taken along without allocating. Who has the lock instead delivers the rest.
void Progress::unlock_and_deliver() {
  bool more = false;
  do {
    std::array<std::shared_ptr<CompletionChannel>, kDeliveriesAtOnce> channels;
    for (size_t i = 0; i < channels.size() && !delivering_.empty(); ++i)
      channels[i] = std::move(delivering_.pop_front().channel);
    more = !delivering_.empty();
    lock_.unlock();
    for (const auto& channel : channels)
      if (channel != nullptr) channel->deliver();
  } while (more && lock_.try_lock());
}

void Progress::deliver_later(const std::shared_ptr<CompletionChannel>& channel) {
  CompletionChannel::Delivery& delivery = channel->delivery(shard_->index());
  delivery.channel = channel;
  delivering_.push_back(delivery.node);
}

Progress::Control::Control(Progress& progress, Wakes wakes) : progress_(progress), wakes_(wakes) {
  progress_.lock_.lock();
  if (progress_.running_.load(std::memory_order_relaxed))
    progress_.memory_guard_.enter(progress_.engine_->memory());
}

Progress::Control::~Control() {
  progress_.memory_guard_.leave();
  if (!progress_.running_.load(std::memory_order_relaxed)) {
    progress_.lock_.unlock();
    return;
  }
  // While one control operation follows the other, those who only try the lock never get it.
  if (progress_.lock_.wanted())
    if (const Nanoseconds now = clock_now(); now >= progress_.looked_ + kControlLook)
      progress_.run_engine(now, Purpose::kPoll);
  progress_.unlock();
  if (wakes_ == Wakes::kYes) progress_.wake();
  full_fence();
  if (progress_.engine_->doorbell_pending()) progress_.turn(clock_now(), Purpose::kPoll);
}

// --- the background thread ---

void Progress::wake() {
  full_fence();
  if (!asleep_.load(std::memory_order_relaxed)) return;
  const uint64_t one = 1;
  if (uncancelled::write(wake_fd_, &one, sizeof one) < 0) return;  // already woken
}

bool Progress::sleep_until_woken(Nanoseconds span, bool connected) {
  pollfd files[] = {{wake_fd_, POLLIN, 0}, {ports_->event_fd(), POLLIN, 0}};
  asleep_.store(true, std::memory_order_relaxed);
  full_fence();
  if (!stopping_.load() && (connected_.load(std::memory_order_relaxed) != 0) == connected) {
    const timespec time = to_timespec(span);
    ppoll(files, 2, &time, nullptr);
    if ((files[1].revents & POLLIN) != 0) next_service_ = 0;
  }
  asleep_.store(false, std::memory_order_relaxed);
  uint64_t count;
  bool woken = false;
  while (read(wake_fd_, &count, sizeof count) > 0) woken = true;
  return woken;
}

void Progress::housekeeping(Nanoseconds now) {
  if (now >= next_service_) {
    ports_->service();
    next_service_ = now + kServiceInterval;
    look_at_faults();
  }
  if (now >= next_stats_ && lock_.try_lock()) {
    next_stats_ = now + kStatsInterval;
    try {
      capture_->follow(*engine_, now);
      totals_->update(engine_->counters());
      stats_->update(*engine_, now);
    } catch (const std::bad_alloc&) {
      // A state that does not fit is not told.
    }
    unlock();
    totals_->show(now);
  }
  if (profiles_->changed()) [[unlikely]]
    take_profiles();
  if (stats_->is_answering()) [[unlikely]]
    tell_state();
  if (capture_->listens()) hear_others();
}

// Read and freed under no lock: there may be thousands of paths. Nobody waits for the engine: who has it
// takes them with its next poll, or we do in our next turn.
void Progress::take_profiles() {
  std::optional<ControlProfiles::Word> word;
  try {
    word = profiles_->read();
  } catch (const std::bad_alloc&) {
    return;
  }
  if (!lock_.try_lock()) return;
  memory_guard_.enter(engine_->memory());
  try {
    profiles_->take(&*word, *engine_, clock_now());
  } catch (const std::bad_alloc&) {
    // It is taken again.
  }
  memory_guard_.leave();
  unlock();
}

// A portion at a time, and a turn for everybody else after each.
void Progress::tell_state() {
  while (stats_->is_answering() && !stopping_.load(std::memory_order_relaxed)) {
    if (!lock_.try_lock()) return;
    const Nanoseconds now = clock_now();
    try {
      stats_->answer_some(*engine_, now);
    } catch (const std::bad_alloc&) {
      unlock();
      return;  // it goes on when there is memory
    }
    unlock();
    turn(now, Purpose::kBackground);
  }
  stats_->write_answers();
}

void Progress::hear_others() {
  if (!lock_.try_lock()) return;
  memory_guard_.enter(engine_->memory());
  try {
    capture_->hear(*engine_);
  } catch (const std::bad_alloc&) {
    // As lost as what was overwritten.
  }
  memory_guard_.leave();
  unlock();
}

// Not on the data path: who injects a fault can wait for a millisecond.
void Progress::look_at_faults() {
  if (!shard_->faults_changed() || !lock_.try_lock()) return;
  memory_guard_.enter(engine_->memory());  // what was held back may be placed now
  try {
    shard_->follow_faults();
  } catch (const std::bad_alloc&) {
    // It is asked again.
  }
  memory_guard_.leave();
  unlock();
  shard_->follow_events();
}

void Progress::give_way() {
  const Nanoseconds now = clock_now();
  if (now < company_until_) return nap(kNapInCompany);
  Nanoseconds after = 0;
  if (yield_for(now, &after) > kLongYield) company_until_ = after + kCompanyMemory;
}

// Returns when to look next. Short naps are not broken off: to wake somebody costs more than that saves.
Nanoseconds Progress::watch_pollers(Nanoseconds span) {
  const Nanoseconds until = capture_->listens() ? std::min(span, kSnifferSleep) : span;
  bool woken = false;
  if (until < kWatchWakes)
    nap(until);
  else
    woken = sleep_until_woken(until, true);
  return woken ? kNap : std::min(span + kWatchStep, kWatchMax);
}

void Progress::run() {
  pthread_setname_np(pthread_self(), thread_name_.c_str());
  prctl(PR_SET_TIMERSLACK, 1);
  ask_for_short_slices();
  Nanoseconds last_frame = 0;
  Nanoseconds watch = kNap;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Nanoseconds now = clock_now();
    try {
      housekeeping(now);
    } catch (const std::bad_alloc&) {
      nap(kNap);  // it comes again
    }
    if (connected_.load(std::memory_order_relaxed) == 0) {
      turn(now, Purpose::kBackground);  // links come and go all the same
      sleep_until_woken(capture_->listens() ? kSnifferSleep : kIdleSleep, false);
      continue;
    }
    const Nanoseconds drove = application_drove_.load(std::memory_order_relaxed);
    const Turn done = now < drove + kHandOver ? Turn{} : turn(now, Purpose::kBackground);
    if (!done.ran) {  // or somebody else is just running it
      watch = watch_pollers(watch);
      continue;
    }
    watch = kNap;
    if (done.frames > 0) {
      last_frame = now;
      continue;
    }
    if (now < last_frame + kKeepPolling) {
      give_way();
      continue;
    }
    nap(nap_span(now, std::max(last_frame, drove), done.deadline));
  }
}

}  // namespace mrc::provider
