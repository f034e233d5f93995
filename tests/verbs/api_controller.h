// SPDX-License-Identifier: BSD-2-Clause
// Short forms of what controllers do, for the tests of OCP's mrc_ctl.h.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "include/mrc/mrc_ctl.h"

namespace api_test {

inline mrc_ctl_ev ev_of(uint16_t source_port, uint8_t port) {
  mrc_ctl_ev ev{};
  ev.val[0] = static_cast<uint8_t>(source_port >> 8);
  ev.val[1] = static_cast<uint8_t>(source_port);
  ev.port = port;
  return ev;
}

inline int set_format_state(mrc_context* context, uint64_t id, mrc_ctl_profile_state state) {
  mrc_ctl_ev_fmt_profile_attr attributes{};
  attributes.profile_state = state;
  return mrc_ctl_modify_ev_fmt_profile(context, id, &attributes, MRC_CTL_EV_FMT_PROFILE_STATE);
}

inline int set_profile_state(mrc_context* context, uint64_t id, mrc_ctl_profile_state state) {
  mrc_ctl_ev_profile_attr attributes{};
  attributes.profile_state = state;
  return mrc_ctl_modify_ev_profile(context, id, &attributes, MRC_CTL_EV_PROFILE_STATE);
}

// A format with one field for all of its bits, online.
inline int make_format(mrc_context* context, uint64_t id, mrc_ctl_ev_fmt_mode mode,
                       std::vector<mrc_ctl_ev_fmt_field> fields = {{16}}) {
  mrc_ctl_ev_fmt_profile_attr attributes{};
  attributes.ev_fmt_mode = mode;
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  if (mrc_ctl_modify_ev_fmt_profile(context, id, &attributes,
                                    MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_STATE) != 0)
    return -1;
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  attributes.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(), static_cast<int>(fields.size())};
  return mrc_ctl_modify_ev_fmt_profile(context, id, &attributes,
                                       MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_STATE);
}

// A profile of just these EVs, online.
inline int make_explicit(mrc_context* context, uint64_t id, uint64_t format,
                         const std::vector<mrc_ctl_ev>& evs, uint32_t min_active,
                         int event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD) {
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_mode = MRC_CTL_EV_MODE_EXP;
  attributes.ev_fmt_profile_id = format;
  attributes.ev_count = static_cast<uint32_t>(evs.size());
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  if (mrc_ctl_modify_ev_profile(context, id, &attributes,
                                MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                    MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_STATE) != 0)
    return -1;
  std::vector<mrc_ctl_ev_op_entry> entries(evs.size());
  for (size_t i = 0; i < evs.size(); ++i) entries[i].ev_new = evs[i];
  attributes.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), static_cast<int>(entries.size())};
  attributes.ev_min_active = min_active;
  attributes.ev_event_mask = event_mask;
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  return mrc_ctl_modify_ev_profile(context, id, &attributes,
                                   MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                       MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE);
}

inline int set_ev_state(mrc_context* context, uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state,
                        uint32_t flags = 0) {
  mrc_ctl_ev_op_entry entry{};
  entry.ev = ev;
  entry.state = state;
  entry.flags = flags;
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
  return mrc_ctl_modify_ev_profile(context, id, &attributes, MRC_CTL_EV_PROFILE_EV_OP);
}

inline mrc_ctl_ev_state state_of(mrc_context* context, uint64_t id, const mrc_ctl_ev& ev) {
  mrc_ctl_ev_op_entry entry{};
  entry.ev = ev;
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1};
  if (mrc_ctl_query_ev_profile(context, id, &attributes, MRC_CTL_EV_PROFILE_EV_OP) != 0)
    return MRC_CTL_EV_UNKNOWN;
  return entry.state;
}

// Both back to INIT, whatever they are.
inline void remove_profile(mrc_context* context, uint64_t id) {
  set_profile_state(context, id, MRC_CTL_PROFILE_OFFLINE);
  set_profile_state(context, id, MRC_CTL_PROFILE_INIT);
}
inline void remove_format(mrc_context* context, uint64_t id) {
  set_format_state(context, id, MRC_CTL_PROFILE_OFFLINE);
  set_format_state(context, id, MRC_CTL_PROFILE_INIT);
}

}  // namespace api_test
