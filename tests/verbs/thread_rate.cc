// SPDX-License-Identifier: BSD-2-Clause
// A benchmark: how much threads move that have nothing in common but the device. Each makes a completion
// queue and queue pairs that are connected to themselves, and writes.
//
//   thread_rate [--threads 1,2] [--size 65536] [--qps 1] [--seconds 1] [--rounds 5] [--device mrc0]
//
// Takes the counts of --threads in turn, and prints medians.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/verbs/peer.h"

namespace {

using verbs_test::fail;

constexpr uint32_t kUnderWay = 128;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

void connect_to_self(const verbs_test::Device& device, ibv_qp* qp) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  int failed = ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_4096;
  to.dest_qp_num = qp->qp_num;
  to.max_dest_rd_atomic = 1;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = 1;
  to.ah_attr.grh.dgid = device.gid;
  to.ah_attr.grh.sgid_index = static_cast<uint8_t>(device.gid_index);
  to.ah_attr.grh.hop_limit = 64;
  failed |= ibv_modify_qp(qp, &to,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  to.qp_state = IBV_QPS_RTS;
  to.timeout = 17;
  to.retry_cnt = 7;
  to.rnr_retry = 7;
  to.max_rd_atomic = 1;
  failed |= ibv_modify_qp(qp, &to,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  if (failed != 0) fail("a queue pair cannot be connected");
}

// What one thread has.
class Worker {
 public:
  Worker(const verbs_test::Device& device, size_t bytes, size_t pairs)
      : buffer_(2 * bytes), region_(device.domain, buffer_.data, buffer_.bytes, kAccess), bytes_(bytes) {
    queue_ = ibv_create_cq(device.context, static_cast<int>(pairs * kUnderWay), nullptr, nullptr, 0);
    if (queue_ == nullptr) fail("ibv_create_cq");
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = queue_;
    wanted.cap = {kUnderWay, 1, 1, 1, 0};
    for (size_t i = 0; i < pairs; ++i) {
      pairs_.push_back(ibv_create_qp(device.domain, &wanted));
      if (pairs_.back() == nullptr) fail("ibv_create_qp");
      connect_to_self(device, pairs_.back());
    }
  }
  ~Worker() {
    for (ibv_qp* pair : pairs_) ibv_destroy_qp(pair);
    ibv_destroy_cq(queue_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Messages until told to stop.
  uint64_t run(const std::atomic<bool>& stop) {
    const uint32_t each = std::max<uint32_t>(1, kUnderWay / static_cast<uint32_t>(pairs_.size()));
    for (uint64_t pair = 0; pair < pairs_.size(); ++pair)
      for (uint32_t i = 0; i < each; ++i) post(pair);
    uint64_t done = 0;
    while (!stop) done += poll([this](uint64_t pair) { post(pair); });
    for (uint64_t left = each * pairs_.size(); left > 0;) left -= poll([](uint64_t) {});
    return done;
  }

 private:
  void post(uint64_t pair) {
    ibv_sge piece{reinterpret_cast<uintptr_t>(buffer_.data), static_cast<uint32_t>(bytes_), region_.mr->lkey};
    ibv_send_wr request{};
    request.wr_id = pair;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(buffer_.data) + bytes_;
    request.wr.rdma.rkey = region_.mr->rkey;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(pairs_[pair], &request, &bad) != 0) fail("ibv_post_send");
  }
  template <typename Then>
  uint64_t poll(Then&& then) {
    ibv_wc completions[16];
    const int count = ibv_poll_cq(queue_, 16, completions);
    for (int i = 0; i < count; ++i) {
      if (completions[i].status != IBV_WC_SUCCESS) fail("%s", ibv_wc_status_str(completions[i].status));
      then(completions[i].wr_id);
    }
    return static_cast<uint64_t>(count);
  }

  verbs_test::Buffer buffer_;
  verbs_test::Region region_;
  size_t bytes_;
  ibv_cq* queue_ = nullptr;
  std::vector<ibv_qp*> pairs_;
};

// Messages per second of all threads together.
double measure(const verbs_test::Device& device, size_t threads, size_t bytes, size_t pairs, double seconds) {
  std::atomic<size_t> ready{0};
  std::atomic<bool> begin{false};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> messages{0};
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i)
    running.emplace_back([&] {
      Worker worker(device, bytes, pairs);
      ++ready;
      while (!begin) std::this_thread::yield();
      messages += worker.run(stop);
    });
  while (ready < threads) std::this_thread::yield();
  begin = true;
  const auto since = verbs_test::Clock::now();
  ::usleep(static_cast<useconds_t>(seconds * 1e6));
  stop = true;
  const std::chrono::duration<double> took = verbs_test::Clock::now() - since;
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(messages) / took.count();
}

double number(int argc, char** argv, const char* name, double otherwise) {
  const char* text = verbs_test::option(argc, argv, name);
  return text != nullptr ? std::atof(text) : otherwise;
}

std::vector<size_t> counts(const char* text) {
  std::vector<size_t> result;
  for (char* next = nullptr; *text != '\0'; text = *next == ',' ? next + 1 : next) {
    result.push_back(std::strtoull(text, &next, 10));
    if (next == text || result.back() == 0) fail("--threads: numbers, with commas between them");
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = verbs_test::option(argc, argv, "--device");
  const char* threads = verbs_test::option(argc, argv, "--threads");
  const auto bytes = static_cast<size_t>(number(argc, argv, "--size", 65536));
  const auto pairs = static_cast<size_t>(number(argc, argv, "--qps", 1));
  const double seconds = number(argc, argv, "--seconds", 1);
  const auto rounds = static_cast<size_t>(number(argc, argv, "--rounds", 5));
  const std::vector<size_t> wanted = counts(threads != nullptr ? threads : "1,2");
  if (bytes == 0 || pairs == 0 || rounds == 0 || seconds <= 0) fail("all numbers must be above 0");
  const verbs_test::Device device(name != nullptr ? name : "mrc0");
  std::vector<std::vector<double>> rates(wanted.size());
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < wanted.size(); ++i)
      rates[i].push_back(measure(device, wanted[i], bytes, pairs, seconds));
  std::printf("%8s %12s %10s %8s\n", "threads", "messages/s", "MiB/s", "ratio");
  std::vector<double> medians;
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::sort(rates[i].begin(), rates[i].end());
    medians.push_back(rates[i][rounds / 2]);
    std::printf("%8zu %12.0f %10.0f %8.2f\n", wanted[i], medians[i],
                medians[i] * static_cast<double>(bytes) / (1 << 20), medians[i] / medians[0]);
  }
  return 0;
}
