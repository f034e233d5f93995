// SPDX-License-Identifier: BSD-2-Clause
// Rings of work requests between the application (which posts, under a lock of its own) and the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "libmrc/memory/memory_table.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/psn.h"

namespace mrc {

enum class Operation : uint8_t {
  kWrite,
  kWriteImm,
  kSend,
  kSendImm,
  kSendInvalidate,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kAtomicWrite,
  kFlush,
  kBindWindow,
  kLocalInvalidate,
};

// Operations whose completion waits for an answer of its own.
constexpr bool awaits_answer(Operation operation) {
  return operation == Operation::kRead || operation == Operation::kCompareSwap ||
         operation == Operation::kFetchAdd || operation == Operation::kAtomicWrite ||
         operation == Operation::kFlush;
}
// Operations on eight bytes at once.
constexpr bool is_atomic(Operation operation) {
  return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd ||
         operation == Operation::kAtomicWrite;
}
// Operations whose answer brings data.
constexpr bool brings_data(Operation operation) {
  return awaits_answer(operation) && operation != Operation::kAtomicWrite && operation != Operation::kFlush;
}
// Operations that no packet is sent for.
constexpr bool is_local(Operation operation) {
  return operation == Operation::kBindWindow || operation == Operation::kLocalInvalidate;
}
// Operations that use up a receive request of the peer's.
constexpr bool consumes_receive(Operation operation) {
  return operation == Operation::kWriteImm || operation == Operation::kSend ||
         operation == Operation::kSendImm || operation == Operation::kSendInvalidate;
}
// Operations that MRC 1.0 has; the others are this project's extension.
constexpr bool is_strict_mrc(Operation operation) {
  return operation == Operation::kWrite || operation == Operation::kWriteImm;
}

enum RequestFlag : uint8_t {
  kSignaled = 1 << 0,
  kSolicited = 1 << 1,
  kFence = 1 << 2,
  kInline = 1 << 3,  // the data stand behind the request itself
};

struct Segment {
  uint64_t address;
  uint32_t bytes;
  MemoryKey key;
};
static_assert(sizeof(Segment) == 16);

// Where a datagram goes: what verbs calls an address handle, the remote QPN and the Q_Key.
struct DatagramAddress {
  IpAddress source;
  IpAddress destination;
  Qpn qpn;
  uint32_t queue_key = 0;
  // By which queue pair number the ports find the way, if not by `qpn`: QPN 1 is that of every process.
  Qpn via{};
  // Not kept for a next hop that is not known yet, for those behind it would wait, too.
  bool now_or_never = false;

  Qpn way() const { return via == Qpn{} ? qpn : via; }
};
static_assert(sizeof(DatagramAddress) == 48);

// Behind it in the ring: the address if it is a datagram, then `segments_max` segments or the inline data.
struct SendRequest {
  // Written by the application, read by the engine.
  uint64_t work_id;
  uint64_t remote_address;
  MemoryKey remote_key;
  uint32_t immediate;  // as it shall stand in the packet; of the invalidating ones the key
  uint32_t bytes;      // sum of the segments
  Operation operation;
  uint8_t flags;
  uint8_t segment_count;
  uint8_t address_bytes;  // of the DatagramAddress right behind it; 0 on a reliable connection
  uint64_t compare_add;
  uint64_t swap;
  // Written by the engine when the request is turned into packets.
  Psn first_psn;
  Psn last_psn;
  uint16_t msn;
  uint16_t receive_msn;
  bool answered;  // READ and atomics: the response is complete

  Segment* segments() { return reinterpret_cast<Segment*>(inline_data()); }
  const Segment* segments() const { return reinterpret_cast<const Segment*>(inline_data()); }
  uint8_t* inline_data() { return reinterpret_cast<uint8_t*>(this + 1) + address_bytes; }
  const uint8_t* inline_data() const { return reinterpret_cast<const uint8_t*>(this + 1) + address_bytes; }

