// SPDX-License-Identifier: BSD-2-Clause
// What every completion of a process was: how often which operation ended with which status.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace process_faults {

enum class Operation : uint8_t {
  kWrite,
  kWriteImmediate,
  kSend,
  kSendShared,  // into a shared receive queue
  kRead,
  kSwap,
  kAdd,
  kReceive,
  kReceiveShared,
};
inline constexpr size_t kOperations = 9;
inline constexpr const char* kOperationNames[kOperations] = {
    "write", "write_imm", "send", "send_srq", "read", "swap", "add", "receive", "receive_srq"};
inline constexpr size_t kStatuses = 24;  // of verbs.h, and one for those that it does not know

using Statuses = std::array<uint64_t, kStatuses>;
constexpr uint32_t status_bit(ibv_wc_status status) {
  return 1u << static_cast<unsigned>(status);
}

class Tally {
 public:
  void count(Operation operation, ibv_wc_status status) {
    const size_t column =
        static_cast<size_t>(status) < kStatuses ? static_cast<size_t>(status) : kStatuses - 1;
    ++cells_[static_cast<size_t>(operation)][column];
  }
  uint64_t at(size_t operation, size_t status) const { return cells_[operation][status]; }
  // One line.
  void print() const;

 private:
  std::array<std::array<std::atomic<uint64_t>, kStatuses>, kOperations> cells_{};
};

}  // namespace process_faults
