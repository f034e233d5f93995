/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of MRC (Multipath Reliable Connection, OCP 1.0) for applications: queue pairs that write into
 * remote memory by many paths at once, beside the objects of libibverbs. mrc(7) and docs/api.md explain it.
 *
 * Unless a function says otherwise it returns 0, or -1 and sets errno; functions that make an object return
 * NULL and set errno. Functions that are named after one of libibverbs return what that one does: 0 or a
 * value of errno. */
#ifndef MRC_H
#define MRC_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "mrc_api_ver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_MAX_VENDOR_CFG_SIZE 128

struct mrc_context;
struct mrc_qp_hint;
struct mrc_qp;
struct mrc_cq;
struct mrc_comp_channel;

enum mrc_protocol_version {
  MRC_PROTOCOL_VERSION_0 = 0, /* the device's default */
  MRC_PROTOCOL_VERSION_1 = 1 << 0
};

/* ------------------------------------------------------------------------------------------------- device */

enum mrc_device_cap {
  MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,   /* tells senders of packets that switches have trimmed */
  MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1, /* a responder may change what it welcomes as it goes */
  MRC_DEVICE_CAP_SVC_TIME = 1 << 2     /* answers say how long they took to make */
};

struct mrc_device_attr {
  uint32_t mrc_protocol_version; /* bits of enum mrc_protocol_version */
  struct {
    uint16_t max_wimm;      /* WRITEs with immediate that a requester may have under way */
    uint16_t max_wimm_dest; /* and that a responder can take */
  } wimm_attr;
  struct {
    uint8_t max_mpr;        /* packets beyond the oldest that is missing, in units of 128 */
    uint8_t mpr_resolution; /* of these units, how many are told apart */
  } mpr_attr;
  struct {
    uint32_t max_qp_hint;
  } qp_attr;
  uint32_t cap; /* bits of enum mrc_device_cap */
};

#if MRC_API_VER_USED >= MRC_API_VER(1U, 0U, 1U)
/* As mrc_query_device(); the context may be NULL. */
int mrc_query_device_ex(struct ibv_context* ibv_ctx, struct mrc_context* mrc_ctx,
                        struct mrc_device_attr* attr, int* supported);
#endif
/* *supported is 0 for the context of any other device; the attributes are only filled in if it is not. */
int mrc_query_device(struct ibv_context* ibv_ctx, struct mrc_device_attr* attr, int* supported);
/* The versions of the library; needs no device. */
void mrc_query_version(uint32_t* current, uint32_t* last_supported, uint32_t* vendor_current,
                       uint32_t* vendor_last_supported);

struct mrc_context_attr {
  uint32_t mrc_api_version_used;        /* MRC_API_VER_USED; 0: the latest */
  uint32_t mrc_vendor_api_version_used; /* 0: not known */
};

/* attr may be NULL. The ibv_context has to outlive what is made of it. */
struct mrc_context* mrc_create_context(struct ibv_context* ibv_ctx, struct mrc_context_attr* attr);
/* EBUSY while objects of it are left. */
int mrc_destroy_context(struct mrc_context* mrc_ctx);

/* -------------------------------------------------------------------------------------------- completions */

int mrc_create_comp_channel(struct mrc_context* mrc_ctx, struct mrc_comp_channel** channel);
/* For poll() and its like. */
int mrc_get_comp_channel_fd(struct mrc_comp_channel* channel, int* fd);
int mrc_destroy_comp_channel(struct mrc_comp_channel* channel);

/* The channel may be NULL. */
struct mrc_cq* mrc_create_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                             struct mrc_comp_channel* channel, int comp_vector);
/* How many completions there were, at most n, or -1. */
int mrc_poll_cq(struct mrc_cq* cq, int n, struct ibv_wc* wc);
/* Waits until all events of it that were read are acknowledged. */
int mrc_destroy_cq(struct mrc_cq* cq);

int mrc_req_notify_cq(struct mrc_cq* cq, int solicited_only);
int mrc_get_cq_event(struct mrc_comp_channel* channel, struct mrc_cq** cq, void** cq_context);
void mrc_ack_cq_events(struct mrc_cq* cq, unsigned int nevents);

/* -------------------------------------------------------------------------------------------------- hints */

