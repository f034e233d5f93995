// SPDX-License-Identifier: BSD-2-Clause
// How libibverbs meets this provider: by name of the device. Loading does nothing but say so.
#include <stdlib.h>
#include <string.h>

#include <cstdio>
#include <new>

#include "providers/mrc/cm/librdmacm.h"
#include "providers/mrc/verbs/c_boundary.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/provider_abi.h"

namespace mrc::provider {
namespace {

abi::Device* alloc_device(abi::SysfsDevice* found) {
  // The first look into a structure of libibverbs': names that are not there mean another layout.
  if (strncmp(found->ibdev_name, "mrc", 3) != 0 || strncmp(found->sysfs_name, "uverbs", 6) != 0) {
    std::fprintf(
        stderr,
        "mrc: the device is not used; this libibverbs lays out its provider interface %d differently; "
        "install the libmrc that was built for it\n",
        abi::kProviderAbi);
    return nullptr;
  }
  serve_librdmacm();
  return static_cast<abi::Device*>(calloc(1, sizeof(abi::Device)));
}

void uninit_device(abi::Device* device) {
  free(device);
}

verbs_context* alloc_context(ibv_device* device, int command_fd, void*) {
  return Context::open(device, command_fd);
}

// A copy of a context's command file. It says which device is meant and nothing more: all contexts of a
// process share the device's objects anyway.
verbs_context* import_context(ibv_device* device, int command_fd) {
  return Context::open(device, command_fd);
}

const abi::MatchEntry kMatches[] = {
    {nullptr, {"rdma_device:Nmrc*"}, 0, 0, abi::MatchKind::kModalias},
    {nullptr, {nullptr}, 0, 0, abi::MatchKind::kEnd},
};

}  // namespace

const abi::DeviceOps kDeviceOps = {
    "mrc",                  // name
    0,                      // match_min_abi_version
    1,                      // match_max_abi_version
    kMatches,               // match_table
    nullptr,                // static_providers
    nullptr,                // match_device
    for_c<alloc_context>,   // alloc_context
    for_c<import_context>,  // import_context
    for_c<alloc_device>,    // alloc_device
    uninit_device,          // uninit_device
};

namespace {

// Nothing else may happen here: every verbs program of the machine may load the provider.
__attribute__((constructor)) void register_provider() {
  verbs_register_driver_34(&kDeviceOps);
}

}  // namespace
}  // namespace mrc::provider
