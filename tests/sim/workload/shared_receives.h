// SPDX-License-Identifier: BSD-2-Clause
// A shared receive queue of a host with its buffers: whichever message comes first takes one, and gives it
// back when its bytes were looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "libmrc/work/shared_receive_queue.h"
#include "tests/sim/host/host.h"

namespace mrc::sim {

class SharedReceives {
 public:
  SharedReceives(Host& host, uint32_t entries, uint32_t buffer_bytes, ProtectionDomain domain)
      : queue_(entries, 1, domain), buffer_bytes_(buffer_bytes), memory_(size_t{entries} * buffer_bytes) {
    key_ = host.engine().memory().add(domain, memory_.data(), memory_.size(), kAddress, kLocalWrite);
    for (uint32_t id = 0; id < entries; ++id) give_back(id);
  }
  SharedReceiveQueue& queue() { return queue_; }
  uint32_t count() const { return static_cast<uint32_t>(memory_.size() / buffer_bytes_); }
  const uint8_t* buffer(uint64_t id) const { return memory_.data() + id * buffer_bytes_; }
  void give_back(uint64_t id) {
    ReceiveRequest* request = queue_.queue().reserve();
    request->work_id = id;
    request->segment_count = 1;
    request->bytes = buffer_bytes_;
    request->segments()[0] = {kAddress + id * buffer_bytes_, buffer_bytes_, key_};
    queue_.queue().publish(1);
  }

 private:
  static constexpr uint64_t kAddress = 0x6000'0000'0000;
  SharedReceiveQueue queue_;
  uint32_t buffer_bytes_;
  std::vector<uint8_t> memory_;
  MemoryKey key_{};
};

}  // namespace mrc::sim
