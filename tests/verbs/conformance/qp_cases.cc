// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs: creation and its limits, and what a query tells.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

struct Room {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq(1024);
};

// Creation with changed wishes: 0 or the errno; what was granted is in *wanted.
int error_of_creation(const std::function<void(ibv_qp_init_attr*)>& change,
                      ibv_qp_init_attr* granted = nullptr) {
  Room room;
  ibv_qp_init_attr wanted = qp_wanted(room.cq, room.cq);
  change(&wanted);
  errno = 0;
  Owned<ibv_qp> qp(ibv_create_qp(room.pd, &wanted));
  const int error = qp.get() != nullptr ? 0 : errno;
  if (granted != nullptr) *granted = wanted;
  return error;
}

uint32_t limit_of(int value) {
  return static_cast<uint32_t>(value);
}

const bool kByType = [] {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    const std::string prefix = std::string("qp.") + type_name(type) + "_";
    Registration(prefix + "create", [type] {
      Room room;
      int cookie = 0;
      ibv_qp_init_attr wanted = qp_wanted(room.cq, room.cq, type);
      wanted.qp_context = &cookie;
      Owned<ibv_qp> qp = own(ibv_create_qp(room.pd, &wanted), "ibv_create_qp");
      CHECK_EQ(qp->qp_type, type);
      CHECK_EQ(qp->state, IBV_QPS_RESET);
      CHECK(qp->qp_num > 1 && qp->qp_num < 1u << 24);
      CHECK(qp->qp_context == &cookie && qp->pd == room.pd.get() && qp->context == device());
      CHECK(qp->send_cq == room.cq.get() && qp->recv_cq == room.cq.get() && qp->srq == nullptr);
      CHECK(wanted.cap.max_send_wr >= 16 && wanted.cap.max_recv_wr >= 16);
      CHECK(wanted.cap.max_send_sge >= 4 && wanted.cap.max_recv_sge >= 4);
      CHECK(wanted.cap.max_inline_data >= 64);
    });
    Registration(prefix + "create_the_most", [type] {
      const ibv_device_attr limits = device_attributes();
      CHECK_ERROR(error_of_creation([&](ibv_qp_init_attr* wanted) {
                    wanted->qp_type = type;
                    wanted->cap.max_send_wr = wanted->cap.max_recv_wr = limit_of(limits.max_qp_wr);
                    wanted->cap.max_send_sge = wanted->cap.max_recv_sge = limit_of(limits.max_sge);
                  }),
                  0);
    });
    Registration(prefix + "with_shared_queue", [type] {
      Room room;
      Owned<ibv_srq> srq = make_srq(room.pd);
      ibv_qp_init_attr wanted = qp_wanted(room.cq, room.cq, type);
      wanted.srq = srq;
      Owned<ibv_qp> qp = make_qp(room.pd, wanted);
      CHECK(qp->srq == srq.get());
    });
  }
  return true;
}();

// Each wish that goes beyond the device is refused with EINVAL, as programs that probe expect.
struct BeyondRow {
  const char* name;
  void (*change)(ibv_qp_init_attr*, const ibv_device_attr&);
};
constexpr BeyondRow kBeyond[] = {
    {"send_requests",
     [](ibv_qp_init_attr* w, const ibv_device_attr& d) { w->cap.max_send_wr = limit_of(d.max_qp_wr) + 1; }},
    {"receive_requests",
     [](ibv_qp_init_attr* w, const ibv_device_attr& d) { w->cap.max_recv_wr = limit_of(d.max_qp_wr) + 1; }},
    {"send_segments",
     [](ibv_qp_init_attr* w, const ibv_device_attr& d) { w->cap.max_send_sge = limit_of(d.max_sge) + 1; }},
    {"receive_segments",
     [](ibv_qp_init_attr* w, const ibv_device_attr& d) { w->cap.max_recv_sge = limit_of(d.max_sge) + 1; }},
    {"inline_bytes", [](ibv_qp_init_attr* w, const ibv_device_attr&) { w->cap.max_inline_data = 1 << 20; }},
    {"everything",
     [](ibv_qp_init_attr* w, const ibv_device_attr&) {
       w->cap = {~0u, ~0u, ~0u, ~0u, ~0u};
     }},
};

