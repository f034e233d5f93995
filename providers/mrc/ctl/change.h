// SPDX-License-Identifier: BSD-2-Clause
// How the controller's functions look at the profiles of the run directory, and change them.
#pragma once

#include <cstdint>
#include <functional>

#include "include/mrc/mrc_ctl.h"
#include "libmrc/api/objects.h"
#include "providers/mrc/verbs/control_model.h"
#include "providers/mrc/verbs/device.h"

namespace mrc::provider {

// errno of what a profile says.
int to_errno(EvResult result);

// The state that a profile is asked to have, if it is one.
std::optional<ProfileState> to_state(mrc_ctl_profile_state state);
mrc_ctl_profile_state to_public(ProfileState state);

// What became of a change that met an error.
enum class Keep : uint8_t { kNothing, kWhatWasDone };

// All of these: 0, or -1 with errno set.
int look(ibv_context* verbs, const std::function<int(ControlModel&, const ControlPage&)>& act);
int change(ibv_context* verbs, const std::function<int(ControlModel&, ControlPage&, Keep*)>& act);
// The page alone; null with errno set.
ControlPage* page_of(ibv_context* verbs);
// Null for null.
inline ibv_context* verbs_of(const mrc_context* context) {
  return context != nullptr ? context->verbs : nullptr;
}

// Takes vendor_cfg, which nothing here reads, for those who look again.
inline void copy_vendor(const uint8_t* from, VendorConfig* to) {
  std::copy_n(from, to->size(), to->begin());
}
inline void copy_vendor(const VendorConfig& from, uint8_t* to) {
  std::copy(from.begin(), from.end(), to);
}

}  // namespace mrc::provider
