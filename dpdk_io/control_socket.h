// SPDX-License-Identifier: BSD-2-Clause
// The datagram socket ctl.<slot> through which processes ask each other for links.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace mrc {

enum class ControlKind : uint16_t {
  kLink = 1,   // make your half of our link
  kBye = 2,    // I am leaving: take what is still in the rings, then answer
  kTaken = 3,  // the answer to kBye: the rings are empty
};

struct ControlMessage {
  static constexpr uint32_t kMagic = 0x4D52434C;  // "MRCL"
  uint32_t magic = kMagic;
  ControlKind kind = ControlKind::kLink;
  uint16_t from_slot = 0;
  uint64_t incarnation = 0;  // of the sender (process_slot.h)
};
static_assert(sizeof(ControlMessage) == 16);

class ControlSocket {
 public:
  // Null: `error` says why.
  static std::unique_ptr<ControlSocket> open(const std::string& run_directory, uint32_t slot,
                                             std::string* error);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  int fd() const { return fd_; }
  // Lost when the receiver is not there or busy: the sender repeats what matters.
  void send(uint32_t to_slot, const ControlMessage& message);
  // False: nothing there. Never waits.
  bool receive(ControlMessage* message);

 private:
  ControlSocket(const std::string& run_directory, uint32_t slot, int fd);
  const std::string run_directory_;
  const uint32_t slot_;
  const int fd_;
};

}  // namespace mrc
