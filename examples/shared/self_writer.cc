// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/self_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace mrc::bench {

namespace {
constexpr uint32_t kUnderWay = 128;  // messages of one thread
constexpr uint64_t kRounds = 2;      // of all that are under way, before anything is counted
}  // namespace

void fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

OpenDevice::OpenDevice(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; i < count && context == nullptr; ++i)
    if (name == ibv_get_device_name(devices[i])) context = ibv_open_device(devices[i]);
  if (devices != nullptr) ibv_free_device_list(devices);
  if (context == nullptr) fail(("the device " + name + " cannot be opened").c_str());
  domain = ibv_alloc_pd(context);
  if (domain == nullptr) fail("ibv_alloc_pd");
  if (ibv_query_gid(context, 1, 0, &gid) != 0) fail("ibv_query_gid");
}

OpenDevice::~OpenDevice() {
  ibv_dealloc_pd(domain);
  ibv_close_device(context);
}

void connect_to_self(const OpenDevice& device, ibv_qp* pair) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  int failed = ibv_modify_qp(pair, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_4096;
  to.dest_qp_num = pair->qp_num;
  to.max_dest_rd_atomic = 1;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = 1;
  to.ah_attr.grh.dgid = device.gid;
  to.ah_attr.grh.hop_limit = 64;
  failed |= ibv_modify_qp(pair, &to,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  to.qp_state = IBV_QPS_RTS;
  to.timeout = 17;
  to.retry_cnt = 7;
  to.rnr_retry = 7;
  to.max_rd_atomic = 1;
  failed |= ibv_modify_qp(pair, &to,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  if (failed != 0) fail("a queue pair cannot be connected");
}

SelfWriter::SelfWriter(const OpenDevice& device, size_t message_bytes, size_t pairs)
    : memory_(2 * message_bytes), bytes_(message_bytes), domain_(device.domain) {
  use_regions(1, 1);
  const uint32_t each = std::max<uint32_t>(1, kUnderWay / static_cast<uint32_t>(pairs));
  queue_ = ibv_create_cq(device.context, static_cast<int>(pairs * each), nullptr, nullptr, 0);
  if (queue_ == nullptr) fail("ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = queue_;
  wanted.cap = {each, 1, 1, 1, 0};
  for (size_t i = 0; i < pairs; ++i) {
    pairs_.push_back(ibv_create_qp(device.domain, &wanted));
    if (pairs_.back() == nullptr) fail("ibv_create_qp");
    connect_to_self(device, pairs_.back());
  }
}

SelfWriter::~SelfWriter() {
  for (ibv_qp* pair : pairs_) ibv_destroy_qp(pair);
  ibv_destroy_cq(queue_);
  for (ibv_mr* region : regions_) ibv_dereg_mr(region);
}

ibv_mr* SelfWriter::register_memory() {
  ibv_mr* region =
      ibv_reg_mr(domain_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (region == nullptr) fail("ibv_reg_mr");
  return region;
}

void SelfWriter::use_regions(size_t count, size_t used) {
  while (regions_.size() < count) regions_.push_back(register_memory());
  used_.clear();
  next_used_ = 0;
  for (size_t i = 0; i < used; ++i) {
    const ibv_mr& region = *regions_[i * (count / used)];
    used_.push_back({region.lkey, region.rkey});
  }
}

void SelfWriter::warm_up() {
  const uint32_t each = std::max<uint32_t>(1, kUnderWay / static_cast<uint32_t>(pairs_.size()));
  for (uint64_t pair = 0; pair < pairs_.size(); ++pair)
    for (uint32_t i = 0; i < each; ++i) post(pair);
  under_way_ = each * pairs_.size();
  for (uint64_t done = 0; done < kRounds * under_way_;) done += poll(true);
}

uint64_t SelfWriter::run(const std::atomic<bool>& stop) {
  uint64_t done = 0;
  // One at least: a busy machine may have had no CPU for us in a short time.
  while (!stop || done == 0) done += poll(true);
  for (uint64_t left = under_way_; left > 0;) left -= poll(false);
  return done;
}

void SelfWriter::post(uint64_t pair) {
  const Keys keys = used_[next_used_];
  next_used_ = next_used_ + 1 < used_.size() ? next_used_ + 1 : 0;
  ibv_sge piece{reinterpret_cast<uintptr_t>(memory_.data()), static_cast<uint32_t>(bytes_), keys.local};
  ibv_send_wr request{};
  request.wr_id = pair;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(memory_.data()) + bytes_;
  request.wr.rdma.rkey = keys.remote;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pairs_[pair], &request, &bad) != 0) fail("ibv_post_send");
}

uint64_t SelfWriter::poll(bool again) {
  ibv_wc completions[16];
  const int count = ibv_poll_cq(queue_, 16, completions);
  for (int i = 0; i < count; ++i) {
    if (completions[i].status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(completions[i].status));
    if (again) post(completions[i].wr_id);
  }
  return static_cast<uint64_t>(std::max(count, 0));
}

double measure_regions(const OpenDevice& device, size_t regions, size_t used, double seconds) {
  SelfWriter writer(device, 64, 1);
  writer.use_regions(regions, used);
  writer.warm_up();
  std::atomic<bool> stop{false};
  const auto since = std::chrono::steady_clock::now();
  std::thread clock([&] {
    usleep(static_cast<useconds_t>(seconds * 1e6));
    stop = true;
  });
  const uint64_t messages = writer.run(stop);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  clock.join();
  return static_cast<double>(messages) / took.count();
}

double measure_threads(const OpenDevice& device, size_t threads, size_t message_bytes, size_t pairs,
                       double seconds) {
  std::atomic<size_t> ready{0};
  std::atomic<bool> begin{false};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> messages{0};
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i)
    running.emplace_back([&] {
      SelfWriter writer(device, message_bytes, pairs);
      writer.warm_up();
      ++ready;
      while (!begin) std::this_thread::yield();
      messages += writer.run(stop);
    });
  while (ready < threads) std::this_thread::yield();
  begin = true;
  const auto since = std::chrono::steady_clock::now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  stop = true;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(messages) / took.count();
}

}  // namespace mrc::bench