const bool kBeyondRegistered = [] {
  for (const BeyondRow& row : kBeyond)
    Registration(std::string("qp.create_beyond_") + row.name, [&row] {
      const ibv_device_attr limits = device_attributes();
      CHECK_ERROR(error_of_creation([&](ibv_qp_init_attr* wanted) { row.change(wanted, limits); }), EINVAL);
    });
  return true;
}();

}  // namespace

CASE("qp.create_with_no_wishes") {
  ibv_qp_init_attr granted;
  CHECK_ERROR(error_of_creation([](ibv_qp_init_attr* wanted) { wanted->cap = {}; }, &granted), 0);
}

CASE("qp.create_without_send_queue_of_completions") {
  CHECK_ERROR(error_of_creation([](ibv_qp_init_attr* wanted) { wanted->send_cq = nullptr; }), EINVAL);
}

CASE("qp.create_without_receive_queue_of_completions") {
  CHECK_ERROR(error_of_creation([](ibv_qp_init_attr* wanted) { wanted->recv_cq = nullptr; }), EINVAL);
}

CASE("qp.create_xrc_target_without_its_domain") {
  CHECK_ERROR(error_of_creation([](ibv_qp_init_attr* wanted) { wanted->qp_type = IBV_QPT_XRC_RECV; }),
              EOPNOTSUPP, EINVAL);
}

CASE("qp.create_unknown_type") {
  CHECK_ERROR(
      error_of_creation([](ibv_qp_init_attr* wanted) { wanted->qp_type = static_cast<ibv_qp_type>(77); }),
      EOPNOTSUPP, EINVAL);
}

CASE("qp.inline_bytes_can_be_found_by_trying") {
  // As Open MPI and libfabric do: the largest that is granted works, one more is EINVAL.
  const auto error_of = [](uint32_t bytes) {
    return error_of_creation([&](ibv_qp_init_attr* wanted) { wanted->cap.max_inline_data = bytes; });
  };
  uint32_t good = 64, bad = 1 << 20;
  CHECK_ERROR(error_of(good), 0);
  while (bad - good > 1) {
    const uint32_t middle = (good + bad) / 2;
    const int error = error_of(middle);
    CHECK_ERROR(error, 0, EINVAL);
    (error == 0 ? good : bad) = middle;
  }
  CHECK(good >= 64);
}

CASE("qp.numbers_are_different") {
  Room room;
  std::vector<Owned<ibv_qp>> pairs;
  std::set<uint32_t> numbers;
  for (int i = 0; i < 200; ++i) {
    pairs.push_back(make_qp(room.pd, qp_wanted(room.cq, room.cq)));
    CHECK(numbers.insert(pairs.back()->qp_num).second);
  }
}

CASE("qp.created_and_destroyed_many_times") {
  Room room;
  for (int i = 0; i < 300; ++i) make_qp(room.pd, qp_wanted(room.cq, room.cq));
}

CASE("qp.destroyed_in_every_state") {
  Room room;
  for (const ibv_qp_state state :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
    Owned<ibv_qp> qp = make_qp(room.pd, qp_wanted(room.cq, room.cq));
    bring_to(qp, state, qp->qp_num);
  }
}

CASE("qp.destroyed_with_work_under_way") {
  Pair pair;
  for (uint64_t id = 0; id < 16; ++id)
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                 .piece(pair.a.memory, 0, 32 << 10)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
  pair.a.qp.reset();
  pair.b.qp.reset();
}

// --- the extended form ---

namespace {
ibv_qp* try_extended(const Room& room, uint32_t mask, uint32_t flags = 0, uint64_t operations = 0,
                     bool with_pd = true) {
  ibv_qp_init_attr_ex wanted{};
  wanted.send_cq = wanted.recv_cq = room.cq;
  wanted.cap = {16, 16, 2, 2, 32};
  wanted.qp_type = IBV_QPT_RC;
  wanted.comp_mask = mask;
  wanted.pd = with_pd ? room.pd.get() : nullptr;
  wanted.create_flags = flags;
  wanted.send_ops_flags = operations;
  return ibv_create_qp_ex(device(), &wanted);
}
}  // namespace

CASE("qp_ex.create") {
  Room room;
  own(try_extended(room, IBV_QP_INIT_ATTR_PD), "ibv_create_qp_ex");
}

