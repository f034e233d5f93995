// SPDX-License-Identifier: BSD-2-Clause
// Memory windows of type 1 (ibv_bind_mw) and type 2 (a work request).
#include <cstdint>

#include "objects.h"

namespace conformance {
namespace {

constexpr int kBindable = kAllAccess | IBV_ACCESS_MW_BIND;
constexpr unsigned kWindowAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// A pair whose b side has a region that windows may be bound to, and a window.
struct WindowPair : Pair {
  Memory target;
  Owned<ibv_mw> window;

  explicit WindowPair(ibv_mw_type type, int access = kBindable)
      : Pair(), target(pd, 8192, access), window(own(ibv_alloc_mw(pd, type), "ibv_alloc_mw")) {}

  ibv_mw_bind_info info(size_t offset, uint64_t bytes, unsigned access = kWindowAccess) {
    return {target.mr, target.address(offset), bytes, access};
  }
  // Type 1, on b's queue pair.
  int bind_1(const ibv_mw_bind_info& info) {
    ibv_mw_bind wanted{};
    wanted.wr_id = 77;
    wanted.send_flags = IBV_SEND_SIGNALED;
    wanted.bind_info = info;
    return ibv_bind_mw(b.qp, window, &wanted);
  }
  void bind_1_done(const ibv_mw_bind_info& info) {
    CHECK_OK(bind_1(info));
    CHECK_EQ(await(b.send_cq, 77, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
  }
  // Type 2: a work request on b's queue pair; the new key is the caller's choice.
  int bind_2(const ibv_mw_bind_info& info, uint32_t key) {
    ibv_send_wr request{};
    request.wr_id = 78;
    request.opcode = IBV_WR_BIND_MW;
    request.send_flags = IBV_SEND_SIGNALED;
    request.bind_mw.mw = window;
    request.bind_mw.rkey = key;
    request.bind_mw.bind_info = info;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(b.qp, &request, &bad);
  }
  uint32_t bind_2_done(const ibv_mw_bind_info& info) {
    const uint32_t key = ibv_inc_rkey(window->rkey);
    CHECK_OK(bind_2(info, key));
    CHECK_EQ(await(b.send_cq, 78, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
    return key;
  }
  ibv_wc_status write(size_t offset, uint32_t key, uint32_t bytes = 16) {
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE).piece(a.memory, 0, bytes).remote(target.address(offset), key).post(a.qp));
    return await(a.send_cq).status;
  }
};

// A binding that is wrong is refused at once, or completes with an error.
void expect_bind_error(WindowPair& pair, int posted) {
  if (posted != 0) return CHECK_ERROR(posted, EINVAL, EPERM, EOPNOTSUPP);
  CHECK_EQ(await(pair.b.send_cq).status, IBV_WC_MW_BIND_ERR);
}

}  // namespace

CASE("mw.offered") {
  const ibv_device_attr attributes = device_attributes();
  CHECK(attributes.max_mw >= 1024);
  CHECK(attributes.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
  CHECK(attributes.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B));
}

CASE("mw.alloc_type_1") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_mw> window = own(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
  CHECK_EQ(window->type, IBV_MW_TYPE_1);
  CHECK(window->pd == pd.get());
}

CASE("mw.alloc_type_2") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_mw> window = own(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
  CHECK_EQ(window->type, IBV_MW_TYPE_2);
}

CASE("mw.alloc_unknown_type") {
  Owned<ibv_pd> pd = make_pd();
  CHECK_REFUSED(ibv_alloc_mw(pd, static_cast<ibv_mw_type>(3)), EINVAL, EOPNOTSUPP);
}

CASE("mw.type_1_opens_a_part") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(1024, 512));
  CHECK_EQ(pair.write(1024, pair.window->rkey), IBV_WC_SUCCESS);
  CHECK(pair.target.has(kSeedA, 1024, 16, 0));
}

// It says nothing, but programs say it and NICs take it.
CASE("mw.local_write_in_a_binding") {
  WindowPair pair(IBV_MW_TYPE_1);
  ibv_mw_bind_info info = pair.info(64, 256);
  info.mw_access_flags |= IBV_ACCESS_LOCAL_WRITE;
  pair.bind_1_done(info);
  CHECK_EQ(pair.write(64, pair.window->rkey), IBV_WC_SUCCESS);
}

CASE("mw.type_1_last_byte") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(1024, 512));
  CHECK_EQ(pair.write(1024 + 512 - 16, pair.window->rkey), IBV_WC_SUCCESS);
}

