// SPDX-License-Identifier: BSD-2-Clause
// mrcdv.h: what a program makes go wrong in its own device.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "include/mrc/mrcdv.h"
#include "libmrc/fault/fault_text.h"
#include "providers/mrc/verbs/c_boundary.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"

namespace mrc::provider {
namespace {

// Null: `error` is the errno that says why.
Device* device_of(ibv_context* context, int* error) {
  if (forked_away()) return *error = EPERM, nullptr;
  if (context == nullptr) return *error = EINVAL, nullptr;
  if (reinterpret_cast<const abi::Device*>(context->device)->ops != &kDeviceOps)
    return *error = EOPNOTSUPP, nullptr;
  return &Context::of(context)->device();
}

}  // namespace

int dv_add_fault(ibv_context* context, const char* fault, uint32_t* id) {
  int error = 0;
  Device* device = device_of(context, &error);
  if (device == nullptr) return error;
  FaultRule rule;
  std::string wanted;
  if (fault == nullptr || id == nullptr || !read_fault(fault, &rule, &wanted)) return EINVAL;
  device->faults().open();
  if (error = device->faults().add(&rule); error != 0) return error;
  *id = rule.id;
  device->follow_faults();
  return 0;
}

int dv_remove_fault(ibv_context* context, uint32_t id) {
  int error = 0;
  Device* device = device_of(context, &error);
  if (device == nullptr) return error;
  if (error = device->faults().remove(id); error != 0) return error;
  device->follow_faults();
  return 0;
}

int dv_query_faults(ibv_context* context, mrcdv_fault* faults, int count) {
  int error = 0;
  Device* device = device_of(context, &error);
  if (device == nullptr) return -error;
  if (count < 0 || (faults == nullptr && count > 0)) return -EINVAL;
  int all = 0;
  device->faults().for_each([&](const FaultRule& rule, uint64_t hits) {
    if (all < count) {
      mrcdv_fault& to = faults[all];
      to = {};
      to.id = rule.id;
      to.hits = hits;
      std::snprintf(to.fault, sizeof to.fault, "%s", describe(rule).c_str());
    }
    ++all;
  });
  return all;
}

}  // namespace mrc::provider

// --- for C ---

using mrc::provider::for_c;
#define MRC_EXPORTED extern "C" __attribute__((visibility("default")))

MRC_EXPORTED int mrcdv_add_fault(ibv_context* context, const char* fault, uint32_t* id) {
  return for_c<mrc::provider::dv_add_fault>(context, fault, id);
}
MRC_EXPORTED int mrcdv_remove_fault(ibv_context* context, uint32_t id) {
  return for_c<mrc::provider::dv_remove_fault>(context, id);
}
MRC_EXPORTED int mrcdv_query_faults(ibv_context* context, mrcdv_fault* faults, int count) {
  return for_c<mrc::provider::dv_query_faults>(context, faults, count);
}
