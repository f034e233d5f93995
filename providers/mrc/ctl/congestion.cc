// SPDX-License-Identifier: BSD-2-Clause
// mrc_ctl.h: CC profiles.
#include <cmath>
#include <cstring>

#include "providers/mrc/ctl/change.h"

namespace mrc::provider {
namespace {

constexpr char kNsccName[] = "uet-1.0-nscc";
constexpr int kCongestionMasks = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE |
                                 MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG |
                                 MRC_CTL_CC_PROFILE_VENDOR_CFG;

bool within(float value, float most) {
  return std::isfinite(value) && value >= 0 && value <= most;
}

// What would make the controller divide by zero, stand still or never slow down.
bool sensible(const mrc_ctl_cc_nscc_cfg& config) {
  constexpr float kBytesMax = 4294967296.0F;
  return config.base_rtt > 0 && config.target_delay > 0 && config.max_cwnd > 0 &&
         within(config.eta, kBytesMax) && within(config.fi, kBytesMax) &&
         within(config.fi_scale, kBytesMax) && within(config.gamma, 1) && within(config.max_md_jump, 1);
}

int set_algorithm(CongestionProfile* profile, const char* algorithm) {
  if (algorithm != nullptr && std::strcmp(algorithm, kNsccName) != 0) return EINVAL;
  profile->has_algorithm = true;
  profile->nscc = algorithm != nullptr;
  profile->config.reset();
  return 0;
}

int set_config(CongestionProfile* profile, const void* config) {
  if (!profile->has_algorithm) return EINVAL;
  if (!profile->nscc) return config == nullptr ? 0 : EINVAL;
  mrc_ctl_cc_nscc_cfg wanted;
  if (config == nullptr) return EINVAL;
  std::memcpy(&wanted, config, sizeof wanted);
  if (!sensible(wanted)) return EINVAL;
  profile->config = wanted;
  return 0;
}

int set_congestion_state(CongestionProfile* profile, ProfileState state, const ControlPage& page) {
  const int step = static_cast<int>(state) - static_cast<int>(profile->state);
  if (step == 0) return 0;
  if (step != 1 && step != -1) return EINVAL;
  if (step == 1 && state == ProfileState::kOffline && !profile->has_algorithm) return EINVAL;
  if (step == 1 && state == ProfileState::kOnline && profile->nscc && !profile->config) return EINVAL;
  if (step == -1 && page.in_use(ControlPage::Kind::kCongestion, profile->place)) return EBUSY;
  profile->state = state;
  return 0;
}

int modify_congestion(CongestionProfile* profile, const mrc_ctl_cc_profile_attr& wanted, int mask,
                      const ControlPage& page) {
  if ((mask & MRC_CTL_CC_PROFILE_CUR_STATE) != 0 && to_state(wanted.cur_profile_state) != profile->state)
    return EINVAL;
  constexpr int kContents = MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG;
  if ((mask & kContents) != 0 && profile->state == ProfileState::kOnline) return EINVAL;
  if ((mask & MRC_CTL_CC_PROFILE_ALGORITHM) != 0) {
    if (profile->state != ProfileState::kInit) return EINVAL;
    if (const int error = set_algorithm(profile, wanted.algorithm); error != 0) return error;
  }
  if ((mask & MRC_CTL_CC_PROFILE_CONFIG) != 0)
    if (const int error = set_config(profile, wanted.cc_config); error != 0) return error;
  if ((mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) != 0) copy_vendor(wanted.vendor_cfg, &profile->vendor);
  if ((mask & MRC_CTL_CC_PROFILE_STATE) == 0) return 0;
  const auto state = to_state(wanted.profile_state);
  return state ? set_congestion_state(profile, *state, page) : EINVAL;
}

}  // namespace
}  // namespace mrc::provider

using namespace mrc::provider;  // NOLINT(google-build-using-namespace)
using mrc::api::done;

MRC_EXPORTED_API int mrc_ctl_modify_cc_profile(mrc_context* mrc_ctx, uint64_t cc_profile_id,
                                               mrc_ctl_cc_profile_attr* attr, int attr_mask) {
  if (attr == nullptr || (attr_mask & ~kCongestionMasks) != 0) return done(EINVAL);
  return change(verbs_of(mrc_ctx), [&](ControlModel& model, mrc::ControlPage& page, Keep*) {
    CongestionProfile* profile = model.congestion_profile(cc_profile_id);
    if (profile == nullptr) return ENOMEM;
    const mrc::ProfileState before = profile->state;
    if (const int error = modify_congestion(profile, *attr, attr_mask, page); error != 0) return error;
    if (before == mrc::ProfileState::kOffline && profile->state == mrc::ProfileState::kInit)
      model.congestion.erase(cc_profile_id);
    return 0;
  });
}

MRC_EXPORTED_API int mrc_ctl_query_cc_profile(mrc_context* mrc_ctx, uint64_t cc_profile_id,
                                              mrc_ctl_cc_profile_attr* attr, int attr_mask) {
  if (attr == nullptr || (attr_mask & ~kCongestionMasks) != 0) return done(EINVAL);
  return look(verbs_of(mrc_ctx), [&](ControlModel& model, const mrc::ControlPage&) {
    const auto found = model.congestion.find(cc_profile_id);
    const CongestionProfile none;
    const CongestionProfile& profile = found != model.congestion.end() ? found->second : none;
    if ((attr_mask & MRC_CTL_CC_PROFILE_STATE) != 0) attr->profile_state = to_public(profile.state);
    if ((attr_mask & MRC_CTL_CC_PROFILE_CUR_STATE) != 0) attr->cur_profile_state = to_public(profile.state);
    if ((attr_mask & MRC_CTL_CC_PROFILE_ALGORITHM) != 0) attr->algorithm = profile.nscc ? kNsccName : nullptr;
    if ((attr_mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) != 0) copy_vendor(profile.vendor, attr->vendor_cfg);
    if ((attr_mask & MRC_CTL_CC_PROFILE_CONFIG) == 0 || !profile.config) return 0;
    if (attr->cc_config == nullptr) return EINVAL;
    // The interface has a pointer to const for both directions.
    std::memcpy(const_cast<void*>(attr->cc_config), &*profile.config, sizeof *profile.config);
    return 0;
  });
}
