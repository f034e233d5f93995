// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups of rdma_cm ids. Nobody has to be asked: a group's GID is its IP address, and librdmacm
// attaches the queue pair when it is told so (IBTA A17).
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "providers/mrc/cm/ucma.h"
#include "providers/mrc/presence/address.h"

namespace mrc::provider {

int Ucma::join_ip_multicast(const Command& command, const rdma_ucm_join_ip_mcast& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (!id->datagrams() || id->exchange == nullptr || !is_ip(request.addr)) return -EINVAL;
  const IpAddress group = to_ip(request.addr);
  if (!group.is_multicast() || group.is_v4() != id->gids.local.is_v4()) return -EINVAL;
  while (memberships_.contains(next_membership_)) ++next_membership_;
  const uint32_t number = next_membership_++;
  memberships_[number] = {id->number, 0};
  const rdma_ucm_create_id_resp response{number};
  std::memcpy(pointer_at(request.response), &response, std::min(command.room, sizeof response));
  rdma_ucm_event_resp event{};
  event.uid = request.uid;
  event.id = number;
  event.event = kMulticastJoin;
  event.param.ud.qp_num = kMulticastQpn.value();
  event.param.ud.qkey = kDatagramKey;
  fill_datagram_address(*id, group, &event.param.ud.ah_attr);
  id->channel->push({id->number, event});
  return 0;
}

int Ucma::leave_multicast(const Command& command, const rdma_ucm_destroy_id& request) {
  const auto found = memberships_.find(request.id);
  if (found == memberships_.end()) return -ENOENT;
  Id* id = find(command, found->second.id);
  if (id == nullptr) return -ENOENT;
  id->channel->take([&](const EventChannel::Entry& entry) {
    return entry.event.event == kMulticastJoin && entry.event.id == request.id;
  });
  const rdma_ucm_destroy_id_resp response{found->second.events_reported};
  memberships_.erase(found);
  std::memcpy(pointer_at(request.response), &response, std::min(command.room, sizeof response));
  return 0;
}

void Ucma::leave_all(const Id& id) {
  std::erase_if(memberships_, [&](const auto& entry) { return entry.second.id == id.number; });
}

}  // namespace mrc::provider
