// SPDX-License-Identifier: BSD-2-Clause
// A process that uses two devices at once: queue pairs of each, and between the two, move data at the same
// time.   two_devices NAME NAME [ROUNDS]
#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "two_devices: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

struct Device {
  static constexpr size_t kBytes = 256 << 10;

  explicit Device(const std::string& name) {
    ibv_device** all = ibv_get_device_list(nullptr);
    for (ibv_device** each = all; all != nullptr && *each != nullptr; ++each)
      if (name == ibv_get_device_name(*each)) context = ibv_open_device(*each);
    if (all != nullptr) ibv_free_device_list(all);
    if (context == nullptr) fail("no device " + name);
    domain = ibv_alloc_pd(context);
    completions = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    memory.resize(2 * kBytes);
    region = domain == nullptr ? nullptr
                               : ibv_reg_mr(domain, memory.data(), memory.size(),
                                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (completions == nullptr || region == nullptr) fail(name);
    if (ibv_query_gid(context, 1, 0, &gid) != 0) fail("GID of " + name);
  }
  ibv_qp* make() {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {16, 16, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(domain, &wanted);
    if (qp == nullptr) fail("create_qp");
    return qp;
  }

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* completions = nullptr;
  ibv_mr* region = nullptr;
  ibv_gid gid{};
  std::vector<uint8_t> memory;
};

void connect(ibv_qp* qp, const ibv_qp* peer, const ibv_gid& gid) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
      0)
    fail("INIT");
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_4096;
  attributes.dest_qp_num = peer->qp_num;
  attributes.max_dest_rd_atomic = 1;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.grh.dgid = gid;
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    fail("RTR");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    fail("RTS");
}

// A connection by which `from` writes into `to`.
struct Way {
  Way(Device& from, Device& to) : from(from), to(to), sender(from.make()), receiver(to.make()) {
    connect(sender, receiver, to.gid);
    connect(receiver, sender, from.gid);
  }
  ~Way() {
    ibv_destroy_qp(sender);
    ibv_destroy_qp(receiver);
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  void post(uint8_t value) {
    std::memset(from.memory.data(), value, Device::kBytes);
    ibv_sge piece{reinterpret_cast<uintptr_t>(from.memory.data()), Device::kBytes, from.region->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(to.memory.data()) + Device::kBytes;
    request.wr.rdma.rkey = to.region->rkey;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(sender, &request, &bad) != 0) fail("post_send");
  }
  void wait(uint8_t value) {
    ibv_wc done{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (ibv_poll_cq(from.completions, 1, &done) == 0)
      if (std::chrono::steady_clock::now() > end) fail("nothing completes");
    if (done.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(done.status));
    for (size_t i = 0; i < Device::kBytes; ++i)
      if (to.memory[Device::kBytes + i] != value) fail("wrong data");
  }

  Device& from;
  Device& to;
  ibv_qp* sender;
  ibv_qp* receiver;
};

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const int rounds = count > 3 ? std::atoi(words[3]) : 20;
  Device first(words[1]);
  Device second(words[2]);
  Way own_first(first, first);
  Way own_second(second, second);
  Way across(first, second);
  for (int i = 1; i <= rounds; ++i) {
    const auto value = static_cast<uint8_t>(i);
    own_first.post(value);  // both under way at the same time
    own_second.post(value);
    own_first.wait(value);
    own_second.wait(value);
    across.post(static_cast<uint8_t>(value + 100));
    across.wait(static_cast<uint8_t>(value + 100));
  }
  std::printf("%d rounds by %s and %s\n", rounds, words[1], words[2]);
  return 0;
}
