/* SPDX-License-Identifier: BSD-2-Clause */
/* What verbs cannot say about the device of Soft-MRC: which transport a queue pair speaks, what MRC lets one
 * choose, and which paths it uses. mrc.h is made of this and of libibverbs; docs/api.md explains it. */
#ifndef MRCDV_H
#define MRCDV_H

#include <infiniband/verbs.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1: the device is one of Soft-MRC's, 0: it is not. */
int mrcdv_is_supported(struct ibv_device* device);

struct mrcdv_device_attr {
  uint32_t planes;        /* ports, which count from 1 */
  uint32_t max_wimm;      /* WRITEs with immediate under way, per queue pair and direction */
  uint32_t max_mpr;       /* packets beyond the oldest that is missing */
  uint32_t ports_enabled; /* bit N: the operator lets port N be used */
  uint32_t ports_up;      /* bit N: port N has a link, too; if the device runs */
};
/* 0 or a value of errno; EOPNOTSUPP: the context is of another device. */
int mrcdv_query_device(struct ibv_context* context, struct mrcdv_device_attr* attr);

enum mrcdv_transport {
  MRCDV_TRANSPORT_DEFAULT = 0,    /* as the settings say */
  MRCDV_TRANSPORT_MRC = 1,        /* MRC 1.0, and the rest of RC with peers that have it, too */
  MRCDV_TRANSPORT_MRC_STRICT = 2, /* MRC 1.0 and nothing else */
  MRCDV_TRANSPORT_RC = 3          /* plain RoCEv2: one path, everything in order */
};

/* As ibv_create_qp(), with a transport; the type has to be IBV_QPT_RC. */
struct ibv_qp* mrcdv_create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* init_attr,
                               enum mrcdv_transport transport);

enum mrcdv_qp_attr_mask {
  MRCDV_QP_TIMEOUT = 1 << 0,
  MRCDV_QP_RETRY = 1 << 1,
  MRCDV_QP_MAX_WIMM = 1 << 2,
  MRCDV_QP_MAX_WIMM_DEST = 1 << 3,
  MRCDV_QP_MPR = 1 << 4,
  MRCDV_QP_MPR_DEST = 1 << 5,
  MRCDV_QP_DYNAMIC_MPR = 1 << 6,
  MRCDV_QP_EV_PROFILE = 1 << 7,
  MRCDV_QP_CC_PROFILE = 1 << 8,
  MRCDV_QP_EXPECTED_SENDERS = 1 << 9,
  MRCDV_QP_PATHS = 1 << 10,
  MRCDV_QP_PATHS_MIN_ACTIVE = 1 << 11
};

struct mrcdv_qp_attr {
  uint64_t timeout_ns; /* of one try; 0: for ever */
  uint64_t ev_profile_id;
  uint64_t cc_profile_id;
  uint32_t expected_senders; /* to the peer, at a time; 0: not known */
  uint32_t mpr;              /* packets; a multiple of 128 */
  uint32_t mpr_dest;
  uint16_t max_wimm;
  uint16_t max_wimm_dest;
  uint8_t retry_linear;
  uint8_t retry_exponential; /* 25: for ever */
  uint8_t dynamic_mpr;
  uint8_t transport; /* of enum mrcdv_transport; only to read */
  /* How it sprays, unless an EV profile says it; until it is connected. */
  uint32_t paths_per_plane;
  uint32_t paths_min_active; /* of all planes together, losses leave no fewer in use */
};

/* As ibv_modify_qp(), and these as well, all at once or nothing. */
int mrcdv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                    const struct mrcdv_qp_attr* dv_attr, uint32_t dv_mask);
int mrcdv_query_qp(struct ibv_qp* qp, struct mrcdv_qp_attr* dv_attr);

enum mrcdv_path_state {
  MRCDV_PATH_GOOD = 0,
  MRCDV_PATH_SKIP = 1, /* misses turns: it was marked */
  MRCDV_PATH_ASSUMED_BAD = 2,
  MRCDV_PATH_DENIED = 3
};

