// SPDX-License-Identifier: BSD-2-Clause
// An address handle: where datagrams go, looked up in the GID table when it was made.
#pragma once

#include <infiniband/verbs.h>

#include "dpdk_io/settings/device_config.h"
#include "libmrc/wire/identifiers.h"

namespace mrc::provider {

struct Pd;

struct Ah {
  ibv_ah verbs{};  // first: libibverbs knows only this
  Pd* pd = nullptr;
  IpAddress source;
  IpAddress destination;

  static Ah* of(ibv_ah* handle) { return reinterpret_cast<Ah*>(handle); }
};

// The two ends that an address vector names. False: it names no path of this device. May throw bad_alloc.
bool resolve_address(const DeviceConfig& device, const ibv_ah_attr& address, IpAddress* source,
                     IpAddress* destination);

}  // namespace mrc::provider
