// SPDX-License-Identifier: BSD-2-Clause
// Multicast: queue pairs join and leave groups. The engine knows which of them are in a group, the ports
// whether any is.
#include "providers/mrc/verbs/mcast.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "dpdk_io/host/group_page.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/qp.h"

namespace mrc::provider {
namespace {

static_assert(limits::kGroups == GroupPage::kGroupsMax);
static_assert(limits::kGroupMembers == MulticastGroups::kMembersMax);

// What engine and ports know changes together. Taken before the shard's lock.
std::mutex& groups_mutex() {
  static auto* mutex = new std::mutex;  // threads of the application may outlive static destructors
  return *mutex;
}

// Of a group that the device may take. False: it is none, or the queue pair is not of the kind.
bool group_for(const ibv_qp* qp, const ibv_gid* gid, IpAddress* group) {
  std::memcpy(group->bytes.data(), gid->raw, group->bytes.size());
  return qp->qp_type == IBV_QPT_UD && group->is_multicast() && *group != kRawFrameListeners;
}

bool leave(Qp* qp, const IpAddress& group) {
  bool left = false;
  bool last = false;
  {
    Progress::Control control(qp->shard->progress());
    MulticastGroups& groups = qp->shard->engine().groups();
    left = groups.detach(group, qp->transport);
    last = left && groups.find(group) == nullptr;
  }
  if (last) qp->shard->ports().leave(group);
  return left;
}

std::vector<IpAddress> groups_of(Qp* qp) {
  Progress::Control control(qp->shard->progress());
  return qp->shard->engine().groups().groups_of(qp->transport);
}

}  // namespace

bool in_any_group(Qp* qp) {
  return qp->verbs.qp.qp_type == IBV_QPT_UD && !groups_of(qp).empty();
}

void leave_all_groups(Qp* qp) {
  const std::lock_guard lock(groups_mutex());
  for (const IpAddress& group : groups_of(qp)) leave(qp, group);
}

// --- verbs ---

// On Ethernet there are no LIDs: a group is its GID.
int attach_mcast(ibv_qp* verbs, const ibv_gid* gid, uint16_t) {
  if (forked_away()) return EPERM;
  IpAddress group;
  if (!group_for(verbs, gid, &group)) return EINVAL;
  Qp* qp = Qp::of(verbs);
  const std::lock_guard lock(groups_mutex());
  MulticastGroups::Attach done;
  {
    Progress::Control control(qp->shard->progress());
    done = qp->shard->engine().groups().attach(group, qp->transport);
  }
  if (done == MulticastGroups::Attach::kFull) return ENOMEM;
  if (done == MulticastGroups::Attach::kAlready) return 0;  // as the kernel does
  const int error = qp->shard->ports().join(group);
  if (error != 0) leave(qp, group);
  return error == ENOSPC ? ENOMEM : error;
}

int detach_mcast(ibv_qp* verbs, const ibv_gid* gid, uint16_t) {
  if (forked_away()) return EPERM;
  IpAddress group;
  if (!group_for(verbs, gid, &group)) return EINVAL;
  const std::lock_guard lock(groups_mutex());
  return leave(Qp::of(verbs), group) ? 0 : EINVAL;
}

}  // namespace mrc::provider