struct mrc_qp_hint_attr {
  int num_qps_per_peer;
  int num_send_peers;
  int num_remote_recv_peers; /* how many send to the same target at a time */
  uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

enum mrc_qp_hint_attr_mask {
  MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
  MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
  MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
  MRC_QP_HINT_VENDOR_CFG = -2147483647 - 1 /* bit 31 */
};

struct mrc_qp_hint_init_attr {
  struct mrc_qp_hint_attr attr;
};

struct mrc_qp_hint* mrc_create_qp_hint(struct mrc_context* mrc_ctx, struct mrc_qp_hint_init_attr* init_attr);
/* EBUSY while a queue pair uses it. */
int mrc_destroy_qp_hint(struct mrc_qp_hint* hint);
int mrc_query_qp_hint(struct mrc_qp_hint* hint, struct mrc_qp_hint_attr* attr, int attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint* hint, struct mrc_qp_hint_attr* attr, int attr_mask);

/* -------------------------------------------------------------------------------------------- queue pairs */

struct mrc_qp_init_attr {
  void* qp_context;
  struct mrc_cq* send_cq;
  struct mrc_cq* recv_cq;
  struct ibv_qp_cap cap; /* set to what there is */
  int sq_sig_all;
  struct ibv_pd* pd;
  uint64_t send_ops_flags; /* of enum ibv_qp_create_send_ops_flags; 0: all that there are */
  enum mrc_protocol_version protocol_version;
};

/* In which step each is taken: INIT: hint, EV and CC profile. RTR: what ends in _DEST, and the capabilities.
 * RTS: the rest. An attribute that comes sooner is kept, one that comes later is EINVAL. */
enum mrc_qp_attr_mask {
  MRC_QP_MAX_WIMM = 1 << 0,
  MRC_QP_MAX_WIMM_DEST = 1 << 1,
  MRC_QP_MPR = 1 << 2,
  MRC_QP_MPR_DEST = 1 << 3,
  MRC_QP_TIMEOUT = 1 << 4,
  MRC_QP_EV_PROFILE_ID = 1 << 5,
  MRC_QP_CC_PROFILE_ID = 1 << 6,
  MRC_QP_HINT = 1 << 7,
  MRC_QP_RETRY_CNT = 1 << 8,
  MRC_QP_CAP = 1 << 9,
  MRC_QP_VENDOR_CFG = -2147483647 - 1 /* bit 31 */
};

enum mrc_qp_cap {
  MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0, /* the peer does not tell of trimmed packets */
  MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,
  MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2 /* the peer does not tell how long answers took */
};

struct mrc_qp_attr {
  struct {
    uint8_t mpr;      /* of what we send; in units of 128 packets */
    uint8_t mpr_dest; /* of what the peer may send */
  } mpr;
  struct {
    uint16_t max_wimm;
    uint16_t max_wimm_dest;
  } wimm;
  uint8_t timeout; /* 1.024 us * 2^timeout; 24 at most */
  struct {
    uint64_t ev_profile_id; /* 0: what queue pairs use that name none */
    uint64_t cc_profile_id;
  } profile;
  struct {
    uint8_t linear_cnt; /* tries after the same time; 7 at most */
    uint8_t exp_cnt;    /* then so many, each after twice the time; 25: for ever */
  } retry;
  struct mrc_qp_hint* qp_hint;
  uint32_t cap; /* bits of enum mrc_qp_cap */
  uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

struct mrc_qp* mrc_create_qp(struct mrc_context* mrc_ctx, struct mrc_qp_init_attr* init_attr);
int mrc_destroy_qp(struct mrc_qp* qp);
/* Any of the three may be NULL. */
int mrc_query_qp(struct mrc_qp* qp, struct ibv_qp_attr* ibv_attr, int ibv_attr_mask,
                 struct mrc_qp_attr* mrc_attr, int mrc_attr_mask, struct mrc_qp_init_attr* init_attr);
/* Both at once, or neither. Attributes of libibverbs that MRC does not have (port, timeouts and retries,
 * READs, alternate paths) are ignored whatever they say. */
int mrc_modify_qp(struct mrc_qp* qp, struct ibv_qp_attr* ibv_attr, int ibv_attr_mask,
                  struct mrc_qp_attr* mrc_attr, int mrc_attr_mask);
int mrc_get_qpn(struct mrc_qp* qp, uint32_t* qpn);
int mrc_post_recv(struct mrc_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
/* IBV_WR_RDMA_WRITE and IBV_WR_RDMA_WRITE_WITH_IMM; EINVAL for anything else. */
int mrc_post_send(struct mrc_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr);

/* ------------------------------------------------------------------------------------------------- events */

struct mrc_async_event {
  union {
    struct mrc_cq* cq;
    struct mrc_qp* qp;
    int port_num;
  } element;
  enum ibv_event_type event_type;
};

int mrc_get_async_event(struct mrc_context* mrc_ctx, struct mrc_async_event* event);
void mrc_ack_async_event(struct mrc_async_event* event);

#ifdef __cplusplus
}
#endif
#endif
