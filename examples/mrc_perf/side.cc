// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_perf/side.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "examples/mrc_perf/made_paths.h"
#include "include/mrc/mrc.h"

namespace perf {
namespace {

ibv_context* open_named(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i)
    if (name.empty() || name == ibv_get_device_name(devices[i])) context = ibv_open_device(devices[i]);
  if (devices != nullptr) ibv_free_device_list(devices);
  if (context == nullptr) give_up("no device " + name + "; start this by mrcrun");
  return context;
}

ibv_wr_opcode opcode_of(Operation operation) {
  switch (operation) {
    case Operation::kWrite:
      return IBV_WR_RDMA_WRITE;
    case Operation::kWriteImm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Operation::kSend:
      return IBV_WR_SEND;
    case Operation::kRead:
      return IBV_WR_RDMA_READ;
    case Operation::kAtomic:
      break;
  }
  return IBV_WR_ATOMIC_FETCH_AND_ADD;
}

constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kReceive = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSend = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                      IBV_QP_MAX_QP_RD_ATOMIC;

class VerbsSide final : public Side {
 public:
  explicit VerbsSide(const SideConfig& config) : Side(config) {
    const int entries = static_cast<int>(config.queue_pairs * (config.depth + 64));
    sends_ = ibv_create_cq(context_, entries, nullptr, nullptr, 0);
    receives_ = ibv_create_cq(context_, 2 * entries, nullptr, nullptr, 0);
    if (sends_ == nullptr || receives_ == nullptr) give_up("no completion queue");
    for (uint32_t i = 0; i < config.queue_pairs; ++i) {
      ibv_qp_init_attr wanted{};
      wanted.send_cq = sends_;
      wanted.recv_cq = receives_;
      wanted.qp_type = IBV_QPT_RC;
      wanted.cap = {config.depth + 64, 2 * config.depth, 1, 1, 0};
      qps_.push_back(ibv_create_qp(domain_, &wanted));
      if (qps_.back() == nullptr) give_up("no queue pair");
    }
  }
  ~VerbsSide() override {
    for (ibv_qp* qp : qps_) ibv_destroy_qp(qp);
    ibv_destroy_cq(sends_);
    ibv_destroy_cq(receives_);
    close_device();
  }
  void connect(const std::vector<QueuePairInfo>& peers) override {
    peers_ = peers;
    for (size_t i = 0; i < qps_.size(); ++i) {
      ibv_qp_attr init = attributes_of(IBV_QPS_INIT, nullptr);
      ibv_qp_attr receive = attributes_of(IBV_QPS_RTR, &peers[i]);
      ibv_qp_attr send = attributes_of(IBV_QPS_RTS, nullptr);
      if (ibv_modify_qp(qps_[i], &init, kInit) != 0 || ibv_modify_qp(qps_[i], &receive, kReceive) != 0 ||
          ibv_modify_qp(qps_[i], &send, kSend) != 0)
        give_up("a queue pair cannot be connected");
    }
  }
  int poll_sends(std::vector<uint32_t>* done) override { return poll(sends_, done); }
  int poll_receives(std::vector<uint32_t>* done) override { return poll(receives_, done); }

 private:
  void post_send(uint32_t index, ibv_send_wr* request) override {
    ibv_send_wr* bad = nullptr;
    if ((errno = ibv_post_send(qps_[index], request, &bad)) != 0) give_up("a request is refused");
  }
  void post_recv(uint32_t index, ibv_recv_wr* request) override {
    ibv_recv_wr* bad = nullptr;
    if ((errno = ibv_post_recv(qps_[index], request, &bad)) != 0) give_up("a receive request is refused");
  }
  uint32_t number_of(uint32_t index) const override { return qps_[index]->qp_num; }
  static int poll(ibv_cq* queue, std::vector<uint32_t>* done) {
    ibv_wc completions[kPolled];
    const int count = ibv_poll_cq(queue, kPolled, completions);
    if (count < 0) give_up("polling fails");
    for (int i = 0; i < count; ++i) take(completions[i], done);
    return count;
  }

