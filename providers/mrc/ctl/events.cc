// SPDX-License-Identifier: BSD-2-Clause
// mrc_ctl.h: queues of EV events. Engines of all processes put events into the page of the run directory;
// every queue reads there at its own pace and counts what it has missed.
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "providers/mrc/ctl/change.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/cq.h"

namespace mrc::provider {
namespace {

// How often somebody who sleeps is looked after.
constexpr auto kWatchInterval = std::chrono::microseconds(500);
// Who has begun to write an event and is not done by then has died.
constexpr Nanoseconds kWriterPatience = 10 * kMillisecond;
// The event of programs that were compiled for 1.0.0.
constexpr size_t kOldEventBytes = 48;

// The application's signals are none of a thread's that is made meanwhile.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

class EvEventQueue final : public api::EventSource {
 public:
  EvEventQueue(ControlPage& page, uint64_t most, ibv_cq* bell)
      : page_(page),
        most_(std::min<uint64_t>(most, ControlPage::kEvents)),
        bell_(bell),
        next_(page.pushed()) {}
  ~EvEventQueue() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (watcher_.joinable()) watcher_.join();
  }

  int poll(int most, size_t bytes, uint8_t* to) {
    std::lock_guard lock(mutex_);
    int count = 0;
    while (count < most) {
      mrc_ctl_ev_event event{};
      if (!take(&event)) break;
      std::memcpy(to, &event, bytes);
      to += bytes;
      ++count;
    }
    return count;
  }

  // As with completions: what is newer than the last notice, and there already, raises one at once.
  int arm() override {
    std::lock_guard lock(mutex_);
    if (Cq::of(bell_)->channel == nullptr) return 0;
    armed_ = true;
    told_ = std::max(told_, next_);
    try {
      if (!watcher_.joinable()) start_watcher();
    } catch (const std::system_error&) {
      return EAGAIN;
    }
    changed_.notify_all();
    return 0;
  }

 private:
  // Under the mutex.
  bool take(mrc_ctl_ev_event* event) {
    for (;;) {
      const uint64_t head = page_.pushed();
      if (head - next_ > most_) lose(head - next_ - most_);
      ControlEvent read;
      switch (page_.take(next_, &read)) {
        case ControlPage::Taken::kEvent:
          fill(read, event);
          ++next_;
          return true;
        case ControlPage::Taken::kLost:
          lose(1);
          break;
        case ControlPage::Taken::kNothing:
          if (next_ == head || !writer_is_gone()) return false;
          lose(1);
          break;
      }
    }
  }
  void fill(const ControlEvent& from, mrc_ctl_ev_event* to) {
    to->profile_id = from.profile;
    std::memcpy(to->ev.val, from.ev.bytes, sizeof to->ev.val);
    to->ev.port = from.ev.port;
    to->drop_count = static_cast<uint32_t>(std::min<uint64_t>(lost_ + from.dropped, UINT32_MAX));
    to->state = static_cast<mrc_ctl_ev_state>(from.state);
    lost_ = 0;
  }
  void lose(uint64_t count) {
    lost_ += count;
    next_ += count;
  }
  bool writer_is_gone() {
    const Nanoseconds now = clock_now();
    if (waited_for_ != next_) {
      waited_for_ = next_;
      waiting_since_ = now;
    }
    return now - waiting_since_ > kWriterPatience;
  }

  void start_watcher() {
    const WithoutSignals inherited;
    watcher_ = std::thread([this] { watch(); });
  }
  void watch() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (!armed_) {
        changed_.wait(lock);
      } else if (page_.pushed() > told_) {
        armed_ = false;
        told_ = page_.pushed();
        CompletionChannel& channel = *Cq::of(bell_)->channel;
        channel.owe(Cq::of(bell_)->owed);
        channel.deliver();
      } else {
        changed_.wait_for(lock, kWatchInterval);
      }
    }
  }

  ControlPage& page_;
  const uint64_t most_;
  ibv_cq* const bell_;
  std::mutex mutex_;  // of the rest
  std::condition_variable changed_;
  std::thread watcher_;
  bool stopping_ = false;
  bool armed_ = false;
  uint64_t told_ = 0;  // events that a notice was raised for
  uint64_t next_;
  uint64_t lost_ = 0;
  uint64_t waited_for_ = UINT64_MAX;
  Nanoseconds waiting_since_ = 0;
};

}  // namespace
}  // namespace mrc::provider

using namespace mrc::provider;  // NOLINT(google-build-using-namespace)

MRC_EXPORTED_API mrc_cq* mrc_ctl_create_ev_event_cq(mrc_context* mrc_ctx, int cqe, void* cq_context,
                                                    mrc_comp_channel* channel, int comp_vector) {
  mrc::ControlPage* page = page_of(verbs_of(mrc_ctx));
  if (page == nullptr) return nullptr;
  mrc_cq* cq = mrc_create_cq(mrc_ctx, cqe, cq_context, channel, comp_vector);
  if (cq == nullptr) return nullptr;
  cq->events = new (std::nothrow) EvEventQueue(*page, static_cast<uint64_t>(cqe), cq->verbs);
  if (cq->events != nullptr) return cq;
  mrc_destroy_cq(cq);
  errno = ENOMEM;
  return nullptr;
}

MRC_EXPORTED_API int mrc_ctl_poll_ev_event(mrc_cq* cq, int n, mrc_ctl_ev_event* events) {
  if (cq == nullptr || cq->events == nullptr || n < 0 || (events == nullptr && n > 0)) return -EINVAL;
  const bool old = cq->context->api_version < MRC_CTL_API_VER(1U, 0U, 1U);
  return static_cast<EvEventQueue*>(cq->events)
      ->poll(n, old ? kOldEventBytes : sizeof *events, reinterpret_cast<uint8_t*>(events));
}
