// SPDX-License-Identifier: BSD-2-Clause
// The state machine of queue pairs: every pair of states of every type, with the attributes that the kernel's
// table needs, allows and refuses.
#include <cstdint>
#include <string>

#include "objects.h"

namespace conformance {
namespace {

constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                    IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
// All that ibv_modify_qp() knows and this table speaks of.
constexpr int kEveryBit = IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS |
                          IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU |
                          IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_DEST_QPN;
// Alternate paths are optional for a device, so this table leaves open whether they are taken.
constexpr int kOptionalBits = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;

const char* name_of(ibv_qp_state state) {
  constexpr const char* kNames[] = {"reset", "init", "rtr", "rts", "sqd", "sqe", "err"};
  return kNames[state];
}

struct Rule {
  bool legal = false;
  int needed = 0;
  int allowed = 0;
};

int allowed_when_running(ibv_qp_type type) {
  if (type == IBV_QPT_UD) return IBV_QP_CUR_STATE | IBV_QP_QKEY;
  return IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | kOptionalBits |
         (type == IBV_QPT_RC ? IBV_QP_MIN_RNR_TIMER : 0);
}

int allowed_when_drained(ibv_qp_type type) {
  if (type == IBV_QPT_UD) return IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
  const int both = IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | kOptionalBits;
  if (type == IBV_QPT_UC) return both;
  return both | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

Rule rule_of(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const int start = needed_mask(type, IBV_QPS_INIT) & ~IBV_QP_STATE;
  const auto is = [&](ibv_qp_state a, ibv_qp_state b) { return from == a && to == b; };
  if (to == IBV_QPS_RESET) return {true, 0, 0};
  if (to == IBV_QPS_ERR) return {from != IBV_QPS_RESET, 0, 0};
  if (is(IBV_QPS_RESET, IBV_QPS_INIT)) return {true, start, 0};
  if (is(IBV_QPS_INIT, IBV_QPS_INIT)) return {true, 0, start};
  if (is(IBV_QPS_INIT, IBV_QPS_RTR))
    return {true, needed_mask(type, IBV_QPS_RTR) & ~IBV_QP_STATE,
            type == IBV_QPT_UD ? IBV_QP_PKEY_INDEX | IBV_QP_QKEY
                               : IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX};
  if (is(IBV_QPS_RTR, IBV_QPS_RTS))
    return {true, needed_mask(type, IBV_QPS_RTS) & ~IBV_QP_STATE, allowed_when_running(type)};
  if (is(IBV_QPS_RTS, IBV_QPS_RTS) || is(IBV_QPS_SQD, IBV_QPS_RTS))
    return {true, 0, allowed_when_running(type)};
  if (is(IBV_QPS_RTS, IBV_QPS_SQD)) return {true, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY};
  if (is(IBV_QPS_SQD, IBV_QPS_SQD)) return {true, 0, allowed_when_drained(type)};
  return {};
}

struct StateRoom {
  ibv_qp_type type;
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();

  explicit StateRoom(ibv_qp_type type) : type(type) {}
  Owned<ibv_qp> in(ibv_qp_state state) {
    Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq, type));
    bring_to(qp, state, qp->qp_num);
    return qp;
  }
  int modify(ibv_qp* qp, ibv_qp_state from, ibv_qp_state to, int mask) {
    ibv_qp_attr attributes = good_attributes(device(), to, qp->qp_num);
    attributes.cur_qp_state = from;
    attributes.cap = {16, 16, 4, 4, 64};
    return ibv_modify_qp(qp, &attributes, mask | IBV_QP_STATE);
  }
};

void check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  StateRoom room(type);
  const Rule rule = rule_of(type, from, to);
  if (!rule.legal) {
    Owned<ibv_qp> qp = room.in(from);
    // Neither with nothing nor with what that state would need elsewhere.
    CHECK_ERROR(room.modify(qp, from, to, 0), EINVAL);
    CHECK_ERROR(room.modify(qp, from, to, needed_mask(type, to)), EINVAL);
    CHECK_EQ(queried_state(qp), from);
    return;
  }
  {
    Owned<ibv_qp> qp = room.in(from);
    CHECK_OK(room.modify(qp, from, to, rule.needed));
    CHECK_EQ(queried_state(qp), to);
  }
  {
    Owned<ibv_qp> qp = room.in(from);
    CHECK_OK(room.modify(qp, from, to, rule.needed | (rule.allowed & ~kOptionalBits)));
    CHECK_EQ(queried_state(qp), to);
  }
  Owned<ibv_qp> qp = room.in(from);
  for (int bit = 1; bit <= IBV_QP_RATE_LIMIT; bit <<= 1) {
    if ((rule.needed & bit) != 0) {
      const int result = room.modify(qp, from, to, rule.needed & ~bit);
      if (result != EINVAL) throw Failure("does not need attribute " + std::to_string(bit));
    } else if ((kEveryBit & bit) != 0 && (rule.allowed & bit) == 0) {
      const int result = room.modify(qp, from, to, rule.needed | bit);
      if (result == 0) throw Failure("takes attribute " + std::to_string(bit));
    }
  }
  CHECK_EQ(queried_state(qp), from);
}

