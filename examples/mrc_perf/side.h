// SPDX-License-Identifier: BSD-2-Clause
// One side of the benchmark: device, memory and queue pairs, by OCP's interface or by verbs. All errors end
// the program with a reason.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace perf {

enum class Api : uint32_t { kMrc, kVerbs };
enum class Operation : uint32_t { kWrite, kWriteImm, kSend, kRead, kAtomic };

constexpr bool needs_receive(Operation operation) {
  return operation == Operation::kWriteImm || operation == Operation::kSend;
}

// What a peer has to know of one queue pair.
struct QueuePairInfo {
  uint32_t qpn;
  uint32_t rkey;
  uint64_t data;     // where WRITEs go, READs and atomics come from
  uint64_t credits;  // where the peer writes how many receives it has posted
  uint8_t gid[16];
};

struct SideConfig {
  std::string device;
  int gid_index = 0;
  Api api = Api::kMrc;
  uint32_t queue_pairs = 1;
  uint32_t depth = 128;
  uint64_t bytes_max = 65536;
  uint64_t ev_profile = 0;
  uint32_t srv6_paths = 0;  // > 0: instead of a profile, so many on each port
};

[[noreturn]] void give_up(const std::string& why);

// The two interfaces have the same calls under different names.
class Side {
 public:
  virtual ~Side() = default;
  static std::unique_ptr<Side> open(const SideConfig& config);

  std::vector<QueuePairInfo> infos() const;
  virtual void connect(const std::vector<QueuePairInfo>& peers) = 0;

  void post(uint32_t index, Operation operation, uint64_t bytes);
  void post_receive(uint32_t index);
  // Tells the peer how many receives were posted in all; needs no completion of its own to be counted.
  void post_credits(uint32_t index, uint64_t receives);
  uint64_t credits(uint32_t index) const;  // that the peer has told
  // Completions of work that post() has begun, and of receives, by queue pair.
  virtual int poll_sends(std::vector<uint32_t>* done) = 0;
  virtual int poll_receives(std::vector<uint32_t>* done) = 0;

 protected:
  explicit Side(const SideConfig& config);
  virtual void post_send(uint32_t index, ibv_send_wr* request) = 0;
  virtual void post_recv(uint32_t index, ibv_recv_wr* request) = 0;
  virtual uint32_t number_of(uint32_t index) const = 0;
  void close_device();
  ibv_qp_attr attributes_of(ibv_qp_state state, const QueuePairInfo* peer) const;
  static void take(const ibv_wc& done, std::vector<uint32_t>* to);

  static constexpr uint64_t kCreditWork = uint64_t{1} << 63;  // in wr_id: a message to the peer's credits
  static constexpr int kPolled = 32;

  const SideConfig config_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<uint8_t>
      memory_;  // of each queue pair: what is sent, what comes; then credits to tell and told
  std::vector<QueuePairInfo> peers_;

  uint64_t place(uint32_t index, unsigned what) const;
};

}  // namespace perf
