// SPDX-License-Identifier: BSD-2-Clause
// What survivor and peer say to each other over a socket. One packet each.
#pragma once

#include <cstdint>

#include "tests/verbs/process_faults_link.h"
#include "tests/verbs/process_faults_tally.h"

namespace process_faults {

enum class Order : uint32_t {
  kConnect = 1,  // survivor: terms and offer
  kConnected,    // peer: its offer; it is ready to receive
  kGo,           // survivor: may send from now on
  kEnd,          // survivor: finish what is under way
  kReport,       // peer: how its requests ended
  kRelease,      // survivor: its own have ended too; the link can go
  kClose,        // survivor: close everything in order, and end
  kLeave,        // survivor: exit() with everything open
};

struct Message {
  Order order;
  uint32_t clock_jumps;  // kConnect: let the time of day jump
  Terms terms;
  Offer offer;
  Statuses statuses;
};

// False: nothing there. The other side's end is `*gone`.
bool receive_message(int socket, Message* message, bool* gone);
// False: the other side is gone.
bool send_message(int socket, const Message& message);

}  // namespace process_faults
