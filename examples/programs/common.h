/* SPDX-License-Identifier: BSD-2-Clause */
/* What the example programs have in common: ending with a reason, opening the device, and connecting a queue
 * pair. */
#ifndef MRC_EXAMPLES_COMMON_H
#define MRC_EXAMPLES_COMMON_H

#include <mrc/mrc_ctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                   \
  do {                                                \
    if (!(what)) {                                    \
      fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
      perror(#what);                                  \
      exit(1);                                        \
    }                                                 \
  } while (0)

/* The device that is named, or the first that speaks MRC. */
static inline struct ibv_context* open_device(const char* name) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  struct ibv_context* found = NULL;
  for (int i = 0; i < count && found == NULL; ++i) {
    if (name != NULL && strcmp(name, ibv_get_device_name(devices[i])) != 0) continue;
    struct ibv_context* context = ibv_open_device(devices[i]);
    struct mrc_device_attr attr;
    int supported = 0;
    if (context != NULL && mrc_query_device(context, &attr, &supported) == 0 && supported)
      found = context;
    else if (context != NULL)
      ibv_close_device(context);
  }
  if (devices != NULL) ibv_free_device_list(devices);
  if (found == NULL) fprintf(stderr, "no device speaks MRC; start this by mrcrun\n"), exit(1);
  return found;
}

/* Tells the library which version of the interface this program was compiled for. */
static inline struct mrc_context* make_context(struct ibv_context* verbs) {
  struct mrc_context_attr attr = {MRC_API_VER_USED, 0};
  struct mrc_context* context = mrc_create_context(verbs, &attr);
  CHECK(context != NULL);
  return context;
}

/* What a peer has to know about this side. */
struct side {
  uint32_t qpn;
  uint32_t rkey;
  uint64_t address;
  union ibv_gid gid;
};

static inline struct side side_of(struct ibv_context* verbs, struct mrc_qp* qp, const struct ibv_mr* region) {
  struct side side = {0};
  CHECK(mrc_get_qpn(qp, &side.qpn) == 0);
  CHECK(ibv_query_gid(verbs, 1, 0, &side.gid) == 0);
  side.rkey = region->rkey;
  side.address = (uint64_t)(uintptr_t)region->addr;
  return side;
}

/* RESET to RTS. `ev_profile` 0: the paths that queue pairs have which name no profile. */
static inline void connect_to(struct mrc_qp* qp, const struct side* peer, uint64_t ev_profile) {
  struct ibv_qp_attr attr = {0};
  struct mrc_qp_attr more = {0};
  attr.qp_state = IBV_QPS_INIT;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  more.profile.ev_profile_id = ev_profile;
  CHECK(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS, &more,
                      MRC_QP_EV_PROFILE_ID) == 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer->qpn;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = peer->gid;
  CHECK(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                      NULL, 0) == 0);
  attr.qp_state = IBV_QPS_RTS;
  more.timeout = 18; /* 0.27 s */
  more.retry.linear_cnt = 7;
  CHECK(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, &more, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT) ==
        0);
}

/* Waits for one completion, which has to be a good one. */
static inline struct ibv_wc wait_for(struct mrc_cq* cq) {
  struct ibv_wc done;
  int count;
  while ((count = mrc_poll_cq(cq, 1, &done)) == 0) {
  }
  CHECK(count == 1);
  if (done.status != IBV_WC_SUCCESS) fprintf(stderr, "%s\n", ibv_wc_status_str(done.status)), exit(1);
  return done;
}

/* WRITEs `bytes` of the region to the same place in the peer's; `opcode` may be WITH_IMM. */
static inline void post_write(struct mrc_qp* qp, const struct ibv_mr* region, uint32_t bytes,
                              const struct side* peer, enum ibv_wr_opcode opcode, uint32_t immediate) {
  struct ibv_sge piece = {(uint64_t)(uintptr_t)region->addr, bytes, region->lkey};
  struct ibv_send_wr request = {0}, *bad = NULL;
  request.sg_list = &piece;
  request.num_sge = bytes > 0;
  request.opcode = opcode;
  request.imm_data = immediate;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer->address;
  request.wr.rdma.rkey = peer->rkey;
  CHECK(mrc_post_send(qp, &request, &bad) == 0);
}

#endif
