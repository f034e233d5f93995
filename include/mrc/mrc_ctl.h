/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of MRC (Multipath Reliable Connection, OCP 1.0) for controllers: which paths queue pairs may
 * use, how they react to congestion, and what becomes of paths and ports. mrc(7) and docs/api.md explain it.
 *
 * Unless a function says otherwise it returns 0, or -1 and sets errno. EPERM: only the owner of the device's
 * run directory, or who has CAP_NET_ADMIN, may ask. */
#ifndef MRC_CTL_H
#define MRC_CTL_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "mrc.h"
#include "mrc_ctl_api_ver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128
#define MRC_CTL_EV_MAX_BYTES 32

enum mrc_ctl_protocol_version { MRC_CTL_PROTOCOL_VERSION_0 = 0, MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0 };

/* Of all three kinds of profile: from INIT to OFFLINE, to ONLINE and back, one step at a time. */
enum mrc_ctl_profile_state { MRC_CTL_PROFILE_INIT, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_ONLINE };

/* ------------------------------------------------------------------------------------------------- device */

enum mrc_ctl_attr_opt {
  MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0,
  MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1,
  MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
  MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3,
  MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4,
  MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5
};

struct mrc_ctl_device_attr {
  uint32_t mrc_ctl_protocol_version;
  struct {
    uint32_t ev_max_fmt_profiles;
    uint32_t ev_max_profiles;
    uint32_t ev_max_count;         /* EVs of all profiles */
    uint32_t ev_free_count;        /* of these, how many are left */
    uint32_t ev_max_count_profile; /* EVs of one profile */
    uint32_t ev_count_align;       /* their number is a multiple of it */
    uint32_t ev_max_width;         /* bits */
    uint32_t ev_fmt_mode_mask;     /* of enum mrc_ctl_ev_fmt_mode */
    uint32_t ev_mode_mask;         /* of enum mrc_ctl_ev_mode */
    uint32_t ev_op_max_entries;    /* of one call; 0: as many as one likes */
  } ev;
  struct {
    uint32_t cc_max_profiles;
    const char** algorithms; /* ends with NULL; belongs to the library */
  } cc;
  uint32_t phy_port_mask; /* bit N: there is a port N; they count from 1 */
  uint32_t opt_attr;      /* of enum mrc_ctl_attr_opt */
};

#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1U, 0U, 1U)
/* The mrc_context may be NULL. *supported is 0 for the context of any other device. */
int mrc_ctl_query_device_ex(struct ibv_context* ibv_ctx, struct mrc_context* mrc_ctx,
                            struct mrc_ctl_device_attr* attr, int* supported);
#endif
/* ENOTSUP for the context of any other device. */
int mrc_ctl_query_device(struct ibv_context* ibv_ctx, struct mrc_ctl_device_attr* attr);
void mrc_ctl_query_version(uint32_t* current, uint32_t* last_supported, uint32_t* vendor_current,
                           uint32_t* vendor_last_supported);

/* -------------------------------------------------------------------------------------------------- ports */

enum mrc_ctl_port_admin_state { MRC_CTL_PORT_ADMIN_DISABLED = 0, MRC_CTL_PORT_ADMIN_ENABLED = 1 };
enum mrc_ctl_port_attr_mask { MRC_CTL_PORT_ADMIN_STATE = 1 << 0 };

struct mrc_ctl_port_attr {
  enum mrc_ctl_port_admin_state port_admin_state;
};

int mrc_ctl_query_port(struct mrc_context* mrc_ctx, uint8_t port_num, struct mrc_ctl_port_attr* attr,
                       int attr_mask);
int mrc_ctl_modify_port(struct mrc_context* mrc_ctx, uint8_t port_num, struct mrc_ctl_port_attr* attr,
                        int attr_mask);

/* ------------------------------------------------------------------------------------- format of an EV */

enum mrc_ctl_ev_fmt_mode {
  MRC_CTL_EV_FMT_MODE_STEV = 1 << 0, /* 32 bits: UDP source port, then the low half of the flow label */
  MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1, /* outer destination, and one segment if it is not zero */
  MRC_CTL_EV_FMT_MODE_UDP = 1 << 2   /* 16 bits: UDP source port */
};

