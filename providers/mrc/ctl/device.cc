// SPDX-License-Identifier: BSD-2-Clause
// mrc_ctl.h: what the device offers to a controller, and its ports.
#include <algorithm>
#include <memory>

#include "include/mrc/mrcdv.h"
#include "providers/mrc/ctl/change.h"
#include "providers/mrc/verbs/context.h"

namespace mrc::provider {
namespace {

const char* kAlgorithms[] = {"uet-1.0-nscc", nullptr};

// EVs that are left; who may not look at the profiles is told that all are.
uint32_t free_evs(ibv_context* verbs) {
  int why = 0;
  const ControlPage* page = Context::of(verbs)->device().control(&why);
  if (page == nullptr) return kControlEvs;
  const auto state = std::make_unique<ControlState>();
  page->read(state.get());
  return kControlEvs - std::min(state->ev_count, kControlEvs);
}

// Bits: ports that there are, which count from 1.
uint32_t port_mask(ibv_context* verbs) {
  return ((uint32_t{1} << Context::of(verbs)->device().settings().planes) - 1) << 1;
}

int ctl_query_device(ibv_context* verbs, mrc_ctl_device_attr* attributes, int* supported) {
  if (verbs == nullptr || attributes == nullptr || supported == nullptr) return api::done(EINVAL);
  *supported = mrcdv_is_supported(verbs->device);
  if (*supported == 0) return 0;
  *attributes = {};
  attributes->mrc_ctl_protocol_version = MRC_CTL_PROTOCOL_VERSION_1;
  attributes->ev.ev_max_fmt_profiles = kControlFormats;
  attributes->ev.ev_max_profiles = kControlProfiles;
  attributes->ev.ev_max_count = kControlEvs;
  attributes->ev.ev_free_count = free_evs(verbs);
  attributes->ev.ev_max_count_profile = kControlEvsEach;
  attributes->ev.ev_count_align = 1;
  attributes->ev.ev_max_width = kEvBytes * 8;
  attributes->ev.ev_fmt_mode_mask =
      MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_SRV6 | MRC_CTL_EV_FMT_MODE_UDP;
  attributes->ev.ev_mode_mask = MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP | MRC_CTL_EV_MODE_GEN;
  attributes->cc.cc_max_profiles = kControlProfiles;
  attributes->cc.algorithms = kAlgorithms;
  attributes->phy_port_mask = port_mask(verbs);
  attributes->opt_attr = MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT |
                         MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT | MRC_CTL_OPT_CAP_EP_OP_EV_PROBE;
  return 0;
}

bool is_port(const mrc_context* context, uint8_t port) {
  return context != nullptr && port < 32 && (port_mask(context->verbs) >> port & 1) != 0;
}

}  // namespace
}  // namespace mrc::provider

using namespace mrc::provider;  // NOLINT(google-build-using-namespace)
using mrc::api::done;

MRC_EXPORTED_API int mrc_ctl_query_device_ex(ibv_context* ibv_ctx, mrc_context* mrc_ctx,
                                             mrc_ctl_device_attr* attr, int* supported) {
  if (mrc_ctx != nullptr && mrc_ctx->verbs != ibv_ctx) return done(EINVAL);
  return ctl_query_device(ibv_ctx, attr, supported);
}

MRC_EXPORTED_API int mrc_ctl_query_device(ibv_context* ibv_ctx, mrc_ctl_device_attr* attr) {
  int supported = 0;
  if (ctl_query_device(ibv_ctx, attr, &supported) != 0) return -1;
  return supported != 0 ? 0 : done(ENOTSUP);
}

MRC_EXPORTED_API void mrc_ctl_query_version(uint32_t* current, uint32_t* last_supported,
                                            uint32_t* vendor_current, uint32_t* vendor_last_supported) {
  if (current != nullptr) *current = MRC_CTL_API_CURRENT_VERSION;
  if (last_supported != nullptr) *last_supported = MRC_CTL_API_LAST_SUPPORTED_VERSION;
  if (vendor_current != nullptr) *vendor_current = MRC_CTL_VENDOR_API_CURRENT_VERSION;
  if (vendor_last_supported != nullptr) *vendor_last_supported = MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION;
}

MRC_EXPORTED_API int mrc_ctl_query_port(mrc_context* mrc_ctx, uint8_t port_num, mrc_ctl_port_attr* attr,
                                        int attr_mask) {
  if (attr == nullptr || !is_port(mrc_ctx, port_num) || (attr_mask & ~MRC_CTL_PORT_ADMIN_STATE) != 0)
    return done(EINVAL);
  return look(verbs_of(mrc_ctx), [&](ControlModel& model, const mrc::ControlPage&) {
    const bool disabled = (model.ports_disabled >> (port_num - 1) & 1) != 0;
    if ((attr_mask & MRC_CTL_PORT_ADMIN_STATE) != 0)
      attr->port_admin_state = disabled ? MRC_CTL_PORT_ADMIN_DISABLED : MRC_CTL_PORT_ADMIN_ENABLED;
    return 0;
  });
}

MRC_EXPORTED_API int mrc_ctl_modify_port(mrc_context* mrc_ctx, uint8_t port_num, mrc_ctl_port_attr* attr,
                                         int attr_mask) {
  if (attr == nullptr || !is_port(mrc_ctx, port_num) || attr_mask != MRC_CTL_PORT_ADMIN_STATE)
    return done(EINVAL);
  if (attr->port_admin_state != MRC_CTL_PORT_ADMIN_DISABLED &&
      attr->port_admin_state != MRC_CTL_PORT_ADMIN_ENABLED)
    return done(EINVAL);
  return change(verbs_of(mrc_ctx), [&](ControlModel& model, mrc::ControlPage&, Keep*) {
    const uint32_t bit = uint32_t{1} << (port_num - 1);
    const bool disable = attr->port_admin_state == MRC_CTL_PORT_ADMIN_DISABLED;
    model.ports_disabled = disable ? model.ports_disabled | bit : model.ports_disabled & ~bit;
    return 0;
  });
}
