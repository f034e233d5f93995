// SPDX-License-Identifier: BSD-2-Clause
// The other process of a case: this program again, which does what it is told through a socket.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "objects.h"

namespace conformance {

struct PeerHello {
  uint32_t qpn;
  uint32_t rkey;
  uint64_t address;
};

enum class PeerOrder : uint32_t {
  kPostReceive = 1,
  kAwaitReceive,
  kSend,
  kSum,
  kLeave,
  kClose,
  kJoin,
  kSendToGroup,
  kEndMember,
  kCountDatagrams,
  kSendFrames,
  kHearFrames,
  kCountFrames
};
// kJoin, kSendToGroup: the number of a multicast group. kCountDatagrams: waits until so many have come to the
// queue pair that has joined, and says how many did. kSendFrames: one of each kind that is in the mask, as
// raw packets. kHearFrames: from now on all of them. kCountFrames: waits for so many, and says which kinds
// came, as a mask.
struct PeerMessage {
  PeerOrder order;
  uint32_t argument;
};

// Told from the case's side.
class PeerProcess {
 public:
  static constexpr size_t kBytes = 64 << 10;

  PeerProcess();
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Connects its queue pair with ours, which comes to RTS.
  PeerHello connect(ibv_qp* qp, const Path& path = {});
  // What it answers to an order.
  uint32_t tell(PeerOrder order, uint32_t argument = 0);
  void kill_now();

 private:
  pid_t pid_ = -1;
  int fd_;
};

// A process that opens the device, forks and ends at once. What its child then gets from a call that
// libibverbs makes by itself: 1 if it is refused, 0 if not.
int orphan_outcome();
int orphan_main(int fd);

// The life of the other process; `fd` is its end of the socket.
int peer_main(int fd);

}  // namespace conformance
