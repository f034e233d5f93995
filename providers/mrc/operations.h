// SPDX-License-Identifier: BSD-2-Clause
// The verbs that this provider offers, as libibverbs calls them; each is defined in the file of its object.
#pragma once

#include <infiniband/verbs.h>

#include "providers/mrc/provider_abi.h"

namespace mrc::provider {

// context.cc
void free_context(ibv_context* context);

// device_query.cc
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, size_t bytes);
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes);

// pd.cc
ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* thread_domain);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

// mr.cc
ibv_mr* reg_mr(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, int access);
ibv_mr* alloc_null_mr(ibv_pd* pd);
int rereg_mr(abi::MemoryRegion* region, int flags, ibv_pd* pd, void* address, size_t bytes, int access);
int dereg_mr(abi::MemoryRegion* region);

// mw.cc
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* window);
int bind_mw(ibv_qp* qp, ibv_mw* window, ibv_mw_bind* wanted);

// cq.cc
ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel, int vector);
int poll_cq(ibv_cq* queue, int entries, ibv_wc* completions);
int req_notify_cq(ibv_cq* queue, int solicited_only);
void cq_event(ibv_cq* queue);
int resize_cq(ibv_cq* queue, int entries);
int destroy_cq(ibv_cq* queue);

// ah.cc
ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* address);
int destroy_ah(ibv_ah* handle);

// srq.cc
ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask);
int query_srq(ibv_srq* queue, ibv_srq_attr* attributes);
int destroy_srq(ibv_srq* queue);

// cq_ex.cc
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);

// qp.cc
ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes);
int destroy_qp(ibv_qp* qp);
int query_ece(ibv_qp* qp, ibv_ece* ece);
int set_ece(ibv_qp* qp, ibv_ece* ece);

// qp_ex.cc
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);

// post.cc
int post_send(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* queue, ibv_recv_wr* requests, ibv_recv_wr** bad);

}  // namespace mrc::provider
