// SPDX-License-Identifier: BSD-2-Clause
// IBTA A14: the shared receive queues that the peers of a target queue pair may name. Under the device's
// lock.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "libmrc/work/shared_receive_queue.h"

namespace mrc {

class XrcDomain {
 public:
  void add(uint32_t number, SharedReceiveQueue* queue) { queues_.emplace(number, queue); }
  void remove(uint32_t number) { queues_.erase(number); }
  // Null: there is none.
  SharedReceiveQueue* find(uint32_t number) const {
    const auto found = queues_.find(number);
    return found != queues_.end() ? found->second : nullptr;
  }
  template <typename Each>
  void for_each(Each&& each) const {
    for (const auto& [number, queue] : queues_) each(*queue);
  }

 private:
  std::unordered_map<uint32_t, SharedReceiveQueue*> queues_;
};

}  // namespace mrc