const bool kTransitionsRegistered = [] {
  for (const ibv_qp_type type : kTypes)
    for (const ibv_qp_state from : kStates)
      for (const ibv_qp_state to : kStates) {
        if (from == IBV_QPS_SQE) continue;  // only an error leads there
        Registration(std::string("state.") + type_name(type) + "_" + name_of(from) + "_to_" + name_of(to),
                     [=] { check_transition(type, from, to); });
      }
  return true;
}();

// --- values out of range, each EINVAL and without effect ---

struct RangeRow {
  const char* name;
  ibv_qp_state to;
  int bit;
  void (*change)(ibv_qp_attr*);
};
constexpr RangeRow kRanges[] = {
    {"port_0", IBV_QPS_INIT, IBV_QP_PORT, [](ibv_qp_attr* a) { a->port_num = 0; }},
    {"port_2", IBV_QPS_INIT, IBV_QP_PORT, [](ibv_qp_attr* a) { a->port_num = 2; }},
    {"pkey_index", IBV_QPS_INIT, IBV_QP_PKEY_INDEX, [](ibv_qp_attr* a) { a->pkey_index = 1; }},
    {"mtu_0", IBV_QPS_RTR, IBV_QP_PATH_MTU, [](ibv_qp_attr* a) { a->path_mtu = static_cast<ibv_mtu>(0); }},
    {"mtu_6", IBV_QPS_RTR, IBV_QP_PATH_MTU, [](ibv_qp_attr* a) { a->path_mtu = static_cast<ibv_mtu>(6); }},
    {"address_without_grh", IBV_QPS_RTR, IBV_QP_AV, [](ibv_qp_attr* a) { a->ah_attr.is_global = 0; }},
    {"address_from_no_gid", IBV_QPS_RTR, IBV_QP_AV, [](ibv_qp_attr* a) { a->ah_attr.grh.sgid_index = 250; }},
    {"address_of_port_2", IBV_QPS_RTR, IBV_QP_AV, [](ibv_qp_attr* a) { a->ah_attr.port_num = 2; }},
    {"rnr_timer", IBV_QPS_RTR, IBV_QP_MIN_RNR_TIMER, [](ibv_qp_attr* a) { a->min_rnr_timer = 32; }},
    {"answers", IBV_QPS_RTR, IBV_QP_MAX_DEST_RD_ATOMIC, [](ibv_qp_attr* a) { a->max_dest_rd_atomic = 255; }},
    {"timeout", IBV_QPS_RTS, IBV_QP_TIMEOUT, [](ibv_qp_attr* a) { a->timeout = 32; }},
    {"retries", IBV_QPS_RTS, IBV_QP_RETRY_CNT, [](ibv_qp_attr* a) { a->retry_cnt = 8; }},
    {"rnr_retries", IBV_QPS_RTS, IBV_QP_RNR_RETRY, [](ibv_qp_attr* a) { a->rnr_retry = 8; }},
    {"reads", IBV_QPS_RTS, IBV_QP_MAX_QP_RD_ATOMIC, [](ibv_qp_attr* a) { a->max_rd_atomic = 255; }},
};

const bool kRangesRegistered = [] {
  for (const RangeRow& row : kRanges)
    Registration(std::string("modify.out_of_range_") + row.name, [&row] {
      StateRoom room(IBV_QPT_RC);
      const ibv_qp_state from = static_cast<ibv_qp_state>(row.to - 1);
      Owned<ibv_qp> qp = room.in(from);
      ibv_qp_attr attributes = good_attributes(device(), row.to, qp->qp_num);
      row.change(&attributes);
      CHECK_ERROR(ibv_modify_qp(qp, &attributes, needed_mask(IBV_QPT_RC, row.to)), EINVAL);
      CHECK_EQ(queried_state(qp), from);
      CHECK_OK(move(qp, row.to, qp->qp_num));
    });
  return true;
}();

}  // namespace

CASE("modify.wrong_current_state") {
  StateRoom room(IBV_QPT_RC);
  Owned<ibv_qp> qp = room.in(IBV_QPS_RTR);
  ibv_qp_attr attributes = good_attributes(device(), IBV_QPS_RTS, qp->qp_num);
  attributes.cur_qp_state = IBV_QPS_SQD;
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, needed_mask(IBV_QPT_RC, IBV_QPS_RTS) | IBV_QP_CUR_STATE),
              EINVAL);
  CHECK_EQ(queried_state(qp), IBV_QPS_RTR);
}

