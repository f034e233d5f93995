// SPDX-License-Identifier: BSD-2-Clause
// Several processes share an interface. Which of them a frame that arrives is for: the one whose slot its QP
// number names; those to QPN 1 and 2 are everybody's. And who a frame that leaves says that it is from.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libmrc/wire/identifiers.h"

namespace mrc {

// The slot of the QP number that a frame is for; 0: everybody's. Nothing: it is none of ours.
std::optional<uint32_t> destination_slot(std::span<const uint8_t> frame);
bool frame_is_for(uint32_t slot, std::span<const uint8_t> frame);

// Slots are divided by their numbers between threads that hear the same interface.
struct SlotPart {
  uint32_t number = 0;
  uint32_t count = 1;
  bool has(uint32_t slot) const { return slot % count == number; }
};

// The same for the kernel (classic BPF), so that it copies only those; without a slot, those of all slots of
// the part. Lets through what only destination_slot() can decide: frames with a segment routing header; like
// those that are everybody's they are the first part's.
std::vector<sock_filter> kernel_filter(std::optional<uint32_t> slot, SlotPart part = {});

struct FrameSources {
  IpAddress address;               // the GID that it is sent from
  std::optional<IpAddress> outer;  // of the SRv6 header around it
  std::optional<Qpn> qpn;          // where it says: in datagrams
};
// Nothing: it is none of ours.
std::optional<FrameSources> sources_of(std::span<const uint8_t> frame);

}  // namespace mrc
