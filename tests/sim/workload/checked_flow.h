// SPDX-License-Identifier: BSD-2-Clause
// One direction of one connection with everything it must prove: what is sent, where every byte must land and
// when it may, in which order it is told, and that nothing is touched after it was complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/core/random.h"
#include "tests/sim/host/host.h"
#include "tests/sim/workload/guarded_buffer.h"
#include "tests/sim/workload/operations.h"
#include "tests/sim/workload/shared_receives.h"

namespace mrc::sim {

struct FlowConfig {
  uint32_t mtu = 4096;
  uint32_t messages = 1;
  uint32_t segments_max = 1;
  uint32_t inline_bytes_max = 0;
  uint32_t packets_max = 64;  // of the largest messages
  OperationSet operations = enabled_operations();
};

class CheckedFlow {
 public:
  CheckedFlow(const FlowConfig& config, uint64_t seed);

  // `sender` and `receiver`: the two ends of the connection, at `from` and `to`.
  void open(Host& from, Host& to, QueuePair& sender, QueuePair& receiver, ProtectionDomain domain);
  // The receiver takes its receive requests from there.
  void share(SharedReceives* shared) { shared_ = shared; }
  // The flow of the other direction. Whatever this one's sender had received of it when it posted a message
  // must be known to be complete when that message is reported: it may be the answer.
  void expect_replies_in_order(const CheckedFlow* reverse) { reverse_ = reverse; }
  // Completions may be late: then the receiver is told when it is told, and not before the sender.
  void expect_late_receives() { late_receives_ = true; }
  // The network may really end this connection.
  void allow_failure() { may_fail_ = true; }
  bool may_fail() const { return may_fail_; }

  void post_sends();
  void post_receives();
  // Each returns false and keeps the reason when a rule was broken.
  bool on_sent(const Completion& completion);
  bool on_received(const Completion& completion);
  bool check_memory();
  const std::string& failure() const { return failure_; }

  // All is complete and told, or the connection has ended with an error that was allowed.
  bool done() const;
  bool ended_in_error() const { return failed_; }
  uint64_t completed() const { return completed_; }  // messages known to be complete
  // Differs from one look to the next if the flow has moved by as much as a packet.
  uint64_t position() const;
  uint32_t message_count() const { return static_cast<uint32_t>(messages_.size()); }
  uint64_t payload_bytes() const { return payload_bytes_; }  // in both directions
  uint64_t packets() const { return packets_; }  // that carry them, and the requests of the fetches
  uint64_t reads() const { return reads_; }
  uint64_t atomics() const { return atomics_; }
  uint64_t flushes() const { return flushes_; }
  OperationSet operations_completed() const;
  std::string where() const;  // hosts and queue pair, for people
  uint32_t receives() const { return receives_; }
  bool is_signaled(uint64_t number) const { return messages_[number].signaled; }
  GuardedBuffer& target() { return target_; }

 private:
  struct Message {
    const OperationInfo* info = nullptr;
    bool signaled = false;
    bool posted = false;
    bool complete = false;
    uint32_t bytes = 0;
    uint64_t source_at = 0;  // what is sent
    uint64_t target_at = 0;  // at the peer: where it lands, or what is fetched
    uint64_t result_at = 0;  // where fetched data goes
    uint64_t compare_add = 0;
    uint64_t swap = 0;
    uint32_t receive = 0;  // number among those that use a receive request
    uint32_t proves = 0;   // so many messages of the other direction were received when it was posted
  };

  void plan(uint32_t count, Random& random);
  void plan_atomic(Message* message, Random& random);
  void fill(Random& random);
  uint32_t draw_size(Random& random) const;
  void name_flushed(SendRequest* request, const Message& message);
  void fill_segments(SendRequest* request, const Message& message);
  bool landed(const Message& message) const;
  void account_for(const Message& message);
  size_t message_at(uint64_t byte) const;
  void consume(Message& message);
  bool take_from_shared(const Completion& completion, const Message& message);
  bool reply_is_in_order(const Message& message) const;
  bool fail(const std::string& what, uint64_t number);

  FlowConfig config_;
  Random random_;
  std::vector<Message> messages_;
  std::vector<uint32_t> receiving_;  // messages that use a receive request, in order
  uint64_t payload_bytes_ = 0;
  uint64_t packets_ = 0;
  uint64_t reads_ = 0;
  uint64_t atomics_ = 0;
  uint64_t flushes_ = 0;
  uint32_t receives_ = 0;

  GuardedBuffer source_;
  GuardedBuffer target_;
  GuardedBuffer result_;
  std::vector<uint8_t> original_;  // what source_ held when it was posted
  std::vector<uint8_t> before_;    // what target_ held in the beginning
  std::vector<uint8_t> fetched_;   // what result_ must hold in the end
  std::vector<uint8_t> consumed_;  // by byte of target_: what it must hold since its message was complete

  Host* from_ = nullptr;
  Host* to_ = nullptr;
  QueuePair* sender_ = nullptr;
  QueuePair* receiver_ = nullptr;
  SharedReceives* shared_ = nullptr;
  const CheckedFlow* reverse_ = nullptr;
  MemoryKey source_key_{};
  MemoryKey target_key_{};
  MemoryKey result_key_{};
  uint32_t next_ = 0;       // message to post
  uint32_t completed_ = 0;  // all before it are complete
  uint32_t posted_receives_ = 0;
  uint32_t told_ = 0;  // receives that were reported
  bool late_receives_ = false;
  bool may_fail_ = false;
  bool failed_ = false;
  std::string failure_;
};

}  // namespace mrc::sim
