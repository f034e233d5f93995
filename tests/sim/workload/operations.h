// SPDX-License-Identifier: BSD-2-Clause
// The operations a workload may draw, and what a checker must know of each. One is switched on or off by one
// word here, or for one run by `--operations`.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "libmrc/work/completion_queue.h"
#include "libmrc/work/work_queue.h"

namespace mrc::sim {

struct OperationInfo {
  Operation operation;
  const char* name;
  bool enabled;             // the engine supports it
  bool receives;            // uses a receive request of the peer's
  bool immediate;           // carries an immediate value
  bool fetches;             // brings data back
  bool atomic;              // works on eight bytes of the peer's
  CompletionKind sent;      // kind of the requester's completion
  CompletionKind received;  // kind of the peer's completion, if it receives
};

inline constexpr std::array<OperationInfo, 8> kOperations = {{
    {Operation::kWrite, "write", true, false, false, false, false, CompletionKind::kRdmaWrite, {}},
    {Operation::kWriteImm, "write_imm", true, true, true, false, false, CompletionKind::kRdmaWrite,
     CompletionKind::kReceiveRdmaImmediate},
    {Operation::kSend, "send", true, true, false, false, false, CompletionKind::kSend,
     CompletionKind::kReceive},
    {Operation::kSendImm, "send_imm", true, true, true, false, false, CompletionKind::kSend,
     CompletionKind::kReceive},
    {Operation::kRead, "read", true, false, false, true, false, CompletionKind::kRdmaRead, {}},
    {Operation::kCompareSwap,
     "compare_swap",
     true,
     false,
     false,
     true,
     true,
     CompletionKind::kCompareSwap,
     {}},
    {Operation::kFetchAdd, "fetch_add", true, false, false, true, true, CompletionKind::kFetchAdd, {}},
    // Brings nothing back but the word that all before it is there.
    {Operation::kFlush, "flush", true, false, false, true, false, CompletionKind::kFlush, {}},
}};

// A set of operations, one bit per row of the table.
using OperationSet = uint32_t;

constexpr OperationSet enabled_operations() {
  OperationSet set = 0;
  for (size_t i = 0; i < kOperations.size(); ++i)
    if (kOperations[i].enabled) set |= 1u << i;
  return set;
}

// "all", or names joined by commas. False: a name is not known.
bool parse_operations(const std::string& text, OperationSet* out);

}  // namespace mrc::sim
