// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_perf/made_paths.h"

#include <unistd.h>

#include <vector>

#include "examples/mrc_perf/side.h"

namespace perf {
namespace {

// The outer destination of path `number` on a port, as in docs/settings.md: own leaf, spine, leaf and host of
// the destination. The segment behind it is zero: there is no routing header.
mrc_ctl_ev made_ev(uint8_t port, uint32_t number) {
  const auto plane = static_cast<uint8_t>(port - 1);
  const auto spine = static_cast<uint16_t>(0x1000 + number);
  mrc_ctl_ev ev = MRC_CTL_EV_UNPOPULATED;
  const uint8_t address[] = {
      0xFD, 0x00,  0x4D, 0x52, 0x20, plane, static_cast<uint8_t>(spine >> 8), static_cast<uint8_t>(spine),
      0x20, plane, 0x90, plane};
  for (size_t i = 0; i < sizeof address; ++i) ev.val[i] = address[i];
  ev.port = port;
  return ev;
}

std::vector<mrc_ctl_ev_op_entry> made_entries(ibv_context* verbs, uint32_t per_port) {
  mrc_ctl_device_attr device{};
  if (mrc_ctl_query_device(verbs, &device) != 0) give_up("the ports of the device are not known");
  std::vector<mrc_ctl_ev_op_entry> entries;
  for (uint8_t port = 1; port < 32; ++port)
    for (uint32_t i = 0; (device.phy_port_mask >> port & 1) != 0 && i < per_port; ++i) {
      mrc_ctl_ev_op_entry entry{};
      entry.ev = MRC_CTL_EV_UNPOPULATED;
      entry.ev_new = made_ev(port, i);
      entries.push_back(entry);
    }
  return entries;
}

}  // namespace

MadePaths::MadePaths(ibv_context* verbs, mrc_context* context, uint32_t per_port)
    : context_(context), id_((uint64_t{1} << 40) + static_cast<uint64_t>(getpid())) {
  mrc_ctl_ev_fmt_field whole[] = {{128}, {128}};
  mrc_ctl_ev_fmt_profile_attr format{};
  format.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
  format.profile_state = MRC_CTL_PROFILE_OFFLINE;
  bool good = mrc_ctl_modify_ev_fmt_profile(context, id_, &format,
                                            MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_STATE) == 0;
  format.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
  format.ev_fmt_op.fmt_fields = whole;
  format.ev_fmt_op.fmt_field_count = 2;
  format.profile_state = MRC_CTL_PROFILE_ONLINE;
  good = good && mrc_ctl_modify_ev_fmt_profile(context, id_, &format,
                                               MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_STATE) == 0;

  std::vector<mrc_ctl_ev_op_entry> entries = made_entries(verbs, per_port);
  mrc_ctl_ev_profile_attr paths{};
  paths.ev_mode = MRC_CTL_EV_MODE_EXP;
  paths.ev_fmt_profile_id = id_;
  paths.ev_count = static_cast<uint32_t>(entries.size());
  paths.profile_state = MRC_CTL_PROFILE_OFFLINE;
  good = good && mrc_ctl_modify_ev_profile(context, id_, &paths,
                                           MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                               MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_STATE) == 0;
  paths.ev_op.op = MRC_CTL_EV_OP_REPLACE_EV;
  paths.ev_op.entries = entries.data();
  paths.ev_op.entry_count = static_cast<int>(entries.size());
  paths.ev_min_active = 1;
  paths.ev_event_mask = MRC_CTL_EV_GOOD;
  paths.profile_state = MRC_CTL_PROFILE_ONLINE;
  good = good && mrc_ctl_modify_ev_profile(context, id_, &paths,
                                           MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                               MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE) == 0;
  if (!good) give_up("SRv6 paths cannot be made");
}

// Back to INIT: profiles outlive programs.
MadePaths::~MadePaths() {
  mrc_ctl_ev_profile_attr paths{};
  mrc_ctl_ev_fmt_profile_attr format{};
  for (const auto state : {MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT}) {
    paths.profile_state = state;
    mrc_ctl_modify_ev_profile(context_, id_, &paths, MRC_CTL_EV_PROFILE_STATE);
  }
  for (const auto state : {MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT}) {
    format.profile_state = state;
    mrc_ctl_modify_ev_fmt_profile(context_, id_, &format, MRC_CTL_EV_FMT_PROFILE_STATE);
  }
}

}  // namespace perf