CASE("qp_ex.create_without_domain") {
  Room room;
  CHECK_REFUSED(try_extended(room, 0, 0, 0, false), EINVAL, EOPNOTSUPP);
}

CASE("qp_ex.create_with_unknown_mask") {
  Room room;
  CHECK_REFUSED(try_extended(room, IBV_QP_INIT_ATTR_PD | 1u << 30), EINVAL, EOPNOTSUPP);
}

CASE("qp_ex.create_with_flags_not_offered") {
  Room room;
  CHECK_REFUSED(try_extended(room, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
                             IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),
                EINVAL, EOPNOTSUPP);
}

CASE("qp_ex.create_with_no_flags") {
  Room room;
  own(try_extended(room, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS), "ibv_create_qp_ex");
}

CASE("qp_ex.create_with_operations_not_offered") {
  Room room;
  CHECK_REFUSED(
      try_extended(room, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0, IBV_QP_EX_WITH_TSO),
      EINVAL, EOPNOTSUPP);
}

CASE("qp_ex.create_with_max_tso") {
  Room room;
  CHECK_REFUSED(try_extended(room, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER), EINVAL,
                EOPNOTSUPP);
}

CASE("qp_ex.no_wr_calls_unless_asked_for") {
  Room room;
  Owned<ibv_qp> qp = own(try_extended(room, IBV_QP_INIT_ATTR_PD), "ibv_create_qp_ex");
  CHECK(ibv_qp_to_qp_ex(qp) == nullptr);
}

// --- queries ---

CASE("query_qp.capacity_and_queues") {
  Room room;
  ibv_qp_init_attr wanted = qp_wanted(room.cq, room.cq);
  wanted.sq_sig_all = 1;
  Owned<ibv_qp> qp = own(ibv_create_qp(room.pd, &wanted), "ibv_create_qp");
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_OK(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &init));
  CHECK_EQ(attributes.cap.max_send_wr, wanted.cap.max_send_wr);
  CHECK_EQ(attributes.cap.max_recv_wr, wanted.cap.max_recv_wr);
  CHECK_EQ(attributes.cap.max_send_sge, wanted.cap.max_send_sge);
  CHECK_EQ(attributes.cap.max_recv_sge, wanted.cap.max_recv_sge);
  CHECK_EQ(attributes.cap.max_inline_data, wanted.cap.max_inline_data);
  CHECK_EQ(init.cap.max_send_wr, wanted.cap.max_send_wr);
  CHECK_EQ(init.qp_type, IBV_QPT_RC);
  CHECK_EQ(init.sq_sig_all, 1);
  CHECK(init.send_cq == room.cq.get() && init.recv_cq == room.cq.get() && init.srq == nullptr);
}

CASE("query_qp.what_was_set") {
  Path path;
  path.mtu = IBV_MTU_2048;
  path.timeout = 17;
  path.retry_cnt = 3;
  path.rnr_retry = 5;
  path.min_rnr_timer = 9;
  path.max_rd_atomic = 2;
  path.max_dest_rd_atomic = 3;
  path.access = IBV_ACCESS_REMOTE_READ;
  Pair pair({.path = path});
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, (1 << 21) - 1, &init));
  CHECK_EQ(attributes.qp_state, IBV_QPS_RTS);
  CHECK_EQ(attributes.cur_qp_state, IBV_QPS_RTS);
  CHECK_EQ(attributes.path_mtu, IBV_MTU_2048);
  CHECK_EQ(attributes.timeout, 17);
  CHECK_EQ(attributes.retry_cnt, 3);
  CHECK_EQ(attributes.rnr_retry, 5);
  CHECK_EQ(attributes.min_rnr_timer, 9);
  CHECK_EQ(attributes.max_rd_atomic, 2);
  CHECK_EQ(attributes.max_dest_rd_atomic, 3);
  CHECK_EQ(attributes.qp_access_flags, IBV_ACCESS_REMOTE_READ);
  CHECK_EQ(attributes.dest_qp_num, pair.b.qp->qp_num);
  CHECK_EQ(attributes.port_num, 1);
  CHECK_EQ(attributes.pkey_index, 0);
  CHECK_EQ(attributes.rq_psn, kPsn);
  CHECK_EQ(attributes.sq_psn, kPsn);
  CHECK_EQ(attributes.ah_attr.is_global, 1);
  CHECK_EQ(attributes.ah_attr.port_num, 1);
  CHECK_EQ(attributes.ah_attr.grh.hop_limit, 64);
  const ibv_ah_attr self = address_of_self(device());
  CHECK(std::memcmp(&attributes.ah_attr.grh.dgid, &self.grh.dgid, sizeof(ibv_gid)) == 0);
}

