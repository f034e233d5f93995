// SPDX-License-Identifier: BSD-2-Clause
// A slot that no other process on this network has, whatever its user and run directory: QP numbers on a wire
// must be unique. The claim is a packet socket of a protocol number that stands for the slot and that no
// frame ever has. Only who may send on the wire (CAP_NET_RAW) can make one, so nobody else can take the
// numbers away; and it goes with its process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mrc {

enum class HostClaim {
  kTaken,    // `fd` holds it
  kBusy,     // another process has it
  kNoRight,  // this process may not use packet sockets, so it shares no wire with others
  kError,    // `error` says why it cannot be told
};

HostClaim claim_on_host(uint32_t slot, int* fd, std::string* error);

// Of one that has it and whose claim was lost: without asking whether somebody else has one. -1: none.
int hold_on_host(uint32_t slot);

// The first of these, or whoever else knows what is taken. Empty: nobody is asked.
using ClaimOnHost = std::function<HostClaim(uint32_t slot, int* fd, std::string* error)>;

}  // namespace mrc
