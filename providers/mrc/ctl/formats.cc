// SPDX-License-Identifier: BSD-2-Clause
// mrc_ctl.h: EV format profiles.
#include <algorithm>
#include <vector>

#include "providers/mrc/ctl/change.h"

namespace mrc::provider {
namespace {

constexpr int kFormatMasks = MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE |
                             MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP |
                             MRC_CTL_EV_FMT_VENDOR_CFG;

int set_format_fields(EvFormatProfile* format, const mrc_ctl_ev_fmt_profile_attr& wanted) {
  const auto& op = wanted.ev_fmt_op;
  if (op.op != MRC_CTL_EV_FMT_OP_MODIFY_FIELDS || op.fmt_fields == nullptr || op.fmt_field_count < 1 ||
      op.fmt_field_count > static_cast<int>(kEvFieldsMax))
    return EINVAL;
  std::vector<uint8_t> widths;
  widths.reserve(kEvFieldsMax);
  for (int i = 0; i < op.fmt_field_count; ++i) widths.push_back(op.fmt_fields[i].width);
  return to_errno(format->set_fields(widths));
}

int modify_format(FormatProfile* format, const mrc_ctl_ev_fmt_profile_attr& wanted, int mask) {
  if ((mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) != 0 &&
      to_state(wanted.cur_profile_state) != format->profile.state())
    return EINVAL;
  if ((mask & MRC_CTL_EV_FMT_PROFILE_MODE) != 0)
    if (const int error = to_errno(format->profile.set_mode(static_cast<EvFormatMode>(wanted.ev_fmt_mode)));
        error != 0)
      return error;
  if ((mask & MRC_CTL_EV_FMT_PROFILE_OP) != 0)
    if (const int error = set_format_fields(&format->profile, wanted); error != 0) return error;
  if ((mask & MRC_CTL_EV_FMT_VENDOR_CFG) != 0) copy_vendor(wanted.vendor_cfg, &format->vendor);
  if ((mask & MRC_CTL_EV_FMT_PROFILE_STATE) == 0) return 0;
  const auto state = to_state(wanted.profile_state);
  return state ? to_errno(format->profile.set_state(*state)) : EINVAL;
}

int query_format_fields(const EvFormatProfile& format, mrc_ctl_ev_fmt_profile_attr* to) {
  auto& op = to->ev_fmt_op;
  const std::vector<uint8_t>& widths = format.widths();
  if (op.op != MRC_CTL_EV_FMT_OP_QUERY_FIELDS) return EINVAL;
  const int room = op.fmt_field_count;
  op.fmt_field_count = static_cast<int>(widths.size());
  if (room < op.fmt_field_count) return E2BIG;
  if (op.fmt_fields == nullptr && !widths.empty()) return EINVAL;
  for (size_t i = 0; i < widths.size(); ++i) op.fmt_fields[i].width = widths[i];
  return 0;
}

}  // namespace
}  // namespace mrc::provider

using namespace mrc::provider;  // NOLINT(google-build-using-namespace)
using mrc::api::done;

MRC_EXPORTED_API int mrc_ctl_modify_ev_fmt_profile(mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                                   mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask) {
  if (attr == nullptr || (attr_mask & ~kFormatMasks) != 0) return done(EINVAL);
  return change(verbs_of(mrc_ctx), [&](ControlModel& model, mrc::ControlPage&, Keep*) {
    FormatProfile* format = model.format(ev_fmt_profile_id);
    if (format == nullptr) return ENOMEM;
    // Also a profile that is not online holds on to it by its number.
    const bool leaves = (attr_mask & MRC_CTL_EV_FMT_PROFILE_STATE) != 0 &&
                        attr->profile_state == MRC_CTL_PROFILE_INIT &&
                        format->profile.state() == mrc::ProfileState::kOffline;
    if (leaves && std::any_of(model.paths.begin(), model.paths.end(), [&](const auto& entry) {
          return entry.second.profile.format() == &format->profile;
        }))
      return EBUSY;
    if (const int error = modify_format(format, *attr, attr_mask); error != 0) return error;
    if (leaves) model.formats.erase(ev_fmt_profile_id);
    return 0;
  });
}

MRC_EXPORTED_API int mrc_ctl_query_ev_fmt_profile(mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                                  mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask) {
  if (attr == nullptr || (attr_mask & ~kFormatMasks) != 0) return done(EINVAL);
  return look(verbs_of(mrc_ctx), [&](ControlModel& model, const mrc::ControlPage&) {
    const FormatProfile* format = model.format(ev_fmt_profile_id);
    const FormatProfile none;
    if (format == nullptr) format = &none;
    if ((attr_mask & MRC_CTL_EV_FMT_PROFILE_STATE) != 0)
      attr->profile_state = to_public(format->profile.state());
    if ((attr_mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) != 0)
      attr->cur_profile_state = to_public(format->profile.state());
    if ((attr_mask & MRC_CTL_EV_FMT_PROFILE_MODE) != 0)
      attr->ev_fmt_mode = format->profile.has_mode()
                              ? static_cast<mrc_ctl_ev_fmt_mode>(format->profile.mode())
                              : mrc_ctl_ev_fmt_mode{};
    if ((attr_mask & MRC_CTL_EV_FMT_VENDOR_CFG) != 0) copy_vendor(format->vendor, attr->vendor_cfg);
    return (attr_mask & MRC_CTL_EV_FMT_PROFILE_OP) != 0 ? query_format_fields(format->profile, attr) : 0;
  });
}