CASE("modify.unknown_state") {
  StateRoom room(IBV_QPT_RC);
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  ibv_qp_attr attributes = good_attributes(device(), static_cast<ibv_qp_state>(42), qp->qp_num);
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), EINVAL);
  CHECK_EQ(queried_state(qp), IBV_QPS_INIT);
}

CASE("modify.unknown_attribute") {
  StateRoom room(IBV_QPT_RC);
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  ibv_qp_attr attributes = good_attributes(device(), IBV_QPS_INIT);
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | 1 << 30), EINVAL, EOPNOTSUPP);
}

CASE("modify.without_state") {
  StateRoom room(IBV_QPT_RC);
  Owned<ibv_qp> qp = room.in(IBV_QPS_RTS);
  ibv_qp_attr attributes = good_attributes(device(), IBV_QPS_RTS);
  attributes.min_rnr_timer = 20;
  CHECK_OK(ibv_modify_qp(qp, &attributes, IBV_QP_MIN_RNR_TIMER));
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(qp, &attributes, IBV_QP_MIN_RNR_TIMER, &init));
  CHECK_EQ(attributes.min_rnr_timer, 20);
  CHECK_EQ(queried_state(qp), IBV_QPS_RTS);
}

CASE("modify.sequence_numbers_have_24_bits") {
  StateRoom room(IBV_QPT_RC);
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  ibv_qp_attr attributes = good_attributes(device(), IBV_QPS_RTR, qp->qp_num);
  attributes.rq_psn = 0xFF123456;
  CHECK_OK(ibv_modify_qp(qp, &attributes, needed_mask(IBV_QPT_RC, IBV_QPS_RTR)));
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(qp, &attributes, IBV_QP_RQ_PSN, &init));
  CHECK_EQ(attributes.rq_psn, 0x123456);
}

CASE("modify.every_mtu") {
  for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; ++mtu) {
    Path path;
    path.mtu = static_cast<ibv_mtu>(mtu);
    Pair pair({.path = path});
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 3, 10001).remote(pair.b.memory, 5).post(pair.a.qp));
    await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
    CHECK(pair.b.memory.has(kSeedA, 5, 10001, 3));
  }
}

// --- what states do ---

CASE("state.reset_forgets_everything") {
  Pair pair;
  for (uint64_t id = 0; id < 4; ++id) CHECK_OK(post_receive(pair.a.qp, id, {pair.a.memory.piece(0, 64)}));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RESET));
  CHECK_OK(move(pair.b.qp, IBV_QPS_RESET));
  expect_quiet(pair.a.receive_cq);
  // Connected again, the other way round works, and the old receives are gone.
  bring_to(pair.a.qp, IBV_QPS_RTS, pair.b.qp->qp_num);
  bring_to(pair.b.qp, IBV_QPS_RTS, pair.a.qp->qp_num);
  CHECK_OK(post_receive(pair.a.qp, 77, {pair.a.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.b.memory, 0, 16).post(pair.b.qp));
  await(pair.a.receive_cq, 77, IBV_WC_SUCCESS);
}

CASE("state.reset_removes_completions") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  CHECK_OK(move(pair.a.qp, IBV_QPS_ERR));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RESET));
  expect_quiet(pair.a.send_cq);
}

CASE("state.used_again_after_an_error") {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(0, 0xBAD).post(pair.a.qp));
    await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
    for (ibv_qp* qp : {pair.a.qp.get(), pair.b.qp.get()}) CHECK_OK(move(qp, IBV_QPS_RESET));
    bring_to(pair.a.qp, IBV_QPS_RTS, pair.b.qp->qp_num);
    bring_to(pair.b.qp, IBV_QPS_RTS, pair.a.qp->qp_num);
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE, 2).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
    await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
  }
}

CASE("state.drained_queue_holds_new_work") {
  Pair pair;
  CHECK_OK(move(pair.a.qp, IBV_QPS_SQD));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  expect_quiet(pair.a.send_cq);
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("state.draining_finishes_what_was_begun") {
  Pair pair;
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                 .piece(pair.a.memory, 0, 60000)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
  CHECK_OK(move(pair.a.qp, IBV_QPS_SQD));
  // What the queue had begun completes; the rest does after it goes on.
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS));
  for (uint64_t id = 0; id < 8; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
}

CASE("state.drained_queue_still_receives") {
  Pair pair;
  CHECK_OK(move(pair.b.qp, IBV_QPS_SQD));
  CHECK_OK(post_receive(pair.b.qp, 5, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.b.receive_cq, 5, IBV_WC_SUCCESS);
}

CASE("state.receives_in_rtr") {
  Pair pair({.until = IBV_QPS_RTR});
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("state.rights_changed_while_running") {
  Pair pair;
  ibv_qp_attr attributes = good_attributes(device(), IBV_QPS_RTS);
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  CHECK_OK(ibv_modify_qp(pair.b.qp, &attributes, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

}  // namespace conformance
