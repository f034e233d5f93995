// SPDX-License-Identifier: BSD-2-Clause
// QP 1 of this process: MADs of connection managers to and from other processes and hosts, as datagrams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libmrc/cm/connection.h"
#include "libmrc/work/completion_queue.h"
#include "providers/mrc/verbs/device.h"

namespace mrc::provider {

// Used under one lock of the caller's; only on_completions() comes from elsewhere.
class GeneralService final : private Device::Watcher {
 public:
  // `wake` is called, under the shard's lock, when there is something to poll. The device is started and
  // stays so.
  GeneralService(Device& device, std::function<void()> wake);
  ~GeneralService();
  GeneralService(const GeneralService&) = delete;
  GeneralService& operator=(const GeneralService&) = delete;

  // False: somebody else has the device's QP 1.
  bool open();

  // To QP 1 of `slot`, where processes are told apart (0: where they are not). False: no room now.
  bool send(const cm::Outgoing& out, uint32_t slot);
  // Lets the engine take what was sent. Under no lock.
  void drive() { device_.progress().drive(); }

  // Calls with every message that has arrived.
  using Receive = std::function<void(std::span<const uint8_t> mad, const cm::GidPair& gids)>;
  void poll(const Receive& receive);

 private:
  struct Buffer;

  void on_completions() override { wake_(); }
  void post(uint64_t index);

  Device& device_;
  const std::function<void()> wake_;
  CompletionQueue completions_;
  QueuePair* queue_pair_ = nullptr;
  MemoryKey key_{};
  std::vector<Buffer> buffers_;
};

}  // namespace mrc::provider
