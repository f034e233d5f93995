/* SPDX-License-Identifier: BSD-2-Clause */
/* A generated profile with a denylist: the device makes EVs of fields, as switches that route by bits of the
 * EV want them, and the controller denies those that lead through one spine. mrcrun generated */
#include <mrc/mrcdv.h>

#include "profiles.h"

enum { kFormat = 62, kProfile = 63, kEvs = 64, kBytes = 1 << 20 };

int main(void) {
  struct ibv_context* verbs = open_device(NULL);
  struct mrc_context* context = make_context(verbs);

  /* 32 bits: the UDP source port, then the flow label. Here: a fixed byte, four bits of spine, four of core,
   * and the label left alone. */
  struct mrc_ctl_ev_fmt_field format[] = {{8}, {4}, {4}, {16}};
  make_format(context, kFormat, MRC_CTL_EV_FMT_MODE_STEV, format, 4);
  struct mrc_ctl_ev_field fields[] = {
      {.width = 8, .init_val = 0xC0},           /* fixed: a dynamic port */
      {.width = 4, .max_val = 15, .mask = 0xF}, /* the spine */
      {.width = 4, .max_val = 15, .mask = 0xF}, /* the core */
      {.width = 16},
  };
  struct mrc_ctl_ev_profile_attr attr = {0};
  attr.ev_mode = MRC_CTL_EV_MODE_GEN;
  attr.ev_fmt_profile_id = kFormat;
  attr.ev_count = kEvs; /* as many on each port */
  attr.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
  attr.ev_fields_op.fields = fields;
  attr.ev_fields_op.field_count = 4;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  CHECK(mrc_ctl_modify_ev_profile(context, kProfile, &attr,
                                  MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                      MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP |
                                      MRC_CTL_EV_PROFILE_STATE) == 0);
  attr.ev_min_active = 8;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  CHECK(mrc_ctl_modify_ev_profile(
            context, kProfile, &attr,
            MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE) == 0);

  /* Which EVs it has made, and the denylist: all that go by the spine of the first. */
  struct mrc_ctl_ev_op_entry entries[kEvs];
  attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
  attr.ev_op.entries = entries;
  attr.ev_op.entry_count = kEvs;
  CHECK(mrc_ctl_query_ev_profile(context, kProfile, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0);
  const int spine = entries[0].ev.val[1] >> 4;
  int denied = 0;
  for (int i = 0; i < attr.ev_op.entry_count; ++i)
    if (entries[i].ev.val[1] >> 4 == spine) {
      CHECK(set_state(context, kProfile, &entries[i].ev, MRC_CTL_EV_DENIED) == 0);
      ++denied;
    }
  printf("%d EVs, %d of them by spine %d are denied\n", attr.ev_op.entry_count, denied, spine);

  struct pair pair = make_pair(verbs, context, kProfile, kBytes);
  for (int i = 0; i < 64; ++i) {
    post_write(pair.qp[0], pair.region, kBytes, &pair.side[1], IBV_WR_RDMA_WRITE, 0);
    wait_for(pair.completions);
  }
  struct mrcdv_path paths[kEvs];
  const int there = mrcdv_query_paths(*(struct ibv_qp**)pair.qp[0], paths, kEvs);
  int used = 0;
  for (int i = 0; i < there; ++i) {
    used += paths[i].newest != 0;
    CHECK(paths[i].state != MRCDV_PATH_DENIED || paths[i].newest == 0);
  }
  printf("%d paths were used\n", used);
  CHECK(used == kEvs - denied);
  destroy_pair(&pair);
  remove_profile(context, kProfile, kFormat);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return 0;
}
