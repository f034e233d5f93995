// SPDX-License-Identifier: BSD-2-Clause
// Protection domains, thread domains and parent domains.
#include <vector>

#include "objects.h"

namespace conformance {

CASE("pd.alloc") {
  Owned<ibv_pd> pd = make_pd();
  CHECK(pd->context == device());
}

CASE("pd.many") {
  std::vector<Owned<ibv_pd>> domains;
  for (int i = 0; i < 1000; ++i) domains.push_back(make_pd());
}

CASE("pd.busy_with_region") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("pd.busy_with_queue_pair") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq));
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("pd.busy_with_shared_queue") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd);
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("pd.busy_with_address_handle") {
  Owned<ibv_pd> pd = make_pd();
  ibv_ah_attr address = address_of_self(device());
  Owned<ibv_ah> handle = own(ibv_create_ah(pd, &address), "ibv_create_ah");
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("pd.busy_with_window") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_mw> window = own(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("pd.free_again_after_use") {
  Owned<ibv_pd> pd = make_pd();
  { Memory memory(pd, 4096); }
  CHECK_OK(ibv_dealloc_pd(pd.release()));
}

// --- thread domains and parent domains ---

namespace {
Owned<ibv_td> make_td() {
  ibv_td_init_attr wanted{};
  return own(ibv_alloc_td(device(), &wanted), "ibv_alloc_td");
}
Owned<ibv_pd> make_parent(ibv_pd* pd, ibv_td* td) {
  ibv_parent_domain_init_attr wanted{};
  wanted.pd = pd;
  wanted.td = td;
  return own(ibv_alloc_parent_domain(device(), &wanted), "ibv_alloc_parent_domain");
}
}  // namespace

CASE("td.alloc") {
  make_td();
}

CASE("td.unknown_mask") {
  ibv_td_init_attr wanted{1u << 31};
  CHECK_REFUSED(ibv_alloc_td(device(), &wanted), EINVAL, EOPNOTSUPP);
}

CASE("td.busy_with_parent_domain") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_td> td = make_td();
  Owned<ibv_pd> parent = make_parent(pd, td);
  CHECK_ERROR(ibv_dealloc_td(td), EBUSY);
}

CASE("parent_domain.alloc_without_td") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_pd> parent = make_parent(pd, nullptr);
  CHECK(parent->context == device());
}

CASE("parent_domain.without_pd") {
  ibv_parent_domain_init_attr wanted{};
  CHECK_REFUSED(ibv_alloc_parent_domain(device(), &wanted), EINVAL);
}

CASE("parent_domain.unknown_mask") {
  Owned<ibv_pd> pd = make_pd();
  ibv_parent_domain_init_attr wanted{};
  wanted.pd = pd;
  wanted.comp_mask = 1u << 31;
  CHECK_REFUSED(ibv_alloc_parent_domain(device(), &wanted), EINVAL, EOPNOTSUPP);
}

CASE("parent_domain.keeps_its_pd_busy") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_pd> parent = make_parent(pd, nullptr);
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("parent_domain.is_the_same_protection_domain") {
  // A queue pair of the parent domain uses a region of the domain below it.
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_td> td = make_td();
  Owned<ibv_pd> parent = make_parent(pd, td);
  Memory memory(pd, 4096);
  Owned<ibv_cq> cq = make_cq();
  Owned<ibv_qp> one = make_qp(parent, qp_wanted(cq, cq));
  Owned<ibv_qp> two = make_qp(parent, qp_wanted(cq, cq));
  bring_to(one, IBV_QPS_RTS, two->qp_num);
  bring_to(two, IBV_QPS_RTS, one->qp_num);
  memory.fill(kSeedA, 0, 1024);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 5).piece(memory, 0, 1024).remote(memory, 2048).post(one));
  await(cq, 5, IBV_WC_SUCCESS);
  CHECK(memory.has(kSeedA, 2048, 1024, 0));
}

}  // namespace conformance
