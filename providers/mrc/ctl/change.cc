// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/ctl/change.h"

#include <cerrno>
#include <memory>
#include <new>
#include <string>

#include "dpdk_io/host/cancellation.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"

namespace mrc::provider {

int to_errno(EvResult result) {
  switch (result) {
    case EvResult::kOk:
      return 0;
    case EvResult::kInvalid:
      return EINVAL;
    case EvResult::kBusy:
      return EBUSY;
    case EvResult::kTooBig:
      return E2BIG;
    case EvResult::kNotFound:
      return ENOENT;
  }
  return EIO;
}

std::optional<ProfileState> to_state(mrc_ctl_profile_state state) {
  switch (state) {
    case MRC_CTL_PROFILE_INIT:
      return ProfileState::kInit;
    case MRC_CTL_PROFILE_OFFLINE:
      return ProfileState::kOffline;
    case MRC_CTL_PROFILE_ONLINE:
      return ProfileState::kOnline;
  }
  return std::nullopt;
}

mrc_ctl_profile_state to_public(ProfileState state) {
  return static_cast<mrc_ctl_profile_state>(state);
}

ControlPage* page_of(ibv_context* verbs) {
  if (verbs == nullptr || forked_away()) {
    errno = verbs == nullptr ? EINVAL : EPERM;
    return nullptr;
  }
  int why = 0;
  ControlPage* page = Context::of(verbs)->device().control(&why);
  if (page == nullptr) errno = why == EPERM || why == ENOMEM ? why : EIO;
  return page;
}

int look(ibv_context* verbs, const std::function<int(ControlModel&, const ControlPage&)>& act) {
  const WithoutCancellation whole;
  try {
    const ControlPage* page = page_of(verbs);
    if (page == nullptr) return -1;
    const auto state = std::make_unique<ControlState>();
    page->read(state.get());
    ControlModel model;
    model.load(*state);
    return mrc::api::done(act(model, *page));
  } catch (const std::bad_alloc&) {
    return mrc::api::done(ENOMEM);
  }
}

int change(ibv_context* verbs, const std::function<int(ControlModel&, ControlPage&, Keep*)>& act) {
  const WithoutCancellation whole;
  try {
    ControlPage* page = page_of(verbs);
    if (page == nullptr) return -1;
    int result = 0;
    const int error = page->change([&](ControlState& state) {
      ControlModel model;
      model.load(state);
      Keep keep = Keep::kNothing;
      result = act(model, *page, &keep);
      if (result != 0 && keep == Keep::kNothing) return false;
      model.drop_empty();
      const int stored = model.store(&state);
      if (stored != 0) result = stored;
      return stored == 0;
    });
    return mrc::api::done(error != 0 ? EIO : result);
  } catch (const std::bad_alloc&) {
    return mrc::api::done(ENOMEM);
  }
}

}  // namespace mrc::provider
