// SPDX-License-Identifier: BSD-2-Clause
// One thing that is made to go wrong on purpose: what, to which frames, requests or calls, and how often.
// Plain data, so that it can lie in a page that processes share.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "libmrc/port/fault_kind.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// Calls of verbs that can be made to fail.
enum class FaultCall : uint32_t {
  kAny,
  kAllocPd,
  kRegMr,
  kCreateCq,
  kCreateQp,
  kModifyQp,
  kCreateSrq,
  kCreateAh,
  kResizeCq,
  kAllocMw,
  kCount,
};

struct FaultRule {
  static constexpr uint64_t kAlways = uint64_t{1} << 32;
  static constexpr uint8_t kSend = 1;  // directions: bits
  static constexpr uint8_t kReceive = 2;
  static constexpr uint32_t kPsnMax = 0xFFFFFF;

  // How often. Of what matches, `skip` pass first; then each is hit with a chance of `rate` in 2^32, until
  // `count` were (0: no limit).
  uint64_t rate = kAlways;
  uint64_t skip = 0;
  uint64_t count = 0;
  uint64_t seed = 1;
  uint64_t delay_ns = 0;  // delay, reorder, slow-cq; event: before it is raised
  // Which.
  std::array<uint64_t, 4> opcodes = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  uint32_t id = 0;   // 0: there is no rule here
  uint32_t qpn = 0;  // frames: the destination's; the others: the local one's. 0: any
  uint32_t psn_first = 0;
  uint32_t psn_last = kPsnMax;
  uint32_t entropy = 0;
  uint32_t entropy_mask = 0;  // 0: any
  uint32_t planes = ~uint32_t{0};
  uint32_t call = 0;   // of FaultCall
  uint32_t value = 0;  // request: status of the completion; call: errno; event: its type
  FaultKind kind = FaultKind::kDrop;
  uint8_t direction = kSend | kReceive;
  uint16_t reserved = 0;

  bool takes_opcode(uint8_t opcode) const { return (opcodes[opcode / 64] >> opcode % 64 & 1) != 0; }
  bool takes_every_opcode() const {
    return opcodes[0] == ~uint64_t{0} && opcodes[1] == ~uint64_t{0} && opcodes[2] == ~uint64_t{0} &&
           opcodes[3] == ~uint64_t{0};
  }
  // Whether it looks into a frame; one that does not hits what cannot be read, too.
  bool reads_frame() const {
    return !takes_every_opcode() || qpn != 0 || psn_first != 0 || psn_last != kPsnMax || entropy_mask != 0;
  }
};
static_assert(std::is_trivially_copyable_v<FaultRule> && sizeof(FaultRule) % sizeof(uint64_t) == 0);

}  // namespace mrc