enum mrc_ctl_ev_fmt_op { MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, MRC_CTL_EV_FMT_OP_QUERY_FIELDS };

enum mrc_ctl_ev_fmt_profile_attr_mask {
  MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
  MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,
  MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,
  MRC_CTL_EV_FMT_VENDOR_CFG = -2147483647 - 1 /* bit 31 */
};

struct mrc_ctl_ev_fmt_field {
  uint8_t width; /* bits */
};

struct mrc_ctl_ev_fmt_profile_attr {
  enum mrc_ctl_profile_state profile_state;
  enum mrc_ctl_profile_state cur_profile_state; /* has to be the present one, where it is given */
  enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
  struct {
    enum mrc_ctl_ev_fmt_op op;
    struct mrc_ctl_ev_fmt_field* fmt_fields;
    int fmt_field_count; /* room there is, then how many there are */
  } ev_fmt_op;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                  struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                 struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask);

/* -------------------------------------------------------------------------------------------- EV profiles */

/* As on the wire: most significant byte first. */
typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
  mrc_ctl_ev_t val;
  uint8_t port; /* counts from 1; with all bytes 0 the entry is free */
};

#ifdef __cplusplus
#define MRC_CTL_EV_UNPOPULATED (mrc_ctl_ev{})
#else
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){{0}, 0})
#endif

enum mrc_ctl_ev_state {
  MRC_CTL_EV_GOOD = 1 << 0,
  MRC_CTL_EV_ASSUMED_BAD = 1 << 1,
  MRC_CTL_EV_DENIED = 1 << 2,
  MRC_CTL_EV_UNKNOWN = -2147483647 - 1 /* bit 31 */
};

enum mrc_ctl_ev_mode {
  MRC_CTL_EV_MODE_AUTO = 1 << 0, /* the device chooses */
  MRC_CTL_EV_MODE_EXP = 1 << 1,  /* the controller lists them */
  MRC_CTL_EV_MODE_GEN = 1 << 2   /* the device makes them of fields */
};

enum mrc_ctl_ev_op {
  MRC_CTL_EV_OP_REPLACE_EV,
  MRC_CTL_EV_OP_MODIFY_EV_STATE,
  MRC_CTL_EV_OP_QUERY_EV_STATE,
  MRC_CTL_EV_OP_QUERY_EV_ARRAY
};

enum mrc_ctl_ev_fields_op { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS };

enum mrc_ctl_ev_op_flags { MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0 };

enum mrc_ctl_ev_profile_attr_mask {
  MRC_CTL_EV_PROFILE_STATE = 1 << 0,
  MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_EV_PROFILE_MODE = 1 << 2,
  MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
  MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
  MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
  MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
  MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
  MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
  MRC_CTL_EV_PROFILE_VENDOR_CFG = -2147483647 - 1 /* bit 31 */
};

/* The bits of `mask` are chosen between min_val and max_val, the others are those of init_val. */
struct mrc_ctl_ev_field {
  uint32_t width;
  uint32_t init_val;
  uint32_t min_val;
  uint32_t max_val;
  uint32_t mask;
};

struct mrc_ctl_ev_op_entry {
  struct mrc_ctl_ev ev;
  struct mrc_ctl_ev ev_new; /* of REPLACE_EV */
  enum mrc_ctl_ev_state state;
  uint32_t flags; /* of enum mrc_ctl_ev_op_flags */
};

struct mrc_ctl_ev_profile_attr {
  enum mrc_ctl_profile_state profile_state;
  enum mrc_ctl_profile_state cur_profile_state;
  enum mrc_ctl_ev_mode ev_mode;
  uint64_t ev_fmt_profile_id;
  uint32_t ev_count;
  uint32_t ev_min_active;
  int ev_event_mask; /* MRC_CTL_EV_GOOD and MRC_CTL_EV_ASSUMED_BAD */
  struct {
    enum mrc_ctl_ev_op op;
    struct mrc_ctl_ev_op_entry* entries;
    int entry_count; /* how many there are, then how many were dealt with */
  } ev_op;
  struct {
    enum mrc_ctl_ev_fields_op op;
    struct mrc_ctl_ev_field* fields;
    int field_count;
  } ev_fields_op;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

int mrc_ctl_modify_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id,
                              struct mrc_ctl_ev_profile_attr* attr, int attr_mask);