  // kBindWindow: what the other operations use for addresses and operands.
  void set_binding(const WindowBinding& binding) {
    remote_key = binding.key;
    remote_address = binding.address;
    swap = binding.bytes;
    compare_add = uint64_t{binding.zero_based} << 40 | uint64_t{binding.access} << 32 |
                  static_cast<uint32_t>(binding.region);
  }
  WindowBinding binding() const {
    return {remote_key, MemoryKey{static_cast<uint32_t>(compare_add)}, remote_address,
            swap,       static_cast<uint8_t>(compare_add >> 32),       (compare_add >> 40 & 1) != 0};
  }

  // kFlush: it has a length there, and no data here.
  void set_flush(uint8_t placement, uint8_t selectivity, uint32_t length) {
    compare_add = length;
    swap = static_cast<uint64_t>(selectivity) << 8 | placement;
  }
  uint8_t flush_placement() const { return static_cast<uint8_t>(swap); }
  uint8_t flush_selectivity() const { return static_cast<uint8_t>(swap >> 8); }
  uint32_t flush_length() const { return static_cast<uint32_t>(compare_add); }

  // IBTA A14: the shared receive queue that a request of XRC names.
  void set_named_queue(uint32_t number) {
    if (is_atomic(operation))
      immediate = number;
    else
      swap = number;
  }
  uint32_t named_queue() const { return is_atomic(operation) ? immediate : static_cast<uint32_t>(swap); }

  // Datagrams only. Comes before segments and inline data are filled in, which move behind it.
  DatagramAddress& add_datagram_address() {
    address_bytes = sizeof(DatagramAddress);
    return datagram_address() = {};
  }
  DatagramAddress& datagram_address() { return *reinterpret_cast<DatagramAddress*>(this + 1); }
  const DatagramAddress& datagram_address() const {
    return *reinterpret_cast<const DatagramAddress*>(this + 1);
  }
};
static_assert(sizeof(SendRequest) == 64);

struct ReceiveRequest {
  uint64_t work_id;
  uint32_t segment_count;
  uint32_t bytes;

  Segment* segments() { return reinterpret_cast<Segment*>(this + 1); }
  const Segment* segments() const { return reinterpret_cast<const Segment*>(this + 1); }
};

// A ring of requests with a fixed stride. Indices run freely and are masked on use.
//   reserve/publish: application.  front/at/release: engine.
template <typename Request>
class WorkQueue {
 public:
  WorkQueue(uint32_t entries, uint32_t extra_bytes);

  // Slot number `ahead` behind the last published one; nullptr: the queue is full.
  Request* reserve(uint32_t ahead = 0) {
    const uint64_t at = tail_.load(std::memory_order_relaxed) + ahead;
    return at - head_.load(std::memory_order_acquire) >= entries_ ? nullptr : slot(at);
  }
  void publish(uint32_t count) {
    tail_.store(tail_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  uint64_t head() const { return head_.load(std::memory_order_relaxed); }
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  bool empty() const { return head() == tail(); }
  Request& at(uint64_t index) { return *slot(index); }
  void release(uint64_t new_head) { head_.store(new_head, std::memory_order_release); }

  uint32_t capacity() const { return entries_; }
  // Both sides locked out by the caller. False: more requests wait than would fit.
  bool resize(uint32_t entries);

 private:
  Request* slot(uint64_t index) {
    return reinterpret_cast<Request*>(memory_.get() + (index & mask_) * stride_);
  }

  uint32_t entries_;  // as asked for; the ring is the next power of two
  uint32_t mask_;
  uint32_t stride_;
  std::unique_ptr<uint8_t[]> memory_;
  alignas(64) std::atomic<uint64_t> tail_{0};  // written by the application
  alignas(64) std::atomic<uint64_t> head_{0};  // written by the engine
};

extern template class WorkQueue<SendRequest>;
extern template class WorkQueue<ReceiveRequest>;
using SendQueue = WorkQueue<SendRequest>;
using ReceiveQueue = WorkQueue<ReceiveRequest>;

}  // namespace mrc