CASE("query_qp.queue_key") {
  Pair pair({.type = IBV_QPT_UD});
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_QKEY, &init));
  CHECK_EQ(attributes.qkey, kQueueKey);
  CHECK_EQ(init.qp_type, IBV_QPT_UD);
}

CASE("query_qp.shared_queue") {
  Pair pair({.with_srq = true});
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_STATE, &init));
  CHECK(init.srq == pair.a.srq.get());
}

CASE("query_qp.every_state") {
  Room room;
  for (const ibv_qp_state state :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
    Owned<ibv_qp> qp = make_qp(room.pd, qp_wanted(room.cq, room.cq));
    bring_to(qp, state, qp->qp_num);
    CHECK_EQ(queried_state(qp), state);
    CHECK_EQ(qp->state, state);
  }
}

// What else holds the segments holds inline data as well.
CASE("qp.inline_room_that_is_there_anyway") {
  Room room;
  ibv_qp_init_attr wanted = qp_wanted(room.cq, room.cq);
  wanted.cap.max_send_sge = 4;
  wanted.cap.max_inline_data = 0;
  Owned<ibv_qp> qp = make_qp(room.pd, wanted);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_OK(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &init));
  CHECK(init.cap.max_inline_data >= 16);
  CHECK_EQ(attributes.cap.max_inline_data, init.cap.max_inline_data);
}

CASE("query_qp.error_state_after_a_failure") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(0, 0xBAD).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  CHECK_EQ(queried_state(pair.a.qp), IBV_QPS_ERR);
  CHECK_EQ(queried_state(pair.b.qp), IBV_QPS_ERR);
}

// --- whether data arrives in order ---

namespace {
// What holds on this wire: packets of MRC take any way, those of RC one after the other. On other machines
// than x86 libibverbs says no by itself.
bool in_order() {
#if defined(__x86_64__)
  const char* transport = std::getenv("MRC_TRANSPORT");
  return transport != nullptr && std::string(transport) == "rc";
#else
  return false;
#endif
}
}  // namespace

CASE("in_order.connected") {
  Pair pair;
  for (const auto operation : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_RDMA_READ})
    CHECK_EQ(ibv_query_qp_data_in_order(pair.a.qp, operation, 0), in_order() ? 1 : 0);
}

CASE("in_order.what_brings_no_data") {
  Pair pair;
  for (const auto operation : {IBV_WR_LOCAL_INV, IBV_WR_BIND_MW})
    CHECK_EQ(ibv_query_qp_data_in_order(pair.a.qp, operation, 0), 0);
}

#if defined(__x86_64__)
CASE("in_order.datagrams") {
  Pair pair({.type = IBV_QPT_UD});
  CHECK_EQ(ibv_query_qp_data_in_order(pair.a.qp, IBV_WR_SEND, 0), 1);
  CHECK_EQ(ibv_query_qp_data_in_order(pair.a.qp, IBV_WR_RDMA_WRITE, 0), 0);
}
#endif

CASE("ece.query") {
  Pair pair({.until = IBV_QPS_RESET});
  ibv_ece ece{};
  const int result = ibv_query_ece(pair.a.qp, &ece);
  CHECK_ERROR(result, 0, EOPNOTSUPP);
  CHECK(result != 0 || ece.vendor_id != 0);  // nobody speaks for nobody
}

CASE("ece.set_nothing") {
  Pair pair({.until = IBV_QPS_RESET});
  ibv_ece ece{};
  CHECK_ERROR(ibv_set_ece(pair.a.qp, &ece), 0, EOPNOTSUPP, EINVAL);
}

CASE("ece.set_unknown_options") {
  Pair pair({.until = IBV_QPS_RESET});
  ibv_ece ece{0x123456, 1, 0};
  CHECK(ibv_set_ece(pair.a.qp, &ece) != 0);
}

}  // namespace conformance