  ibv_cq* sends_ = nullptr;
  ibv_cq* receives_ = nullptr;
  std::vector<ibv_qp*> qps_;
};

class MrcSide final : public Side {
 public:
  explicit MrcSide(const SideConfig& config) : Side(config) {
    mrc_context_attr version{MRC_API_VER_USED, 0};
    mrc_ = mrc_create_context(context_, &version);
    if (mrc_ == nullptr) give_up("the device does not speak MRC");
    if (config.srv6_paths > 0) paths_ = std::make_unique<MadePaths>(context_, mrc_, config.srv6_paths);
    const int entries = static_cast<int>(config.queue_pairs * (config.depth + 64));
    sends_ = mrc_create_cq(mrc_, entries, nullptr, nullptr, 0);
    receives_ = mrc_create_cq(mrc_, 2 * entries, nullptr, nullptr, 0);
    if (sends_ == nullptr || receives_ == nullptr) give_up("no completion queue");
    for (uint32_t i = 0; i < config.queue_pairs; ++i) {
      mrc_qp_init_attr wanted{};
      wanted.send_cq = sends_;
      wanted.recv_cq = receives_;
      wanted.cap = {config.depth + 64, 2 * config.depth, 1, 1, 0};
      wanted.pd = domain_;
      qps_.push_back(mrc_create_qp(mrc_, &wanted));
      if (qps_.back() == nullptr) give_up("no queue pair");
    }
  }
  ~MrcSide() override {
    for (mrc_qp* qp : qps_) mrc_destroy_qp(qp);
    mrc_destroy_cq(sends_);
    mrc_destroy_cq(receives_);
    paths_.reset();
    mrc_destroy_context(mrc_);
    close_device();
  }
  void connect(const std::vector<QueuePairInfo>& peers) override {
    peers_ = peers;
    mrc_qp_attr more{};
    more.profile.ev_profile_id = paths_ != nullptr ? paths_->profile() : config_.ev_profile;
    more.timeout = 18;
    more.retry.linear_cnt = 7;
    for (size_t i = 0; i < qps_.size(); ++i) {
      ibv_qp_attr init = attributes_of(IBV_QPS_INIT, nullptr);
      ibv_qp_attr receive = attributes_of(IBV_QPS_RTR, &peers[i]);
      ibv_qp_attr send = attributes_of(IBV_QPS_RTS, nullptr);
      if (mrc_modify_qp(qps_[i], &init, kInit, &more, MRC_QP_EV_PROFILE_ID) != 0)
        give_up("a queue pair cannot be made ready; is the EV profile online?");
      if (mrc_modify_qp(qps_[i], &receive, kReceive, nullptr, 0) != 0 ||
          mrc_modify_qp(qps_[i], &send, kSend, &more, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT) != 0)
        give_up("a queue pair cannot be connected");
    }
  }
  int poll_sends(std::vector<uint32_t>* done) override { return poll(sends_, done); }
  int poll_receives(std::vector<uint32_t>* done) override { return poll(receives_, done); }

 private:
  void post_send(uint32_t index, ibv_send_wr* request) override {
    ibv_send_wr* bad = nullptr;
    if (mrc_post_send(qps_[index], request, &bad) != 0) give_up("a request is refused");
  }
  void post_recv(uint32_t index, ibv_recv_wr* request) override {
    ibv_recv_wr* bad = nullptr;
    if (mrc_post_recv(qps_[index], request, &bad) != 0) give_up("a receive request is refused");
  }
  uint32_t number_of(uint32_t index) const override {
    uint32_t number = 0;
    mrc_get_qpn(qps_[index], &number);
    return number;
  }
  static int poll(mrc_cq* queue, std::vector<uint32_t>* done) {
    ibv_wc completions[kPolled];
    const int count = mrc_poll_cq(queue, kPolled, completions);
    if (count < 0) give_up("polling fails");
    for (int i = 0; i < count; ++i) take(completions[i], done);
    return count;
  }

  mrc_context* mrc_ = nullptr;
  std::unique_ptr<MadePaths> paths_;
  mrc_cq* sends_ = nullptr;
  mrc_cq* receives_ = nullptr;
  std::vector<mrc_qp*> qps_;
};

}  // namespace

void give_up(const std::string& why) {
  if (errno != 0)
    std::fprintf(stderr, "mrc_perf: %s: %s\n", why.c_str(), std::strerror(errno));
  else
    std::fprintf(stderr, "mrc_perf: %s\n", why.c_str());
  std::exit(1);
}

std::unique_ptr<Side> Side::open(const SideConfig& config) {
  if (config.api == Api::kMrc) return std::make_unique<MrcSide>(config);
  return std::make_unique<VerbsSide>(config);
}

