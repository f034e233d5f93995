// SPDX-License-Identifier: BSD-2-Clause
// A completion channel: events of completion queues on their way to ibv_get_cq_event().
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "dpdk_io/settings/device_config.h"
#include "libmrc/containers/linked_list.h"
#include "providers/mrc/verbs/event_queue.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {

class CompletionChannel {
 public:
  // What a completion queue is owed: events that were raised and not sent yet. A part of the queue, so that
  // to owe one more allocates nothing.
  struct Owed {
    explicit Owed(ibv_cq* queue) : queue(queue) {}
    ibv_cq* const queue;
    uint32_t events = 0;
    LinkedList<Owed>::Node node{this};
  };
  // That this channel has to deliver when a shard's lock is released, see Progress::deliver_later(): each
  // shard has one of its own, under its lock.
  struct Delivery {
    std::shared_ptr<CompletionChannel> channel;  // while it is listed
    LinkedList<Delivery>::Node node{this};
  };

  EventQueue& events() { return events_; }
  Delivery& delivery(unsigned shard) { return deliveries_[shard]; }

  // One event of the queue is owed. On the data path, so without a system call: who does this sees to it that
  // deliver() is called when no lock of the device is held any more.
  void owe(Owed& queue) noexcept;
  // Sends what is owed. If the socket is full the rest goes out after the next read.
  void deliver() noexcept;
  // The queue is being destroyed: its unread events disappear, as the kernel's do, and do not count as
  // reported.
  void forget(Owed& queue);

 private:
  static uint64_t handle_of(const ibv_cq* queue) { return reinterpret_cast<uintptr_t>(queue); }
  bool send(ibv_cq* queue);

  std::mutex socket_mutex_;  // whoever uses the socket or takes something from owed_
  EventQueue events_;
  SpinLock owed_lock_;  // after socket_mutex_
  LinkedList<Owed> owed_;
  std::array<Delivery, DeviceConfig::kEnginesMax> deliveries_;
};

}  // namespace mrc::provider
