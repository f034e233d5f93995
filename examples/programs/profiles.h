/* SPDX-License-Identifier: BSD-2-Clause */
/* What the examples for controllers have in common: profiles go from INIT to OFFLINE to ONLINE, and back. */
#ifndef MRC_EXAMPLES_PROFILES_H
#define MRC_EXAMPLES_PROFILES_H

#include "common.h"

/* How EVs are laid out: so many fields of so many bits. */
static inline void make_format(struct mrc_context* context, uint64_t id, enum mrc_ctl_ev_fmt_mode mode,
                               struct mrc_ctl_ev_fmt_field* fields, int count) {
  struct mrc_ctl_ev_fmt_profile_attr attr = {0};
  attr.ev_fmt_mode = mode;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  CHECK(mrc_ctl_modify_ev_fmt_profile(context, id, &attr,
                                      MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
  attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
  attr.ev_fmt_op.fmt_fields = fields;
  attr.ev_fmt_op.fmt_field_count = count;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  CHECK(mrc_ctl_modify_ev_fmt_profile(context, id, &attr,
                                      MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
}

/* Just these EVs. */
static inline void make_explicit(struct mrc_context* context, uint64_t id, uint64_t format,
                                 const struct mrc_ctl_ev* evs, int count, uint32_t min_active) {
  struct mrc_ctl_ev_profile_attr attr = {0};
  attr.ev_mode = MRC_CTL_EV_MODE_EXP;
  attr.ev_fmt_profile_id = format;
  attr.ev_count = (uint32_t)count;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  CHECK(mrc_ctl_modify_ev_profile(context, id, &attr,
                                  MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                      MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_STATE) == 0);
  struct mrc_ctl_ev_op_entry* entries = calloc((size_t)count, sizeof *entries);
  CHECK(entries != NULL);
  for (int i = 0; i < count; ++i) { /* each takes the place of one that is free */
    entries[i].ev = MRC_CTL_EV_UNPOPULATED;
    entries[i].ev_new = evs[i];
  }
  attr.ev_op.op = MRC_CTL_EV_OP_REPLACE_EV;
  attr.ev_op.entries = entries;
  attr.ev_op.entry_count = count;
  attr.ev_min_active = min_active;
  attr.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  CHECK(mrc_ctl_modify_ev_profile(context, id, &attr,
                                  MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                      MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE) == 0);
  free(entries);
}

/* The controller's word about one EV: by value and port. */
static inline int set_state(struct mrc_context* context, uint64_t id, const struct mrc_ctl_ev* ev,
                            enum mrc_ctl_ev_state state) {
  struct mrc_ctl_ev_op_entry entry = {0};
  entry.ev = *ev;
  entry.state = state;
  struct mrc_ctl_ev_profile_attr attr = {0};
  attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
  attr.ev_op.entries = &entry;
  attr.ev_op.entry_count = 1;
  return mrc_ctl_modify_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_EV_OP);
}

/* Back to INIT, so that the next run begins anew; profiles outlive programs. */
static inline void remove_profile(struct mrc_context* context, uint64_t id, uint64_t format) {
  struct mrc_ctl_ev_profile_attr attr = {0};
  struct mrc_ctl_ev_fmt_profile_attr format_attr = {0};
  attr.profile_state = format_attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  CHECK(mrc_ctl_modify_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0);
  attr.profile_state = MRC_CTL_PROFILE_INIT;
  CHECK(mrc_ctl_modify_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0);
  CHECK(mrc_ctl_modify_ev_fmt_profile(context, format, &format_attr, MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
  format_attr.profile_state = MRC_CTL_PROFILE_INIT;
  CHECK(mrc_ctl_modify_ev_fmt_profile(context, format, &format_attr, MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
}

/* Two queue pairs of this process that use the profile, and memory to write to. */
struct pair {
  struct ibv_pd* domain;
  struct ibv_mr* region;
  struct mrc_cq* completions;
  struct mrc_qp* qp[2];
  struct side side[2];
};

static inline struct pair make_pair(struct ibv_context* verbs, struct mrc_context* context, uint64_t profile,
                                    size_t bytes) {
  struct pair pair = {0};
  pair.domain = ibv_alloc_pd(verbs);
  pair.region =
      ibv_reg_mr(pair.domain, calloc(1, bytes), bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  pair.completions = mrc_create_cq(context, 256, NULL, NULL, 0);
  CHECK(pair.region != NULL && pair.completions != NULL);
  for (int i = 0; i < 2; ++i) {
    struct mrc_qp_init_attr wanted = {0};
    wanted.send_cq = wanted.recv_cq = pair.completions;
    wanted.pd = pair.domain;
    wanted.cap.max_send_wr = 128;
    wanted.cap.max_send_sge = 1;
    CHECK((pair.qp[i] = mrc_create_qp(context, &wanted)) != NULL);
    pair.side[i] = side_of(verbs, pair.qp[i], pair.region);
  }
  connect_to(pair.qp[0], &pair.side[1], profile);
  connect_to(pair.qp[1], &pair.side[0], profile);
  return pair;
}

static inline void destroy_pair(struct pair* pair) {
  for (int i = 0; i < 2; ++i) CHECK(mrc_destroy_qp(pair->qp[i]) == 0);
  CHECK(mrc_destroy_cq(pair->completions) == 0);
  void* memory = pair->region->addr;
  ibv_dereg_mr(pair->region);
  free(memory);
  ibv_dealloc_pd(pair->domain);
}

#endif
