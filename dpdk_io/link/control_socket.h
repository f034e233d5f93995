// SPDX-License-Identifier: BSD-2-Clause
// The datagram socket ctl.<slot> through which processes ask each other for links. The kernel says who sent a
// message; those of other users are not taken.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dpdk_io/link/descriptor_message.h"

namespace mrc {

// "Here is my memory: make your half of our link." It comes with two descriptors.
struct ControlMessage {
  static constexpr uint32_t kMagic = 0x4D52434D;  // "MRCM"
  uint32_t magic = kMagic;
  uint32_t from_slot = 0;
  uint64_t incarnation = 0;  // of the sender (process_slot.h)
  uint64_t number = 0;       // of the link, the sender's; never 0
  uint64_t known = 0;        // the receiver's, as the sender knows it; 0: it does not
};
static_assert(sizeof(ControlMessage) == 32);

class ControlSocket {
 public:
  using Descriptors = DescriptorPair;  // of the sender's memory
  using Sent = SentPair;

  // Null: `error` says why.
  static std::unique_ptr<ControlSocket> open(const std::string& run_directory, uint32_t slot,
                                             std::string* error);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  int fd() const { return fd_; }
  // Lost when the receiver is not there or busy: the sender repeats what matters.
  void send(uint32_t to_slot, const ControlMessage& message, const Sent& descriptors);
  // False: nothing there. Never waits.
  bool receive(ControlMessage* message, Descriptors* descriptors);

 private:
  ControlSocket(const std::string& run_directory, uint32_t slot, int fd);
  const std::string run_directory_;
  const uint32_t slot_;
  const int fd_;
};

}  // namespace mrc