int mrc_ctl_query_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id,
                             struct mrc_ctl_ev_profile_attr* attr, int attr_mask);

/* -------------------------------------------------------------------------------------------- CC profiles */

enum mrc_ctl_cc_profile_attr_mask {
  MRC_CTL_CC_PROFILE_STATE = 1 << 0,
  MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
  MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
  MRC_CTL_CC_PROFILE_VENDOR_CFG = -2147483647 - 1 /* bit 31 */
};

struct mrc_ctl_cc_profile_attr {
  enum mrc_ctl_profile_state profile_state;
  enum mrc_ctl_profile_state cur_profile_state;
  const char* algorithm; /* NULL: no congestion control */
  const void* cc_config; /* of "uet-1.0-nscc": struct mrc_ctl_cc_nscc_cfg; a query writes to it */
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

struct mrc_ctl_cc_nscc_cfg {
  uint8_t disable_qa;
  uint32_t adjust_bytes_threshold;  /* bytes */
  uint32_t adjust_period_threshold; /* ns */
  uint32_t base_rtt;                /* ns */
  float eta;
  float fi;
  float fi_scale;
  float gamma;
  float max_md_jump;
  uint32_t max_cwnd; /* bytes */
  uint8_t qa_gate;
  uint32_t qa_threshold; /* ns */
  uint32_t target_delay; /* ns */
};

int mrc_ctl_modify_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id,
                              struct mrc_ctl_cc_profile_attr* attr, int attr_mask);
int mrc_ctl_query_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id,
                             struct mrc_ctl_cc_profile_attr* attr, int attr_mask);

/* ---------------------------------------------------------------------------------------------- EV events */

/* How large it is follows from the version that the program was compiled for; mrc_create_context() is told
 * it. */
struct mrc_ctl_ev_event {
  uint64_t profile_id;
  struct mrc_ctl_ev ev;
  uint32_t drop_count; /* events that were lost before this one */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1U, 0U, 1U)
  enum mrc_ctl_ev_state state;
#endif
};

/* A queue of events of all EV profiles of the device. It never overruns: it counts what it had no room for.
 */
struct mrc_cq* mrc_ctl_create_ev_event_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                                          struct mrc_comp_channel* channel, int comp_vector);
/* How many events there were, at most n, or a negative value of errno. */
int mrc_ctl_poll_ev_event(struct mrc_cq* cq, int n, struct mrc_ctl_ev_event* events);

/* ------------------------------------------------------------------------------------ endpoint operations */

enum mrc_ctl_ep_op_type { MRC_CTL_EP_OP_EV_PROBE, MRC_CTL_EP_OP_PORT_STATUS_UPDATE };

struct mrc_ctl_ep_req {
  uint16_t req_id; /* comes back with the answer */
  union ibv_gid sgid;
  union ibv_gid dgid;
  enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
  struct mrc_ctl_ev req_ev; /* the way that the request takes */
  union {
    struct {
      uint32_t port_status; /* bit N: port N of ours is usable */
    } port_status_update;
  } op;
};

struct mrc_ctl_ep_rsp {
  uint16_t req_id;
  uint8_t port;         /* by which the answer came */
  unsigned int rtt;     /* ns */
  uint8_t adj_svc_time; /* 1: without the time that the other side took */
};

/* Sends all requests and waits for their answers, rsp_timeout_ns at most. *num_rsp: room for answers, then
 * how many there are; they come in any order. ETIMEDOUT: not one came. */
int mrc_ctl_ep_batch_send_wait(struct mrc_context* mrc_ctx, uint8_t req_tc, enum mrc_ctl_ep_op_type op_type,
                               struct mrc_ctl_ep_req* reqs, int num_req, uint32_t rsp_timeout_ns,
                               struct mrc_ctl_ep_rsp* rsps, int* num_rsp);

#ifdef __cplusplus
}
#endif
#endif
