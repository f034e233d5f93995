// SPDX-License-Identifier: BSD-2-Clause
// The attributes that a queue pair needs for its connection: librdmacm asks for them before every
// transition and sets them itself.
#include <rdma/ib_user_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "providers/mrc/cm/ucma.h"
#include "providers/mrc/presence/address.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

// What both ends have agreed on, from this end.
struct Agreement {
  uint8_t responder_resources;  // requests of the other end that we answer
  uint8_t initiator_depth;      // requests of ours
  uint8_t retry_count;
  uint8_t rnr_retry_count;
};

Agreement agreement_of(const cm::Connection& connection) {
  const bool answered = connection.state != cm::State::kRequestSent;
  const cm::EndPoint& here = connection.here;
  const cm::EndPoint& there = connection.there;
  if (connection.active) {
    if (!answered)
      return {here.responder_resources, here.initiator_depth, here.retry_count, here.rnr_retry_count};
    return {there.initiator_depth, there.responder_resources, here.retry_count, there.rnr_retry_count};
  }
  if (connection.state == cm::State::kRequestReceived)
    return {there.initiator_depth, there.responder_resources, there.retry_count, there.rnr_retry_count};
  return {here.responder_resources, here.initiator_depth, there.retry_count, there.rnr_retry_count};
}

void set_init(const cm::Connection* connection, bool datagrams, ib_uverbs_qp_attr* to) {
  to->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  to->port_num = limits::kPort;
  if (datagrams) {
    to->qkey = kDatagramKey;
    to->qp_attr_mask |= IBV_QP_QKEY;
    return;
  }
  to->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
  if (connection == nullptr) return;
  to->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (agreement_of(*connection).responder_resources > 0)
    to->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

void set_ready_to_receive(const cm::Connection& connection, size_t gid_index, uint8_t traffic_class,
                          ib_uverbs_qp_attr* to) {
  to->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  to->ah_attr.is_global = 1;
  std::memcpy(to->ah_attr.grh.dgid, connection.gids.remote.bytes.data(), sizeof to->ah_attr.grh.dgid);
  to->ah_attr.grh.sgid_index = static_cast<uint8_t>(gid_index);
  to->ah_attr.grh.hop_limit = 64;
  to->ah_attr.grh.traffic_class = traffic_class;
  to->ah_attr.port_num = limits::kPort;
  to->path_mtu = connection.mtu;
  to->dest_qp_num = connection.there.qpn.value();
  to->rq_psn = connection.there.first_psn.value();
  to->max_dest_rd_atomic = agreement_of(connection).responder_resources;
}

void set_ready_to_send(const cm::Connection& connection, Psn first_psn, uint8_t ack_timeout,
                       ib_uverbs_qp_attr* to) {
  const Agreement agreement = agreement_of(connection);
  to->qp_attr_mask |=
      IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  to->sq_psn = first_psn.value();
  to->timeout = ack_timeout != 0 ? ack_timeout : connection.ack_timeout;
  to->retry_cnt = agreement.retry_count;
  to->rnr_retry = agreement.rnr_retry_count;
  to->max_rd_atomic = agreement.initiator_depth;
}

// Both know enough of each other to move data.
bool acquainted(const cm::Connection& connection) {
  return connection.state == cm::State::kRequestReceived || connection.state == cm::State::kReplySent ||
         connection.state == cm::State::kReplyReceived || connection.state == cm::State::kEstablished;
}

}  // namespace

int Ucma::init_qp_attributes(const Command& command, const rdma_ucm_init_qp_attr& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  const cm::Connection* connection =
      id->on_running_device() ? id->exchange->manager().find(id->connection) : nullptr;
  ib_uverbs_qp_attr attributes{};
  attributes.qp_state = request.qp_state;
  attributes.qp_attr_mask = IBV_QP_STATE;
  switch (request.qp_state) {
    case IBV_QPS_INIT:
      set_init(connection, id->datagrams(), &attributes);
      break;
    case IBV_QPS_RTR:
      if (id->datagrams()) break;
      if (connection == nullptr || !acquainted(*connection)) return -EINVAL;
      set_ready_to_receive(*connection, id->exchange->gids().index_for(connection->gids.local, clock_now()),
                           id->type_of_service, &attributes);
      break;
    case IBV_QPS_RTS:
      if (id->datagrams()) {
        attributes.qp_attr_mask |= IBV_QP_SQ_PSN;
        break;
      }
      if (connection == nullptr || !acquainted(*connection)) return -EINVAL;
      set_ready_to_send(*connection, id->first_psn, id->ack_timeout, &attributes);
      break;
    default:
      return -EINVAL;
  }
  std::memcpy(pointer_at(request.response), &attributes, std::min(command.room, sizeof attributes));
  return 0;
}

}  // namespace mrc::provider
