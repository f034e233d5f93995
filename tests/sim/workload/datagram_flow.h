// SPDX-License-Identifier: BSD-2-Clause
// Datagrams from one host to another, with what they must prove: each that arrives was sent, is whole, and
// came no more often than the network made copies of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/host/host.h"
#include "tests/sim/workload/guarded_buffer.h"

namespace mrc::sim {

struct DatagramConfig {
  uint32_t host[2];  // from, to
  uint32_t bytes_max = 4096;
  uint32_t count = 1;
  uint32_t receive_entries = 4;
};

class DatagramFlow {
 public:
  DatagramFlow(const DatagramConfig& config, uint64_t seed);

  void open(Host& from, Host& to, CompletionQueue& sent, CompletionQueue& received, ProtectionDomain domain);
  void post_sends();
  void post_receives();
  // False: a rule was broken.
  bool on_sent(const Completion& completion);
  bool on_received(const Completion& completion);
  // In the end. `duplicated`: the network did make copies.
  bool check(bool duplicated);
  const std::string& failure() const { return failure_; }

  bool done() const { return completed_ == config_.count; }
  QueuePair* sender() const { return sender_; }
  QueuePair* receiver() const { return receiver_; }
  uint64_t sent() const { return completed_; }
  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  uint32_t bytes_of(uint32_t index) const;
  uint8_t byte_of(uint32_t index, uint32_t at) const;
  uint64_t slot_bytes() const;
  bool fail(const std::string& what);

  DatagramConfig config_;
  uint64_t seed_;
  Host* from_ = nullptr;
  Host* to_ = nullptr;
  QueuePair* sender_ = nullptr;
  QueuePair* receiver_ = nullptr;
  GuardedBuffer source_;
  GuardedBuffer target_;
  MemoryKey source_key_{};
  MemoryKey target_key_{};
  std::vector<uint32_t> arrived_;  // how often, by number
  uint32_t next_ = 0;
  uint32_t completed_ = 0;
  uint64_t posted_receives_ = 0;
  uint64_t taken_receives_ = 0;  // of these, completed
  uint64_t bytes_sent_ = 0;
  uint64_t bytes_received_ = 0;
  std::string failure_;
};

}  // namespace mrc::sim
