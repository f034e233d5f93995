// SPDX-License-Identifier: BSD-2-Clause
// The verbs that this provider offers, as libibverbs calls them; each is defined in the file of its object.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "libmrc/qp/queue_pair.h"
#include "providers/mrc/verbs/provider_abi.h"

namespace mrc::provider {

// provider.cc: who has these is one of our devices.
extern const abi::DeviceOps kDeviceOps;

// context.cc
void free_context(ibv_context* context);

// device_query.cc
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, size_t bytes);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes);

// pd.cc
ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd);
ibv_pd* import_pd(ibv_context* context, uint32_t handle);
void unimport_pd(ibv_pd* pd);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* thread_domain);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

// mr.cc
ibv_mr* reg_mr(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, int access);
ibv_mr* alloc_null_mr(ibv_pd* pd);
int rereg_mr(abi::MemoryRegion* region, int flags, ibv_pd* pd, void* address, size_t bytes, int access);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* pieces, uint32_t count);
int dereg_mr(abi::MemoryRegion* region);
ibv_mr* import_mr(ibv_pd* pd, uint32_t handle);
void unimport_mr(ibv_mr* region);

// dm.cc
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* memory);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* memory, uint64_t offset, size_t bytes, unsigned int access);
ibv_dm* import_dm(ibv_context* context, uint32_t handle);
void unimport_dm(ibv_dm* memory);

// dmabuf.cc
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access);

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
int get_srq_num(ibv_srq* queue, uint32_t* number);

// cq_ex.cc
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);

// qp.cc
ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes);
ibv_qp* create_qp_of(ibv_pd* pd, ibv_qp_init_attr* attributes, std::optional<Transport> transport);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
// With attributes that verbs do not have, all at once or nothing.
int modify_qp_with(ibv_qp* qp, ibv_qp_attr* attributes, int mask, const QueuePairAttributes& more);
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes);
int destroy_qp(ibv_qp* qp);
// The half of an extended connection that is sent to: it has no protection domain and no completions.
ibv_qp* create_xrc_target(ibv_context* context, ibv_xrcd* domain, ibv_qp_init_attr* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode operation, uint32_t flags);

// qp_ex.cc
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);

// xrcd.cc
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* domain);

// mcast.cc
int attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid);
int detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid);

// flow.cc
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes);
int destroy_flow(ibv_flow* flow);

// post.cc
int post_send(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* queue, ibv_recv_wr* requests, ibv_recv_wr** bad);

}  // namespace mrc::provider