struct mrcdv_path {
  uint32_t entropy; /* UDP source port, and the low half of the flow label above it */
  uint8_t port;     /* counts from 1 */
  uint8_t state;    /* of enum mrcdv_path_state */
  uint8_t in_use;   /* 0: a backup, bad, denied, or its port is down */
  uint8_t has_outer;
  uint8_t outer_destination[16]; /* SRv6, if has_outer */
  uint64_t rtt_ns;               /* of its port, lately; 0: not known */
  uint64_t newest;               /* of all that was sent, the number of the newest that came by it; 0: none */
  uint32_t sent;                 /* packets of data by it, first or again; wraps */
  uint32_t lost;                 /* of these, how many were taken for lost; wraps */
};

/* The paths of a connected queue pair of MRC, at most `count` of them. Queue pairs to one peer that are alike
 * (class of traffic, profiles, how they spray) have the same paths, and what is told here is of all of them
 * together. Returns how many it has, or a negative value of errno. */
int mrcdv_query_paths(struct ibv_qp* qp, struct mrcdv_path* paths, int count);

/* How a queue pair sprays. */
struct mrcdv_spray {
  uint32_t paths;        /* all of them */
  uint32_t active;       /* of these, how many are used in turn */
  uint32_t min_active;   /* losses leave no fewer */
  uint32_t loss_permill; /* of all paths, lately */
};
int mrcdv_query_spray(struct ibv_qp* qp, struct mrcdv_spray* spray);

/* Makes something go wrong on purpose in the device as this process has it: "drop rate=0.01 opcode=write",
 * "call call=reg-mr nth=3 errno=ENOMEM" and so on, as mrcctl fault add has it (docs/faults.md). 0 or a value
 * of errno: EINVAL, the words are wrong; ENOSPC, there are too many. */
int mrcdv_add_fault(struct ibv_context* context, const char* fault, uint32_t* id);
int mrcdv_remove_fault(struct ibv_context* context, uint32_t id);

struct mrcdv_fault {
  uint64_t hits; /* how often it has happened */
  uint32_t id;
  uint32_t reserved;
  char fault[240]; /* in words */
};
/* The faults that this process injects by its settings and by mrcdv_add_fault(), at most `count` of them.
 * Returns how many there are, or a negative value of errno. */
int mrcdv_query_faults(struct ibv_context* context, struct mrcdv_fault* faults, int count);

/* A link of an SRv6 fabric: two uSIDs that follow each other in a route, in either direction. */
struct mrcdv_link {
  uint16_t usid;
  uint16_t other; /* 0: all links of the first */
};

enum mrcdv_links_op { MRCDV_LINKS_REPLACE, MRCDV_LINKS_ADD, MRCDV_LINKS_REMOVE };

/* Which links no path of a device may lead over, to whatever destination; for all programs of the run
 * directory, running or not, until it is changed again. A queue pair to which only such paths would be left
 * keeps all it has. Who may do this is said in mrc_ctl.h. 0 or a value of errno; ENOMEM: there are too many.
 */
int mrcdv_modify_denied_links(struct ibv_context* context, enum mrcdv_links_op op,
                              const struct mrcdv_link* links, int count);
/* At most `count` of them. Returns how many there are, or a negative value of errno. */
int mrcdv_query_denied_links(struct ibv_context* context, struct mrcdv_link* links, int count);

/* Which profiles of mrc_ctl.h there are. */
enum mrcdv_profile_kind { MRCDV_PROFILE_EV_FMT, MRCDV_PROFILE_EV, MRCDV_PROFILE_CC };
/* At most `count` of their numbers. Returns how many there are, or a negative value of errno. */
int mrcdv_query_profiles(struct ibv_context* context, enum mrcdv_profile_kind kind, uint64_t* ids, int count);

#ifdef __cplusplus
}
#endif
#endif
