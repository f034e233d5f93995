// SPDX-License-Identifier: BSD-2-Clause
// What is refused, what is in use, and what queries say.
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

class ObjectsTest : public testing::Test {
 protected:
  void SetUp() override {
    context = open_device();
    ASSERT_NE(context, nullptr) << "run this through mrcrun";
    domain = ibv_alloc_pd(context);
    queue = ibv_create_cq(context, 10, nullptr, nullptr, 0);
    ASSERT_NE(queue, nullptr);
  }
  void TearDown() override {
    if (queue == nullptr) return;
    EXPECT_EQ(ibv_destroy_cq(queue), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }
  void expect_refused(const ibv_qp_init_attr& attributes, int error) {
    ibv_qp_init_attr wanted = attributes;
    errno = 0;
    EXPECT_EQ(ibv_create_qp(domain, &wanted), nullptr);
    EXPECT_EQ(errno, error);
  }

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* queue = nullptr;
  const int kBoth = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
};

TEST_F(ObjectsTest, MemoryThatIsNotThereIsRefused) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* bytes = static_cast<uint8_t*>(memory);
  ASSERT_EQ(mprotect(bytes + 2 * page, page, PROT_NONE), 0);  // a hole could be filled by anybody's mmap()
  EXPECT_EQ(ibv_reg_mr(domain, memory, 4 * page, kBoth), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_reg_mr(domain, nullptr, page, kBoth), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ASSERT_EQ(mprotect(memory, page, PROT_READ), 0);
  EXPECT_EQ(ibv_reg_mr(domain, memory, page, kBoth), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ibv_mr* readable = ibv_reg_mr(domain, memory, page, 0);
  ASSERT_NE(readable, nullptr);
  EXPECT_EQ(ibv_dereg_mr(readable), 0);
  munmap(memory, 4 * page);
}

TEST_F(ObjectsTest, RegionsAreChecked) {
  uint8_t memory[64];
  EXPECT_EQ(ibv_reg_mr(domain, memory, 0, kBoth), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(domain, memory, SIZE_MAX, kBoth), nullptr);
  EXPECT_EQ(ibv_reg_mr(domain, memory, 64, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(domain, memory, 64, kBoth | 1 << 15), nullptr);  // means nothing yet
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(ObjectsTest, WhatIsInUseStays) {
  uint8_t memory[64];
  ibv_mr* region = ibv_reg_mr(domain, memory, sizeof memory, kBoth);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(region->lkey, region->rkey);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  ibv_qp_init_attr wanted = queue_pair_wanted(queue, queue);
  ibv_qp* qp = ibv_create_qp(domain, &wanted);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(queue), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(ObjectsTest, LimitsAreWhatTheDeviceSays) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context, &device), 0);
  ibv_qp_init_attr wanted = queue_pair_wanted(queue, queue);
  wanted.cap.max_send_wr = static_cast<uint32_t>(device.max_qp_wr);
  wanted.cap.max_send_sge = static_cast<uint32_t>(device.max_sge);
  wanted.cap.max_inline_data = 256;
  ibv_qp_init_attr largest = wanted;
  ibv_qp* qp = ibv_create_qp(domain, &largest);
  ASSERT_NE(qp, nullptr);
  EXPECT_GE(largest.cap.max_inline_data, 256u);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  ibv_qp_init_attr beyond = wanted;
  ++beyond.cap.max_send_wr;
  expect_refused(beyond, EINVAL);
  beyond = wanted;
  ++beyond.cap.max_send_sge;
  expect_refused(beyond, EINVAL);
  beyond = wanted;
  ++beyond.cap.max_inline_data;
  expect_refused(beyond, EINVAL);
  EXPECT_EQ(ibv_create_cq(context, device.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, context->num_comp_vectors), nullptr);
}

TEST_F(ObjectsTest, WhatIsNotOfferedIsRefused) {
  ibv_qp_init_attr wanted = queue_pair_wanted(queue, queue);
  for (const ibv_qp_type type : {IBV_QPT_XRC_RECV, IBV_QPT_DRIVER}) {
    wanted.qp_type = type;
    expect_refused(wanted, EOPNOTSUPP);
  }
  ibv_srq_init_attr_ex srq{};
  srq.attr = {10, 1, 0};
  srq.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
  srq.pd = domain;
  srq.srq_type = IBV_SRQT_TM;
  EXPECT_EQ(ibv_create_srq_ex(context, &srq), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(ObjectsTest, TransitionsFollowTheBook) {
  ibv_qp_init_attr wanted = queue_pair_wanted(queue, queue);
  ibv_qp* qp = ibv_create_qp(domain, &wanted);
  ASSERT_NE(qp, nullptr);
  ibv_qp_attr receive = receive_attributes(context, qp->qp_num);
  EXPECT_EQ(ibv_modify_qp(qp, &receive, kReceiveMask), EINVAL) << "RESET to RTR";
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 2;
  EXPECT_EQ(
      ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
      EINVAL)
      << "there is one port";
  EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), EINVAL) << "INIT needs more";
  ASSERT_EQ(to_init(qp), 0);
  EXPECT_EQ(to_init(qp), 0) << "INIT to INIT";
  EXPECT_EQ(ibv_modify_qp(qp, &receive, kReceiveMask & ~IBV_QP_AV), EINVAL);
  ibv_qp_attr wrong = receive;
  wrong.ah_attr.is_global = 0;
  EXPECT_EQ(ibv_modify_qp(qp, &wrong, kReceiveMask), EINVAL);
  wrong = receive;
  wrong.ah_attr.grh.sgid_index = 200;
  EXPECT_EQ(ibv_modify_qp(qp, &wrong, kReceiveMask), EINVAL);
  ASSERT_EQ(ibv_modify_qp(qp, &receive, kReceiveMask), 0);
  ibv_qp_attr send = send_attributes();
  ASSERT_EQ(ibv_modify_qp(qp, &send, kSendMask), 0);

  ibv_qp_attr now{};
  ibv_qp_init_attr made{};
  ASSERT_EQ(ibv_query_qp(qp, &now, IBV_QP_STATE | IBV_QP_AV | IBV_QP_CAP, &made), 0);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(now.path_mtu, IBV_MTU_4096);
  EXPECT_EQ(now.dest_qp_num, qp->qp_num);
  EXPECT_EQ(now.rq_psn, 77u);
  EXPECT_EQ(now.timeout, 14);
  EXPECT_EQ(now.retry_cnt, 7);
  EXPECT_EQ(now.qp_access_flags, static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE));
  EXPECT_EQ(std::memcmp(&now.ah_attr.grh.dgid, &receive.ah_attr.grh.dgid, sizeof(ibv_gid)), 0);
  EXPECT_EQ(made.cap.max_send_wr, 16u);
  EXPECT_EQ(made.send_cq, queue);

  attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  attributes.qp_state = IBV_QPS_RESET;
  EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(to_init(qp), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(ObjectsTest, GidsAreThoseOfTheTableAndThePort) {
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  ASSERT_GE(port.gid_tbl_len, 1);
  ibv_port_attr no_port{};
  EXPECT_NE(ibv_query_port(context, 17, &no_port), 0);
  std::vector<ibv_gid_entry> entries(static_cast<size_t>(port.gid_tbl_len));
  const ssize_t used = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  ASSERT_GE(used, 1);
  ASSERT_LT(used, port.gid_tbl_len);
  for (int i = 0; i < used; ++i) {
    ibv_gid gid{};
    ibv_gid_entry entry{};
    ASSERT_EQ(ibv_query_gid(context, 1, i, &gid), 0);
    ASSERT_EQ(ibv_query_gid_ex(context, 1, static_cast<uint32_t>(i), &entry, 0), 0);
    EXPECT_EQ(std::memcmp(gid.raw, entry.gid.raw, sizeof gid), 0);
    EXPECT_EQ(std::memcmp(gid.raw, entries[static_cast<size_t>(i)].gid.raw, sizeof gid), 0);
    EXPECT_EQ(entry.gid_type, static_cast<uint32_t>(IBV_GID_TYPE_ROCE_V2));
  }
  ibv_gid gid{};
  EXPECT_NE(ibv_query_gid(context, 1, port.gid_tbl_len, &gid), 0);
  EXPECT_EQ(std::memcmp(entries[0].gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12), 0) << "IPv4 comes first";
}

TEST(ContextTest, OpeningIsCheapAndLeaksNothing) {
  const auto descriptors = [] {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd)
      count += access(("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK) == 0;
    return count;
  };
  ibv_context* first = open_device();
  ASSERT_NE(first, nullptr) << "run this through mrcrun";
  ibv_close_device(first);
  const int before = descriptors();
  for (int i = 0; i < 50; ++i) {
    ibv_context* context = open_device();
    ASSERT_NE(context, nullptr);
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    ASSERT_NE(channel, nullptr);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace provider_test