Side::Side(const SideConfig& config) : config_(config) {
  context_ = open_named(config.device);
  domain_ = ibv_alloc_pd(context_);
  if (domain_ == nullptr) give_up("no protection domain");
  memory_.assign(config.queue_pairs * 2 * config.bytes_max + uint64_t{config.queue_pairs} * 16, 0);
  region_ = ibv_reg_mr(
      domain_, memory_.data(), memory_.size(),
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  if (region_ == nullptr) give_up("memory cannot be registered");
}

void Side::close_device() {
  ibv_dereg_mr(region_);
  ibv_dealloc_pd(domain_);
  ibv_close_device(context_);
}

// 0: what is sent, 1: what comes; 2: credits to tell the peer, 3: those that it has told.
uint64_t Side::place(uint32_t index, unsigned what) const {
  const auto base = reinterpret_cast<uintptr_t>(memory_.data());
  if (what < 2) return base + (2 * uint64_t{index} + what) * config_.bytes_max;
  return base + config_.queue_pairs * 2 * config_.bytes_max + 16 * uint64_t{index} + (what - 2) * 8;
}

std::vector<QueuePairInfo> Side::infos() const {
  ibv_gid gid;
  if (ibv_query_gid(context_, 1, config_.gid_index, &gid) != 0) give_up("no such GID");
  std::vector<QueuePairInfo> infos(config_.queue_pairs);
  for (uint32_t i = 0; i < config_.queue_pairs; ++i) {
    infos[i] = {number_of(i), region_->rkey, place(i, 1), place(i, 3), {}};
    std::memcpy(infos[i].gid, gid.raw, sizeof gid.raw);
  }
  return infos;
}

ibv_qp_attr Side::attributes_of(ibv_qp_state state, const QueuePairInfo* peer) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  attributes.path_mtu = IBV_MTU_4096;
  ibv_port_attr port{};
  if (ibv_query_port(context_, 1, &port) == 0) attributes.path_mtu = port.active_mtu;
  attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 16;
  attributes.min_rnr_timer = 12;
  attributes.timeout = 14;
  attributes.retry_cnt = attributes.rnr_retry = 7;
  if (peer == nullptr) return attributes;
  attributes.dest_qp_num = peer->qpn;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.grh.sgid_index = static_cast<uint8_t>(config_.gid_index);
  attributes.ah_attr.grh.hop_limit = 64;
  std::memcpy(attributes.ah_attr.grh.dgid.raw, peer->gid, sizeof peer->gid);
  return attributes;
}

void Side::post(uint32_t index, Operation operation, uint64_t bytes) {
  const QueuePairInfo& peer = peers_[index];
  ibv_sge piece{place(index, 0), static_cast<uint32_t>(bytes), region_->lkey};
  ibv_send_wr request{};
  request.wr_id = index;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = opcode_of(operation);
  request.send_flags = IBV_SEND_SIGNALED;
  if (operation == Operation::kAtomic) {
    request.wr.atomic = {peer.data, 1, 0, peer.rkey};
  } else {
    request.wr.rdma = {peer.data, peer.rkey};
  }
  post_send(index, &request);
}

void Side::post_receive(uint32_t index) {
  ibv_sge piece{place(index, 1), static_cast<uint32_t>(config_.bytes_max), region_->lkey};
  ibv_recv_wr request{};
  request.wr_id = index;
  request.sg_list = &piece;
  request.num_sge = 1;
  post_recv(index, &request);
}

void Side::post_credits(uint32_t index, uint64_t receives) {
  std::memcpy(reinterpret_cast<void*>(place(index, 2)), &receives, sizeof receives);
  ibv_sge piece{place(index, 2), sizeof receives, region_->lkey};
  ibv_send_wr request{};
  request.wr_id = kCreditWork | index;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {peers_[index].credits, peers_[index].rkey};
  post_send(index, &request);
}

uint64_t Side::credits(uint32_t index) const {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(place(index, 3)), __ATOMIC_ACQUIRE);
}

void Side::take(const ibv_wc& done, std::vector<uint32_t>* to) {
  if (done.status != IBV_WC_SUCCESS) {
    errno = 0;
    give_up(std::string("a request fails: ") + ibv_wc_status_str(done.status));
  }
  if ((done.wr_id & kCreditWork) == 0) to->push_back(static_cast<uint32_t>(done.wr_id));
}

}  // namespace perf
