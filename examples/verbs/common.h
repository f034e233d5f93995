/* SPDX-License-Identifier: BSD-2-Clause */
/* What the example programs have in common: ending with a reason, opening a device, and connecting a queue
 * pair. Nothing here knows which device it is: any that speaks RoCE will do. */
#ifndef MRC_EXAMPLES_VERBS_COMMON_H
#define MRC_EXAMPLES_VERBS_COMMON_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what)                                   \
  do {                                                \
    if (!(what)) {                                    \
      fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
      perror(#what);                                  \
      exit(1);                                        \
    }                                                 \
  } while (0)

/* The device that is named, or the first. */
static inline struct ibv_context* open_device(const char* name) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  struct ibv_context* found = NULL;
  for (int i = 0; i < count && found == NULL; ++i)
    if (name == NULL || strcmp(name, ibv_get_device_name(devices[i])) == 0)
      found = ibv_open_device(devices[i]);
  if (devices != NULL) ibv_free_device_list(devices);
  if (found == NULL) fprintf(stderr, "no such device; start this by mrcrun\n"), exit(1);
  return found;
}

/* What a peer has to know about this side. */
struct side {
  uint32_t qpn;
  uint32_t rkey;
  uint64_t address;
  union ibv_gid gid;
};

/* `region` may be NULL: then nobody reads or writes memory of this side. */
static inline struct side side_of(const struct ibv_qp* qp, const struct ibv_mr* region) {
  struct side side = {0};
  side.qpn = qp->qp_num;
  CHECK(ibv_query_gid(qp->context, 1, 0, &side.gid) == 0);
  if (region != NULL) side.rkey = region->rkey, side.address = (uint64_t)(uintptr_t)region->addr;
  return side;
}

/* Both ends of the socket tell each other theirs. Between hosts it would be a TCP connection. */
static inline struct side swap_sides(int socket, const struct side* own) {
  struct side peer;
  CHECK(write(socket, own, sizeof *own) == sizeof *own);
  CHECK(read(socket, &peer, sizeof peer) == sizeof peer);
  return peer;
}

/* Returns when both sides have come here. */
static inline void meet(int socket) {
  char byte = 0;
  CHECK(write(socket, &byte, 1) == 1 && read(socket, &byte, 1) == 1);
}

static inline struct ibv_qp* make_qp(struct ibv_pd* domain, enum ibv_qp_type type, struct ibv_cq* completions,
                                     struct ibv_srq* shared_receives) {
  struct ibv_qp_init_attr wanted = {0};
  wanted.qp_type = type;
  wanted.send_cq = wanted.recv_cq = completions;
  wanted.srq = shared_receives;
  wanted.cap.max_send_wr = wanted.cap.max_recv_wr = 16;
  wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
  struct ibv_qp* qp = ibv_create_qp(domain, &wanted);
  CHECK(qp != NULL);
  return qp;
}

/* A queue pair of type RC, from RESET to RTS. Addresses are GIDs (RoCE has no others). */
static inline void connect_to(struct ibv_qp* qp, const struct side* peer) {
  struct ibv_qp_attr attr = {0};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer->qpn;
  attr.max_dest_rd_atomic = 4; /* READs and atomics of the peer at a time */
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = peer->gid;
  attr.ah_attr.grh.hop_limit = 64;
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 17; /* 0.5 s */
  attr.retry_cnt = 7;
  attr.rnr_retry = 7; /* for ever: a receive that is missing will come */
  attr.max_rd_atomic = 4;
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

/* Waits for one completion, which has to be a good one. */
static inline struct ibv_wc wait_for(struct ibv_cq* completions) {
  struct ibv_wc done;
  int count;
  while ((count = ibv_poll_cq(completions, 1, &done)) == 0) {
  }
  CHECK(count == 1);
  if (done.status != IBV_WC_SUCCESS) fprintf(stderr, "%s\n", ibv_wc_status_str(done.status)), exit(1);
  return done;
}

#endif