CASE("mw.type_1_not_before_it") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(1024, 512));
  CHECK_EQ(pair.write(1023, pair.window->rkey), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_1_not_beyond_it") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(1024, 512));
  CHECK_EQ(pair.write(1024 + 512 - 15, pair.window->rkey), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_1_key_changes_with_each_binding") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(0, 512));
  const uint32_t first = pair.window->rkey;
  pair.bind_1_done(pair.info(0, 512));
  CHECK(pair.window->rkey != first);
  CHECK_EQ(pair.write(0, first), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_1_before_binding") {
  WindowPair pair(IBV_MW_TYPE_1);
  CHECK_EQ(pair.write(0, pair.window->rkey), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_1_unbound_by_no_bytes") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(0, 512));
  const uint32_t key = pair.window->rkey;
  pair.bind_1_done(ibv_mw_bind_info{});
  CHECK_EQ(pair.write(0, key), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_1_rights_are_those_of_the_window") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(0, 512, IBV_ACCESS_REMOTE_READ));
  CHECK_EQ(pair.write(0, pair.window->rkey), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_1_read_through_it") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.target.fill(kSeedB);
  pair.bind_1_done(pair.info(512, 512, IBV_ACCESS_REMOTE_READ));
  CHECK_OK(Request(IBV_WR_RDMA_READ)
               .piece(pair.a.memory, 0, 256)
               .remote(pair.target.address(512), pair.window->rkey)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.a.send_cq).status, IBV_WC_SUCCESS);
  CHECK(pair.a.memory.has(kSeedB, 0, 256, 512));
}

CASE("mw.bind_beyond_the_region") {
  WindowPair pair(IBV_MW_TYPE_1);
  expect_bind_error(pair, pair.bind_1(pair.info(8000, 512)));
}

CASE("mw.bind_to_a_region_that_does_not_allow_it") {
  WindowPair pair(IBV_MW_TYPE_1, kAllAccess);
  expect_bind_error(pair, pair.bind_1(pair.info(0, 512)));
}

CASE("mw.bind_writable_over_a_region_that_is_not") {
  WindowPair pair(IBV_MW_TYPE_1, IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_READ);
  expect_bind_error(pair, pair.bind_1(pair.info(0, 512, IBV_ACCESS_REMOTE_WRITE)));
}

CASE("mw.bind_a_region_of_another_domain") {
  WindowPair pair(IBV_MW_TYPE_1);
  Owned<ibv_pd> other = make_pd();
  Memory elsewhere(other, 4096, kBindable);
  CHECK_ERROR(pair.bind_1({elsewhere.mr, elsewhere.address(), 512, kWindowAccess}), EPERM);
}

CASE("mw.type_2_by_the_call_for_type_1") {
  WindowPair pair(IBV_MW_TYPE_2);
  CHECK_ERROR(pair.bind_1(pair.info(0, 512)), EINVAL);
}

CASE("mw.region_busy_while_bound") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(0, 512));
  CHECK_ERROR(ibv_dereg_mr(pair.target.mr), EBUSY);
  pair.window.reset();
}

CASE("mw.key_ends_with_the_window") {
  WindowPair pair(IBV_MW_TYPE_1);
  pair.bind_1_done(pair.info(0, 512));
  const uint32_t key = pair.window->rkey;
  pair.window.reset();
  CHECK_EQ(pair.write(0, key), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_2_opens_a_part") {
  WindowPair pair(IBV_MW_TYPE_2);
  const uint32_t key = pair.bind_2_done(pair.info(1024, 512));
  CHECK_EQ(pair.write(1024, key), IBV_WC_SUCCESS);
  CHECK(pair.target.has(kSeedA, 1024, 16, 0));
}

CASE("mw.type_2_not_beyond_it") {
  WindowPair pair(IBV_MW_TYPE_2);
  const uint32_t key = pair.bind_2_done(pair.info(1024, 512));
  CHECK_EQ(pair.write(1024 + 500, key), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_2_local_invalidate") {
  WindowPair pair(IBV_MW_TYPE_2);
  const uint32_t key = pair.bind_2_done(pair.info(0, 512));
  CHECK_OK(Request(IBV_WR_LOCAL_INV, 79).invalidate(key).post(pair.b.qp));
  CHECK_EQ(await(pair.b.send_cq, 79, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
  CHECK_EQ(pair.write(0, key), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_2_bound_again_after_invalidate") {
  WindowPair pair(IBV_MW_TYPE_2);
  uint32_t key = pair.bind_2_done(pair.info(0, 512));
  CHECK_OK(Request(IBV_WR_LOCAL_INV, 79).invalidate(key).post(pair.b.qp));
  await(pair.b.send_cq, 79, IBV_WC_SUCCESS);
  const uint32_t next = ibv_inc_rkey(key);
  CHECK_OK(pair.bind_2(pair.info(512, 512), next));
  await(pair.b.send_cq, 78, IBV_WC_SUCCESS);
  CHECK_EQ(pair.write(512, next), IBV_WC_SUCCESS);
}

CASE("mw.type_2_send_with_invalidate") {
  WindowPair pair(IBV_MW_TYPE_2);
  const uint32_t key = pair.bind_2_done(pair.info(0, 512));
  CHECK_OK(post_receive(pair.b.qp, 5, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND_WITH_INV, 6).piece(pair.a.memory, 0, 8).invalidate(key).post(pair.a.qp));
  await(pair.a.send_cq, 6, IBV_WC_SUCCESS);
  const ibv_wc completion = await(pair.b.receive_cq, 5, IBV_WC_SUCCESS);
  CHECK(completion.wc_flags & IBV_WC_WITH_INV);
  CHECK_EQ(completion.invalidated_rkey, key);
  CHECK_EQ(pair.write(0, key), IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.type_2_belongs_to_its_queue_pair") {
  WindowPair pair(IBV_MW_TYPE_2);
  const uint32_t key = pair.bind_2_done(pair.info(0, 512));
  Pair other;
  // A third and a fourth queue pair of the same protection domain as the window.
  Owned<ibv_qp> from = make_qp(pair.pd, qp_wanted(other.a.send_cq, other.a.receive_cq));
  Owned<ibv_qp> to = make_qp(pair.pd, qp_wanted(other.b.send_cq, other.b.receive_cq));
  bring_to(from, IBV_QPS_RTS, to->qp_num);
  bring_to(to, IBV_QPS_RTS, from->qp_num);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 9)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.target.address(0), key)
               .post(from));
  await(other.a.send_cq, 9, IBV_WC_REM_ACCESS_ERR);
}

CASE("mw.invalidate_an_unknown_key") {
  WindowPair pair(IBV_MW_TYPE_2);
  const int posted = Request(IBV_WR_LOCAL_INV, 79).invalidate(0xDEAD00).post(pair.b.qp);
  if (posted != 0) return CHECK_ERROR(posted, EINVAL);
  CHECK(await(pair.b.send_cq).status != IBV_WC_SUCCESS);
}

CASE("mw.send_with_invalidate_of_an_unknown_key") {
  WindowPair pair(IBV_MW_TYPE_2);
  CHECK_OK(post_receive(pair.b.qp, 5, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND_WITH_INV, 6).piece(pair.a.memory, 0, 8).invalidate(0xDEAD00).post(pair.a.qp));
  const ibv_wc_status status = await(pair.a.send_cq).status;
  CHECK(status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR);
}

}  // namespace conformance
