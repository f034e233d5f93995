// SPDX-License-Identifier: BSD-2-Clause
// mrc_ctl.h: EV profiles.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "providers/mrc/ctl/change.h"

namespace mrc::provider {
namespace {

constexpr int kPathMasks = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE | MRC_CTL_EV_PROFILE_MODE |
                           MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
                           MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK |
                           MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP |
                           MRC_CTL_EV_PROFILE_VENDOR_CFG;
constexpr int kBothOps = MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;

EvValue value_of(const mrc_ctl_ev& ev) {
  EvValue value;
  std::memcpy(value.bytes.data(), ev.val, sizeof ev.val);
  value.port = ev.port;
  return value;
}

void tell_ev(const EvValue& value, mrc_ctl_ev* to) {
  std::memcpy(to->val, value.bytes.data(), sizeof to->val);
  to->port = value.port;
}

bool has_segment(const EvValue& ev) {
  return std::any_of(ev.bytes.begin() + 16, ev.bytes.end(), [](uint8_t byte) { return byte != 0; });
}

// Headers are as long on all paths of a connection: either every EV has a segment or none has.
bool alike(const EvProfile& profile) {
  if (profile.format()->mode() != EvFormatMode::kSrv6) return true;
  const auto values = profile.values();
  return std::all_of(values.begin(), values.end(),
                     [&](const EvValue& ev) { return has_segment(ev) == has_segment(values.front()); });
}

bool is_own_port(const ControlPage& page, uint8_t port) {
  return port < 32 && (page.ports() >> port & 1) != 0;
}

// --- operations on EVs ---

int replace_ev(PathsProfile* profile, const mrc_ctl_ev_op_entry& entry, ControlPage& page) {
  const EvValue old = value_of(entry.ev);
  const EvValue fresh = value_of(entry.ev_new);
  if (!is_own_port(page, fresh.port)) return EINVAL;
  // A running queue pair's paths keep their planes.
  const bool online = profile->profile.state() == ProfileState::kOnline;
  if (online && old.port != fresh.port) return EINVAL;
  const auto values = profile->profile.values();
  const auto at = static_cast<uint32_t>(std::find(values.begin(), values.end(), old) - values.begin());
  if (const int error = to_errno(profile->profile.replace(old, fresh)); error != 0) return error;
  if (online && !alike(profile->profile)) {
    profile->profile.replace(fresh, old);
    return EINVAL;
  }
  page.note_ev(profile->place, at, 0);
  return 0;
}

int set_state_of_ev(PathsProfile* profile, const mrc_ctl_ev_op_entry& entry) {
  const EvValue value = value_of(entry.ev);
  if (!value.populated() || (entry.state != MRC_CTL_EV_GOOD && entry.state != MRC_CTL_EV_DENIED))
    return EINVAL;
  const PathState state = entry.state == MRC_CTL_EV_GOOD ? PathState::kGood : PathState::kDenied;
  const bool all = (entry.flags & MRC_CTL_EV_OP_F_ALL_COPIES) != 0;
  EvProfile after = profile->profile;
  if (const int error = to_errno(after.set_ev_state(value, state, all)); error != 0) return error;
  const bool online = profile->profile.state() == ProfileState::kOnline;
  if (online && state == PathState::kDenied && after.allowed() < after.min_active()) return EBUSY;
  profile->profile = std::move(after);
  return 0;
}

mrc_ctl_ev_state state_of_ev(const PathsProfile& profile, uint32_t index, const ControlPage& page) {
  if (profile.profile.state_of(index) == PathState::kDenied) return MRC_CTL_EV_DENIED;
  if (!profile.profile.values()[index].populated()) return MRC_CTL_EV_UNKNOWN;
  return page.noted_ev(profile.place, index) == kPathEventAssumedBad ? MRC_CTL_EV_ASSUMED_BAD
                                                                     : MRC_CTL_EV_GOOD;
}

// Stops at the first entry that fails; those before it are done, and entry_count says how many.
int change_evs(PathsProfile* profile, mrc_ctl_ev_profile_attr* wanted, ControlPage& page, Keep* keep) {
  auto& op = wanted->ev_op;
  if (op.op != MRC_CTL_EV_OP_REPLACE_EV && op.op != MRC_CTL_EV_OP_MODIFY_EV_STATE) return EINVAL;
  if (op.entries == nullptr || op.entry_count < 1) return EINVAL;
  const int count = op.entry_count;
  for (op.entry_count = 0; op.entry_count < count; ++op.entry_count) {
    const mrc_ctl_ev_op_entry& entry = op.entries[op.entry_count];
    if ((entry.flags & ~uint32_t{MRC_CTL_EV_OP_F_ALL_COPIES}) != 0) return EINVAL;
    const int error = op.op == MRC_CTL_EV_OP_REPLACE_EV ? replace_ev(profile, entry, page)
                                                        : set_state_of_ev(profile, entry);
    if (error != 0) return error;
    *keep = Keep::kWhatWasDone;
  }
  return 0;
}

int query_evs(const PathsProfile& profile, mrc_ctl_ev_profile_attr* to, const ControlPage& page) {
  auto& op = to->ev_op;
  const auto values = profile.profile.values();
  const auto fill = [&](uint32_t index, mrc_ctl_ev_op_entry* entry) {
    tell_ev(values[index], &entry->ev);
    entry->state = state_of_ev(profile, index, page);
  };
  if (op.op == MRC_CTL_EV_OP_QUERY_EV_ARRAY) {
    const int room = op.entry_count;
    op.entry_count = static_cast<int>(values.size());
    if (room < op.entry_count) return E2BIG;
    if (op.entries == nullptr && !values.empty()) return EINVAL;
    for (uint32_t i = 0; i < values.size(); ++i) fill(i, &op.entries[i]);
    return 0;
  }
  if (op.op != MRC_CTL_EV_OP_QUERY_EV_STATE || op.entries == nullptr || op.entry_count < 1) return EINVAL;
  const int count = op.entry_count;
  for (op.entry_count = 0; op.entry_count < count; ++op.entry_count) {
    mrc_ctl_ev_op_entry& entry = op.entries[op.entry_count];
    const auto found = std::find(values.begin(), values.end(), value_of(entry.ev));
    if (found == values.end()) return ENOENT;
    entry.state = state_of_ev(profile, static_cast<uint32_t>(found - values.begin()), page);
  }
  return 0;
}

// --- fields ---

int change_fields(PathsProfile* profile, uint64_t id, const mrc_ctl_ev_profile_attr& wanted,
                  const ControlPage& page) {
  const auto& op = wanted.ev_fields_op;
  if (op.op != MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS || op.fields == nullptr || op.field_count < 1)
    return EINVAL;
  std::vector<EvField> fields;
  for (const mrc_ctl_ev_field& field : std::span(op.fields, static_cast<size_t>(op.field_count)))
    fields.push_back({field.width, field.init_val, field.min_val, field.max_val, field.mask});
  return to_errno(profile->profile.change_fields(fields, page.ports(), id));
}

int query_fields(const EvProfile& profile, mrc_ctl_ev_profile_attr* to) {
  auto& op = to->ev_fields_op;
  if (op.op != MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS) return EINVAL;
  const auto fields = profile.fields();
  const int room = op.field_count;
  op.field_count = static_cast<int>(fields.size());
  if (room < op.field_count) return E2BIG;
  if (op.fields == nullptr && !fields.empty()) return EINVAL;
  for (size_t i = 0; i < fields.size(); ++i)
    op.fields[i] = {fields[i].width, fields[i].init_val, fields[i].min_val, fields[i].max_val,
                    fields[i].mask};
  return 0;
}

// --- the profile ---

int set_what_it_is(PathsProfile* profile, const mrc_ctl_ev_profile_attr& wanted, int mask,
                   ControlModel& model) {
  if ((mask & MRC_CTL_EV_PROFILE_MODE) != 0)
    if (const int error = to_errno(profile->profile.set_mode(static_cast<EvMode>(wanted.ev_mode)));
        error != 0)
      return error;
  if ((mask & MRC_CTL_EV_PROFILE_FMT_ID) != 0) {
    const auto format = model.formats.find(wanted.ev_fmt_profile_id);
    if (format == model.formats.end()) return EINVAL;
    if (const int error = to_errno(profile->profile.set_format(&format->second.profile)); error != 0)
      return error;
    profile->format = wanted.ev_fmt_profile_id;
  }
  if ((mask & MRC_CTL_EV_PROFILE_COUNT) != 0)
    if (const int error = to_errno(profile->profile.set_count(wanted.ev_count)); error != 0) return error;
  return 0;
}

int set_what_it_does(PathsProfile* profile, const mrc_ctl_ev_profile_attr& wanted, int mask) {
  if ((mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) != 0)
    if (const int error = to_errno(profile->profile.set_min_active(wanted.ev_min_active)); error != 0)
      return error;
  if ((mask & MRC_CTL_EV_PROFILE_EVENT_MASK) == 0) return 0;
  if ((wanted.ev_event_mask & ~(MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD)) != 0) return EINVAL;
  return to_errno(profile->profile.set_event_mask(static_cast<uint8_t>(wanted.ev_event_mask)));
}

int set_state(PathsProfile* profile, uint64_t id, mrc_ctl_profile_state wanted, ControlPage& page) {
  const auto state = to_state(wanted);
  if (!state) return EINVAL;
  const bool back = *state < profile->profile.state();
  if (back && page.in_use(ControlPage::Kind::kPaths, profile->place)) return EBUSY;
  if (const int error = to_errno(profile->profile.set_state(*state, page.ports(), id)); error != 0)
    return error;
  if (*state != ProfileState::kOnline) {
    page.clear_notes(profile->place);
    return 0;
  }
  const EvProfile& online = profile->profile;
  return online.allowed() >= online.min_active() && alike(online) ? 0 : EINVAL;
}

int modify_paths(PathsProfile* profile, uint64_t id, mrc_ctl_ev_profile_attr* wanted, int mask,
                 ControlModel& model, ControlPage& page, Keep* keep) {
  if ((mask & kBothOps) == kBothOps) return EINVAL;
  if ((mask & MRC_CTL_EV_PROFILE_CUR_STATE) != 0 &&
      to_state(wanted->cur_profile_state) != profile->profile.state())
    return EINVAL;
  if (const int error = set_what_it_is(profile, *wanted, mask, model); error != 0) return error;
  if ((mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) != 0)
    if (const int error = change_fields(profile, id, *wanted, page); error != 0) return error;
  if (const int error = set_what_it_does(profile, *wanted, mask); error != 0) return error;
  if ((mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) != 0) copy_vendor(wanted->vendor_cfg, &profile->vendor);
  // There are EVs from OFFLINE on.
  const bool state_first = profile->profile.state() == ProfileState::kInit;
  const auto step = [&] {
    return (mask & MRC_CTL_EV_PROFILE_STATE) != 0 ? set_state(profile, id, wanted->profile_state, page) : 0;
  };
  if (state_first)
    if (const int error = step(); error != 0) return error;
  if ((mask & MRC_CTL_EV_PROFILE_EV_OP) != 0)
    if (const int error = change_evs(profile, wanted, page, keep); error != 0) return error;
  if (state_first) return 0;
  const int error = step();
  if (error != 0) *keep = Keep::kNothing;
  return error;
}

void query_values(const PathsProfile& profile, mrc_ctl_ev_profile_attr* to, int mask) {
  const EvProfileImage image = profile.profile.image();
  if ((mask & MRC_CTL_EV_PROFILE_STATE) != 0) to->profile_state = to_public(image.state);
  if ((mask & MRC_CTL_EV_PROFILE_CUR_STATE) != 0) to->cur_profile_state = to_public(image.state);
  if ((mask & MRC_CTL_EV_PROFILE_MODE) != 0)
    to->ev_mode = image.has_mode ? static_cast<mrc_ctl_ev_mode>(image.mode) : mrc_ctl_ev_mode{};
  if ((mask & MRC_CTL_EV_PROFILE_FMT_ID) != 0) to->ev_fmt_profile_id = profile.format;
  if ((mask & MRC_CTL_EV_PROFILE_COUNT) != 0) to->ev_count = image.wanted_count;
  if ((mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) != 0) to->ev_min_active = image.min_active;
  if ((mask & MRC_CTL_EV_PROFILE_EVENT_MASK) != 0) to->ev_event_mask = image.event_mask;
  if ((mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) != 0) copy_vendor(profile.vendor, to->vendor_cfg);
}

}  // namespace
}  // namespace mrc::provider

