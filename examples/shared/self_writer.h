// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs that are connected to themselves and write, so that one process shows what threads, many queue
// pairs and many regions cost. Verbs only: nothing here knows the device.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mrc::bench {

// Ends the process with what went wrong.
[[noreturn]] void fail(const char* what);

class OpenDevice {
 public:
  explicit OpenDevice(const std::string& name);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_gid gid{};
};

void connect_to_self(const OpenDevice& device, ibv_qp* pair);

// What one thread has: a completion queue, and queue pairs that complete there.
class SelfWriter {
 public:
  SelfWriter(const OpenDevice& device, size_t message_bytes, size_t pairs);
  ~SelfWriter();
  SelfWriter(const SelfWriter&) = delete;
  SelfWriter& operator=(const SelfWriter&) = delete;

  // From now on messages go by `used` of so many regions of the same memory, in turn.
  void use_regions(size_t count, size_t used);
  // Every queue pair has moved something, and all that fits is under way.
  void warm_up();
  // Then: messages until told to stop.
  uint64_t run(const std::atomic<bool>& stop);

 private:
  void post(uint64_t pair);
  uint64_t poll(bool again);

  std::vector<uint8_t> memory_;
  size_t bytes_;
  ibv_mr* register_memory();

  ibv_pd* const domain_;
  std::vector<ibv_mr*> regions_;
  // Of those in use, and beside each other: what ibv_reg_mr() returned lies as far apart as the regions do.
  struct Keys {
    uint32_t local;
    uint32_t remote;
  };
  std::vector<Keys> used_;
  size_t next_used_ = 0;
  uint64_t under_way_ = 0;
  ibv_cq* queue_ = nullptr;
  std::vector<ibv_qp*> pairs_;
};

// Messages per second of all threads together.
double measure_threads(const OpenDevice& device, size_t threads, size_t message_bytes, size_t pairs,
                       double seconds);
// Messages of 64 bytes per second of one thread, by `used` regions out of so many.
double measure_regions(const OpenDevice& device, size_t regions, size_t used, double seconds);

}  // namespace mrc::bench
