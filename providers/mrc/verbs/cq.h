// SPDX-License-Identifier: BSD-2-Clause
// A completion queue: the engine's ring, a lock for those who poll it, and the arming of events.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "libmrc/work/completion_queue.h"
#include "providers/mrc/verbs/completion_channel.h"
#include "providers/mrc/verbs/provider_abi.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {

class Context;
class Progress;
class Shard;

enum class Arm : uint8_t { kNo, kSolicited, kAny };

struct Cq {
  abi::CompletionQueue verbs{};  // first: libibverbs knows only this
  Context* context;
  CompletionQueue ring;
  const unsigned lane;       // of the thread that made it (Device)
  std::atomic<Shard*> home;  // which is run by polling it; the first one until it is settled
  std::atomic<uint32_t> shards{
      0};  // that push into it, by their bits; 0: it is not settled. Device::settle()
  std::mutex
      moving;  // who resizes it, or takes what a queue pair has left out of it; taken before all others
  SpinLock poll_lock;                          // who polls; taken after the shard's lock
  std::atomic<uint64_t> polls{0};              // a hint: lost counts do not matter
  std::atomic<unsigned> polls_since_drive{0};  // a hint: lost counts do not matter
  Completion current;                          // what ibv_start_poll() and ibv_next_poll() have taken
  CompletionTime current_time;                 // of that one, if the application has asked for times
  std::atomic<unsigned> users{0};              // queue pairs

  std::shared_ptr<CompletionChannel> channel;
  CompletionChannel::Owed owed{&verbs.cq};  // by the channel
  // Events on their way to the application or read by it. Counted when they are sent, not when libibverbs
  // tells that it has read one: until then destroy_cq() would not know of somebody who has just read one.
  std::atomic<uint32_t> reported{0};
  std::atomic<uint32_t> async_reported{0};  // the same for asynchronous events
  SpinLock event_lock;                      // taken after all others
  std::atomic<Arm> armed{Arm::kNo};         // written under event_lock
  uint64_t notified = 0;   // completions pushed when the last event was raised; under event_lock
  uint64_t looked_at = 0;  // completions that on_completions() has seen; under the shard's lock, and under
                           // event_lock where several push

  Cq(Context* context, uint32_t entries_min);
  static Cq* of(ibv_cq* queue) { return reinterpret_cast<Cq*>(queue); }
  static Cq* of(ibv_cq_ex* queue) { return reinterpret_cast<Cq*>(queue); }

  // Checks and makes both kinds; null: errno is set.
  static Cq* create(Context* context, int64_t entries, ibv_comp_channel* channel, int vector);

  // Polls the ring, and drives the device if there is nothing in it. Takes poll_lock.
  size_t poll(std::span<Completion> out, CompletionTime* time_of_first = nullptr);
  // The engine has pushed completions; under its shard's lock, whose progress is given.
  void on_completions(Progress& progress);
  // The next step of what ring.begin_removal() began; under the lock of its shard, poll_lock and event_lock.
  bool remove_some() {
    uint64_t* const marks[] = {&notified, &looked_at};
    return ring.remove_some(marks);
  }
  // What polls drive besides home: others push into it, too.
  void drive_others(const Shard& own);
  // The event that was asked for is owed; under event_lock. The channel has to deliver it.
  void raise() noexcept;
};

ibv_wc_status to_verbs(CompletionStatus status);
ibv_wc_opcode to_verbs(CompletionKind kind);
unsigned flags_of(const Completion& completion);
// Of datagrams, and then as RoCE NICs say it: which header the GRH holds, 1 = IPv6, 2 = IPv4. Programs read
// it.
uint8_t service_level_of(const Completion& completion);

}  // namespace mrc::provider