using namespace mrc::provider;  // NOLINT(google-build-using-namespace)
using mrc::api::done;

MRC_EXPORTED_API int mrc_ctl_modify_ev_profile(mrc_context* mrc_ctx, uint64_t ev_profile_id,
                                               mrc_ctl_ev_profile_attr* attr, int attr_mask) {
  if (attr == nullptr || (attr_mask & ~kPathMasks) != 0) return done(EINVAL);
  return change(verbs_of(mrc_ctx), [&](ControlModel& model, mrc::ControlPage& page, Keep* keep) {
    PathsProfile* profile = model.path_profile(ev_profile_id);
    if (profile == nullptr) return ENOMEM;
    const mrc::ProfileState before = profile->profile.state();
    const int error = modify_paths(profile, ev_profile_id, attr, attr_mask, model, page, keep);
    if (error == 0 && before == mrc::ProfileState::kOffline &&
        profile->profile.state() == mrc::ProfileState::kInit)
      model.paths.erase(ev_profile_id);
    return error;
  });
}

MRC_EXPORTED_API int mrc_ctl_query_ev_profile(mrc_context* mrc_ctx, uint64_t ev_profile_id,
                                              mrc_ctl_ev_profile_attr* attr, int attr_mask) {
  if (attr == nullptr || (attr_mask & ~kPathMasks) != 0 || (attr_mask & kBothOps) == kBothOps)
    return done(EINVAL);
  return look(verbs_of(mrc_ctx), [&](ControlModel& model, const mrc::ControlPage& page) {
    const auto found = model.paths.find(ev_profile_id);
    const PathsProfile none;
    const PathsProfile& profile = found != model.paths.end() ? found->second : none;
    query_values(profile, attr, attr_mask);
    if ((attr_mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) != 0) return query_fields(profile.profile, attr);
    return (attr_mask & MRC_CTL_EV_PROFILE_EV_OP) != 0 ? query_evs(profile, attr, page) : 0;
  });
}
