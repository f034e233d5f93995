// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/ah.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "providers/mrc/presence/gid_table.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/pd.h"

namespace mrc::provider {

bool resolve_address(const DeviceConfig& device, const ibv_ah_attr& address, IpAddress* source,
                     IpAddress* destination) {
  if (address.is_global == 0) return false;  // RoCE has no other addresses than GIDs
  const GidTable gids = read_gid_table(device);
  if (address.grh.sgid_index >= gids.entries.size()) return false;
  *source = gids.entries[address.grh.sgid_index].gid;
  std::memcpy(destination->bytes.data(), address.grh.dgid.raw, destination->bytes.size());
  return source->is_v4() == destination->is_v4() && *destination != IpAddress{};
}

// --- verbs ---

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* address) {
  int error = EINVAL;
  if (forked_away()) {
    error = EPERM;
  } else if (address->port_num == limits::kPort) {
    try {
      auto handle = std::make_unique<Ah>();
      const DeviceConfig& device = Context::of(pd->context)->device().settings();
      if (resolve_address(device, *address, &handle->source, &handle->destination)) {
        handle->pd = Pd::of(pd);
        ++handle->pd->users;
        return &handle.release()->verbs;
      }
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
  }
  errno = error;
  return nullptr;
}

int destroy_ah(ibv_ah* verbs) {
  if (forked_away()) return EPERM;
  Ah* handle = Ah::of(verbs);
  --handle->pd->users;
  delete handle;
  return 0;
}

}  // namespace mrc::provider
