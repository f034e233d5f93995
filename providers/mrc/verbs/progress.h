// SPDX-License-Identifier: BSD-2-Clause
// Whoever polls drives: the shard's lock, and who runs the engine when. Application threads run it when they
// poll or post; a background thread takes over when none of them does.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dpdk_io/device_ports.h"
#include "libmrc/containers/linked_list.h"
#include "libmrc/engine/engine.h"
#include "libmrc/wire/time.h"
#include "providers/mrc/verbs/capture_tap.h"
#include "providers/mrc/verbs/completion_channel.h"
#include "providers/mrc/verbs/control_profiles.h"
#include "providers/mrc/verbs/memory_guard.h"
#include "providers/mrc/verbs/spin_lock.h"
#include "providers/mrc/verbs/stats_writer.h"
#include "providers/mrc/verbs/totals_writer.h"
#include "providers/mrc/verbs/window_news.h"

namespace mrc::provider {

class Shard;

// Pollers only try it. Control operations wait for it, and while one waits all tries fail.
class EngineLock {
 public:
  bool try_lock() {
    return waiters_.load(std::memory_order_relaxed) == 0 && !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void lock();
  // In one order with what is seq_cst: who looks for doorbells then needs no fence.
  void unlock() { held_.exchange(false, std::memory_order_seq_cst); }
  // For the holder: who only tries it does not get it next.
  bool wanted() const { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<bool> held_{false};
  std::atomic<unsigned> waiters_{0};
};

class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  struct Parts {
    Engine* engine = nullptr;
    DevicePorts* ports = nullptr;
    StatsWriter* stats = nullptr;
    CaptureTap* capture = nullptr;
    TotalsWriter* totals = nullptr;
    WindowNews* news = nullptr;
    ControlProfiles* profiles = nullptr;
    Shard* shard = nullptr;
  };
  // Starts the background thread; 0 or an errno. What is given outlives stop().
  int start(const Parts& parts, const std::string& device);
  void stop();
  // At exit() without closing: the thread ends, and what is still to be said to others is said, unless that
  // takes too long.
  void stop_at_exit();

  // Under the shard's lock: the channel delivers its events when that is released, for this takes system
  // calls.
  void deliver_later(const std::shared_ptr<CompletionChannel>& channel);

  // --- application threads, on the data path ---

  // Runs the engine once, unless somebody else is doing it. Returns the time that it read last, 0 if it did
  // not run.
  Nanoseconds drive() { return drive(Purpose::kPoll); }
  // The same after work was posted to this one: only sends it if the ports were looked at just now. Whoever
  // runs the engine instead sends it soon.
  void drive_posted(QueuePair& qp);
  // What was posted and not sent yet goes now. Also before the device has started.
  void send_what_waits() {
    if (running_.load(std::memory_order_acquire) && engine_->doorbell_pending()) drive(Purpose::kPoll);
  }
  // This thread is about to sleep: the background thread shall see soon that nobody polls.
  void stops_polling() { wake(); }
  // After a poll that found nothing: lets others have the CPU when this thread has polled in vain for a
  // while. True: somebody has had it, and may have sent something.
  bool found_nothing(Nanoseconds now_if_known);
  static void found_something();
  // Something is connected, and no application thread has run the engine for a while.
  bool neglected(Nanoseconds now) const;

  // --- control operations ---

  // Whether what was done under the lock is news to the background thread, should it sleep.
  enum class Wakes : bool { kNo, kYes };
  // Holds the shard's lock. Letting go of it serves what was posted in between.
  class Control {
   public:
    explicit Control(Progress& progress, Wakes wakes = Wakes::kYes);
    ~Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

   private:
    Progress& progress_;
    const Wakes wakes_;
  };

 private:
  enum class Purpose : uint8_t { kPoll, kPost, kBackground };
  struct Turn {
    bool ran = false;
    size_t frames = 0;
    Nanoseconds deadline = 0;  // when the engine wants the next one at the latest; only for kBackground
  };

  Nanoseconds drive(Purpose purpose);

  // One turn of the engine, and more while doorbells ring; under no lock. The first begins with what was
  // posted to this one, if it is given.
  Turn turn(Nanoseconds now, Purpose purpose, QueuePair* posted = nullptr);
  // An application thread has done this. Returns the latest time that is known.
  Nanoseconds application_ran(Nanoseconds began, const Turn& done);
  // Under the lock. How many frames were moved.
  size_t run_engine(Nanoseconds now, Purpose purpose);
  void unlock();  // shows what others want to know, unlocks, and delivers events
  void unlock_and_deliver();
  void run();
  void housekeeping(Nanoseconds now);
  void look_at_faults();
  void take_profiles();
  void tell_state();
  void hear_others();
  Nanoseconds watch_pollers(Nanoseconds span);
  void give_way();  // between two polls that are close together
  // As long as that stays so: something is connected, or nothing. True: wake() has ended it.
  bool sleep_until_woken(Nanoseconds span, bool connected);
  void wake();
  void say_last_words();

  Engine* engine_ = nullptr;
  DevicePorts* ports_ = nullptr;
  StatsWriter* stats_ = nullptr;
  CaptureTap* capture_ = nullptr;
  TotalsWriter* totals_ = nullptr;
  WindowNews* news_ = nullptr;
  ControlProfiles* profiles_ = nullptr;
  Shard* shard_ = nullptr;
  std::string thread_name_;
  pthread_t thread_{};
  int wake_fd_ = -1;

  // Only the background thread's.
  Nanoseconds next_service_ = 0;
  Nanoseconds next_stats_ = 0;
  Nanoseconds company_until_ = 0;  // somebody on this CPU does not yield

  LinkedList<CompletionChannel::Delivery> delivering_;  // under the lock
  MemoryGuard memory_guard_;
  Nanoseconds looked_ = 0;  // when the ports were last looked at; under the lock

  alignas(64) EngineLock lock_;
  std::atomic<bool> running_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> asleep_{false};                // the background thread waits for wake()
  std::atomic<uint32_t> connected_{0};             // written under the lock
  std::atomic<Nanoseconds> application_drove_{0};  // when an application thread last ran the engine
};

}  // namespace mrc::provider
