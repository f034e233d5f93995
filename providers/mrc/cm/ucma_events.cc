// SPDX-License-Identifier: BSD-2-Clause
// What the connection manager tells becomes events of librdmacm.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "providers/mrc/cm/ucma.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

void set_data(const std::vector<uint8_t>& from, uint8_t* to, uint8_t* length) {
  const size_t bytes = std::min<size_t>(from.size(), 255);
  std::copy_n(from.begin(), bytes, to);
  *length = static_cast<uint8_t>(bytes);
}

// The other end's numbers from this end: what it answers we may ask, and the other way round.
void set_connection(const cm::Event& from, rdma_ucm_conn_param* to) {
  to->qp_num = from.there.qpn.value();
  to->srq = from.there.shared_receives;
  to->responder_resources = from.there.initiator_depth;
  to->initiator_depth = from.there.responder_resources;
  to->flow_control = from.there.flow_control;
  to->retry_count = from.there.retry_count;
  to->rnr_retry_count = from.there.rnr_retry_count;
  set_data(from.private_data, to->private_data, &to->private_data_len);
}

}  // namespace

void Ucma::post(const Id& id, rdma_ucm_event_resp event) {
  event.uid = id.uid;
  event.id = id.number;
  id.channel->push({id.number, event});
}

void Ucma::post(const Id& id, unsigned event, int status) {
  rdma_ucm_event_resp response{};
  response.event = event;
  response.status = static_cast<uint32_t>(status);
  post(id, response);
}

void Ucma::deliver(Exchange& exchange, const cm::Event& event) {
  if (event.kind == cm::Event::Kind::kRequest || event.kind == cm::Event::Kind::kServiceRequest)
    return deliver_request(exchange, event);
  const auto number = by_connection_.find(static_cast<uint32_t>(event.connection));
  if (number == by_connection_.end()) return;
  const auto id = ids_.find(number->second);
  // A program that has not accepted yet does not know the id; its accept will fail.
  if (id != ids_.end() && id->second.uid != 0) deliver_to(id->second, event);
}

void Ucma::deliver_request(Exchange& exchange, const cm::Event& event) {
  const auto found = ids_.find(static_cast<uint32_t>(event.owner));
  if (found == ids_.end() || found->second.requests >= found->second.requests_max)
    return exchange.manager().release(event.connection, clock_now());
  const uint32_t listener_number = found->second.number;
  Id& id = create(found->second.channel, found->second.port_space, found->second.qp_type);
  Id& listener = ids_.at(listener_number);  // the table may have moved
  ++listener.requests;
  const cm::Connection& connection = *exchange.manager().find(event.connection);
  id.connection = event.connection;
  by_connection_[static_cast<uint32_t>(event.connection)] = id.number;
  id.source = to_socket_address(connection.addresses.destination);
  set_port(&id.source, port_of(listener.source));
  id.destination = to_socket_address(connection.addresses.source);
  set_port(&id.destination, connection.addresses.source_port);
  id.exchange = &exchange;
  id.routed = true;
  id.gids = connection.gids;
  id.type_of_service = listener.type_of_service;
  id.ack_timeout = listener.ack_timeout;
  rdma_ucm_event_resp response{};
  response.uid = listener.uid;
  response.id = id.number;
  response.event = kConnectRequest;
  if (id.datagrams())
    set_data(event.private_data, response.param.ud.private_data, &response.param.ud.private_data_len);
  else
    set_connection(event, &response.param.conn);
  listener.channel->push({listener.number, response});
}

void Ucma::fill_datagram_address(const Id& id, const IpAddress& to, ib_uverbs_ah_attr* address) {
  address->is_global = 1;
  std::memcpy(address->grh.dgid, to.bytes.data(), sizeof address->grh.dgid);
  address->grh.sgid_index = static_cast<uint8_t>(id.exchange->gids().index_for(id.gids.local, clock_now()));
  address->grh.hop_limit = 64;
  address->grh.traffic_class = id.type_of_service;
  address->port_num = limits::kPort;
}

void Ucma::deliver_to(Id& id, const cm::Event& event) {
  rdma_ucm_event_resp response{};
  switch (event.kind) {
    case cm::Event::Kind::kReply:
      response.event = kConnectResponse;
      set_connection(event, &response.param.conn);
      break;
    case cm::Event::Kind::kEstablished:
      response.event = kEstablished;
      set_data(event.private_data, response.param.conn.private_data, &response.param.conn.private_data_len);
      break;
    case cm::Event::Kind::kRejected:
      response.event = kRejected;
      response.status = event.reason;
      set_data(event.private_data, response.param.conn.private_data, &response.param.conn.private_data_len);
      break;
    case cm::Event::Kind::kUnreachable:
      response.event = kUnreachable;
      response.status = static_cast<uint32_t>(-ETIMEDOUT);
      break;
    case cm::Event::Kind::kDisconnected:
      response.event = kDisconnected;
      break;
    case cm::Event::Kind::kTimeWaitOver:
      response.event = kTimewaitExit;
      break;
    case cm::Event::Kind::kServiceReply: {
      const bool valid = event.service_status == cm::ServiceStatus::kValid;
      response.event = valid ? kEstablished : kUnreachable;
      response.status = static_cast<uint32_t>(event.service_status);
      rdma_ucm_ud_param& param = response.param.ud;
      param.qp_num = event.there.qpn.value();
      param.qkey = event.there.queue_key;
      set_data(event.private_data, param.private_data, &param.private_data_len);
      fill_datagram_address(id, id.gids.remote, &param.ah_attr);
      break;
    }
    case cm::Event::Kind::kRequest:
    case cm::Event::Kind::kServiceRequest:
      return;
  }
  post(id, response);
}

}  // namespace mrc::provider
