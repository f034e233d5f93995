// SPDX-License-Identifier: BSD-2-Clause
// Answers what libibverbs asks its command file: completion channels, GIDs, and where events come from.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "dpdk_io/settings/device_config.h"
#include "providers/mrc/verbs/command_file.h"
#include "providers/mrc/verbs/completion_channel.h"

namespace mrc::provider {

class Commands final : public CommandHandler {
 public:
  ssize_t on_write(const void* command, size_t bytes) override;
  int on_ioctl(unsigned long request, void* argument) override;

  // Whose GIDs are told; outlives it. Before anybody can ask.
  void set_device(const DeviceConfig& device) { device_ = &device; }
  // Where the context's asynchronous events are read. Before anybody can ask.
  void set_async_fd(int fd) { async_fd_ = fd; }

  // The channel whose application end is `fd`; null: not one of ours.
  std::shared_ptr<CompletionChannel> find_channel(int fd);

 private:
  // The new channel's file descriptor, or a negative errno.
  int create_channel();

  const DeviceConfig* device_ = nullptr;  // null: the first
  int async_fd_ = -1;
  std::mutex mutex_;
  // libibverbs does not tell when it destroys a channel: the abandoned ones are dropped when the next is
  // made.
  std::vector<std::shared_ptr<CompletionChannel>> channels_;
};

}  // namespace mrc::provider
