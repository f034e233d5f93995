// SPDX-License-Identifier: BSD-2-Clause
// mrc.h: what the device can do, and contexts on it.
#include <algorithm>
#include <new>

#include "include/mrc/mrcdv.h"
#include "libmrc/api/objects.h"

namespace mrc::api {
namespace {

constexpr uint32_t kUnitOfMpr = 128;
constexpr uint32_t kHintsMax = 65536;

int query_mrc_device(ibv_context* verbs, mrc_device_attr* attributes, int* supported) {
  if (verbs == nullptr || attributes == nullptr || supported == nullptr) return done(EINVAL);
  *supported = 0;
  if (mrcdv_is_supported(verbs->device) == 0) return 0;
  mrcdv_device_attr device{};
  if (const int error = mrcdv_query_device(verbs, &device); error != 0) return done(error);
  *attributes = {};
  attributes->mrc_protocol_version = MRC_PROTOCOL_VERSION_1;
  attributes->wimm_attr.max_wimm = attributes->wimm_attr.max_wimm_dest =
      static_cast<uint16_t>(device.max_wimm);
  attributes->mpr_attr.max_mpr = static_cast<uint8_t>(std::min(device.max_mpr / kUnitOfMpr, 255u));
  attributes->mpr_attr.mpr_resolution = 1;
  attributes->qp_attr.max_qp_hint = kHintsMax;
  attributes->cap = MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR;
  *supported = 1;
  return 0;
}

}  // namespace
}  // namespace mrc::api

using mrc::api::done;

MRC_EXPORTED_API int mrc_query_device_ex(ibv_context* ibv_ctx, mrc_context* mrc_ctx, mrc_device_attr* attr,
                                         int* supported) {
  if (mrc_ctx != nullptr && mrc_ctx->verbs != ibv_ctx) return done(EINVAL);
  return mrc::api::query_mrc_device(ibv_ctx, attr, supported);
}

MRC_EXPORTED_API int mrc_query_device(ibv_context* ibv_ctx, mrc_device_attr* attr, int* supported) {
  return mrc::api::query_mrc_device(ibv_ctx, attr, supported);
}

MRC_EXPORTED_API void mrc_query_version(uint32_t* current, uint32_t* last_supported, uint32_t* vendor_current,
                                        uint32_t* vendor_last_supported) {
  if (current != nullptr) *current = MRC_API_CURRENT_VERSION;
  if (last_supported != nullptr) *last_supported = MRC_API_LAST_SUPPORTED_VERSION;
  if (vendor_current != nullptr) *vendor_current = MRC_VENDOR_API_CURRENT_VERSION;
  if (vendor_last_supported != nullptr) *vendor_last_supported = MRC_VENDOR_API_LAST_SUPPORTED_VERSION;
}

MRC_EXPORTED_API mrc_context* mrc_create_context(ibv_context* ibv_ctx, mrc_context_attr* attr) {
  if (ibv_ctx == nullptr || mrcdv_is_supported(ibv_ctx->device) == 0) {
    errno = ibv_ctx == nullptr ? EINVAL : ENOTSUP;
    return nullptr;
  }
  auto* context = new (std::nothrow) mrc_context;
  if (context == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  context->verbs = ibv_ctx;
  // A version that nobody knows was made after this library: the latest that it has is the closest.
  const uint32_t wanted = attr != nullptr ? attr->mrc_api_version_used : 0;
  context->api_version = wanted == 0 || wanted > MRC_API_CURRENT_VERSION ? MRC_API_CURRENT_VERSION : wanted;
  return context;
}

MRC_EXPORTED_API int mrc_destroy_context(mrc_context* mrc_ctx) {
  if (mrc_ctx == nullptr) return done(EINVAL);
  if (mrc_ctx->users.load() != 0) return done(EBUSY);
  delete mrc_ctx;
  return 0;
}
