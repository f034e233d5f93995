// SPDX-License-Identifier: BSD-2-Clause
// One side of the connection between two processes: two queue pairs, one of which receives from a shared
// queue, and traffic of every operation, all of which is verified. Both sides are the same.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>

#include "examples/shared/verbs_peer.h"
#include "tests/verbs/process_faults_arena.h"
#include "tests/verbs/process_faults_tally.h"

namespace process_faults {

// What both sides agree on.
struct Terms {
  uint64_t seed;
  uint8_t timeout;  // 4.096 us * 2^timeout
  uint8_t retries;
  bool survivor_sends;
  bool peer_sends;
  uint32_t survivor_may_see;  // status_bit()s, beside success
  uint32_t peer_may_see;

  // How long a request is tried when nobody answers.
  std::chrono::nanoseconds patience() const {
    return std::chrono::nanoseconds(4096) * (uint64_t{1} << timeout) * (retries + 1);
  }
};

inline constexpr size_t kQueuePairs = 2;  // the second one receives from the shared queue

// Where the other side finds what.
struct Offer {
  std::array<uint32_t, kQueuePairs> qpn;
  uint32_t psn;
  ibv_gid gid;
  uint64_t messages;  // what its messages begin with, plus their number
  uint64_t readable_stream;
  struct Place {
    uint64_t address;
    uint32_t key;
  } target, readable, words;
};

class Link {
 public:
  Link(const verbs_test::Device& device, const Terms& terms, bool survivor, Tally& tally);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  Offer offer() const;
  void connect(const Offer& theirs);

  // From now on, or from now on not.
  void send(bool on) { sending_ = on; }
  // Takes what has come and, if it sends and all is done, posts the next requests. False: there was nothing.
  bool drive();
  // Only that.
  bool poll();
  void post_batch();
  // What a child of fork() gets from ibv_poll_cq().
  int poll_in_child(ibv_wc* completion) { return ibv_poll_cq(queue_, 1, completion); }
  bool idle() const { return under_way() == 0; }
  size_t under_way() const { return work_[0].size() + work_[1].size(); }
  // Whether requests of the queue pair have ended with an error; and of any.
  bool failed(size_t pair) const { return failed_[pair]; }
  bool failed() const { return failed_[0] || failed_[1]; }
  // One short READ, before anything else; and whether all of these are done.
  void post_first(size_t pair);
  bool warm() const { return answered_[0] && answered_[1]; }
  // Posts one short WRITE, whatever else is under way.
  void post_probe(size_t pair);
  // Moves a queue pair to the error state.
  void give_up(size_t pair);
  ibv_qp_state state(size_t pair) const;

  Arena& arena() { return arena_; }
  const Terms& terms() const { return terms_; }
  // How the last of its own requests ended.
  ibv_wc_status last_status() const { return last_status_; }
  // How all did.
  const Statuses& statuses() const { return statuses_; }
  uint64_t batches() const { return batches_; }

 private:
  struct Work {
    Operation operation;
    uint64_t id;
    uint32_t bytes;
    size_t landing;     // where a READ or atomic puts its answer
    uint64_t stream;    // what a READ must bring
    uint64_t skip;      // of the stream
    uint64_t original;  // what an atomic must bring
  };

  void make_queue_pair(size_t pair);
  void post_receive(size_t pair, size_t slot);
  void post(size_t pair, ibv_send_wr* request, const Work& work);
  ibv_send_wr request(const Work& work, ibv_wr_opcode opcode, ibv_sge* piece) const;
  void post_write(size_t pair, uint32_t bytes, bool immediate, bool read_back);
  void post_send(size_t pair, uint32_t bytes);
  void post_read(size_t pair, uint32_t bytes);
  void post_atomic(size_t pair);
  void post_some(size_t pair);
  void complete(const ibv_wc& completion);
  void received(size_t pair, const ibv_wc& completion);
  void verify(const Work& work) const;
  void expect_documented(ibv_wc_status status, const char* what) const;
  uint32_t random_bytes(size_t left);

  const verbs_test::Device& device_;
  const Terms terms_;
  const bool survivor_;
  const uint32_t may_see_;
  Tally& tally_;
  verbs_test::Random random_;
  Arena arena_;
  Offer theirs_{};
  uint64_t messages_;
  ibv_cq* queue_ = nullptr;
  ibv_srq* shared_ = nullptr;
  std::array<ibv_qp*, kQueuePairs> pairs_{};
  std::array<std::deque<Work>, kQueuePairs> work_;
  std::array<bool, kQueuePairs> failed_{};
  std::array<bool, kQueuePairs> receives_flushed_{};
  std::array<bool, kQueuePairs> answered_{};      // a READ of ours
  std::array<uint32_t, kQueuePairs> sent_{};      // messages, in order
  std::array<uint32_t, kQueuePairs> received_{};  // of theirs
  std::array<uint64_t, kQueuePairs> adds_{};
  std::array<uint64_t, kQueuePairs> swaps_{};
  Statuses statuses_{};
  ibv_wc_status last_status_ = IBV_WC_SUCCESS;
  uint64_t next_id_ = 1;
  uint64_t batches_ = 0;
  size_t source_used_ = 0;   // by the current batch
  size_t landing_used_ = 0;  // by the current batch
  size_t target_used_ = 0;   // by the current batch
  bool sending_ = false;
};

}  // namespace process_faults
