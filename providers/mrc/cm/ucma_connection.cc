// SPDX-License-Identifier: BSD-2-Clause
// Connections of rdma_cm ids: commands of librdmacm become requests to the connection manager.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>

#include "providers/mrc/cm/ucma.h"
#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

constexpr uint32_t kBacklogDefault = 1024;

std::span<const uint8_t> data_of(const rdma_ucm_conn_param& param) {
  return {param.private_data, param.private_data_len};
}

cm::EndPoint end_point(const rdma_ucm_conn_param& param, Psn first_psn, bool datagrams) {
  cm::EndPoint end;
  end.qpn = Qpn{param.qp_num};
  end.first_psn = first_psn;
  end.queue_key = datagrams ? (param.qkey != 0 ? param.qkey : kDatagramKey) : 0;
  end.responder_resources = param.responder_resources;
  end.initiator_depth = param.initiator_depth;
  end.retry_count = std::min<uint8_t>(param.retry_count, 7);
  end.rnr_retry_count = std::min<uint8_t>(param.rnr_retry_count, 7);
  end.flow_control = param.flow_control != 0;
  end.shared_receives = param.srq != 0;
  return end;
}

}  // namespace

// Others hear that it listens, on all its devices or on none.
int Ucma::announce(Id& id) {
  int error = 0;
  for (auto& [exchange, binding] : id.places) {
    error = exchange->ports().listen(binding);
    if (error != 0) break;
    binding.listening = true;
  }
  if (error == 0) return 0;
  for (auto& [exchange, binding] : id.places)
    if (std::exchange(binding.listening, false)) exchange->ports().stop_listening(binding);
  return -error;
}

int Ucma::listen(const Command& command, const rdma_ucm_listen& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (id->listening || id->connection != cm::CommunicationId{} || is_ip(id->destination)) return -EINVAL;
  if (!is_ip(id->source)) {
    SocketAddress any{};
    any.sin6_family = AF_INET;
    if (const int error = bind(*id, any); error != 0) return error;
  }
  if (const int error = register_port(*id); error != 0) return error;
  if (const int error = announce(*id); error != 0) return error;
  id->listening = true;
  id->requests_max = request.backlog > 0 ? std::min(request.backlog, kBacklogDefault) : kBacklogDefault;
  for (const auto& [exchange, binding] : id->places)
    exchange->manager().listen({binding.service, binding.address, id->datagrams(), id->number});
  return 0;
}

int Ucma::connect(const Command& command, const rdma_ucm_connect& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (!id->routed || id->connection != cm::CommunicationId{}) return -EINVAL;
  const size_t room = id->datagrams() ? cm::Manager::kServiceRequestDataMax : cm::Manager::kRequestDataMax;
  if (request.conn_param.private_data_len > room) return -EINVAL;
  if (const int error = id->exchange->start(); error != 0) return -error;
  cm::Manager::Call call;
  call.service = id->service_at(port_of(id->destination));
  call.addresses = {port_of(id->source), to_ip(id->source), to_ip(id->destination)};
  call.gids = id->gids;
  call.here = end_point(request.conn_param, id->first_psn, id->datagrams());
  call.private_data = data_of(request.conn_param);
  call.owner = id->number;
  cm::Manager& manager = id->exchange->manager();
  id->connection =
      id->datagrams() ? manager.request_service(call, clock_now()) : manager.connect(call, clock_now());
  if (id->connection == cm::CommunicationId{}) return -ENOMEM;
  by_connection_[static_cast<uint32_t>(id->connection)] = id->number;
  return 0;
}

int Ucma::accept(const Command& command, const rdma_ucm_accept& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (id->connection == cm::CommunicationId{} || !id->on_running_device()) return -EINVAL;
  cm::Manager& manager = id->exchange->manager();
  // Without parameters it is the other end's: "ready to use".
  if (request.conn_param.valid == 0) return manager.ready(id->connection, {}) ? 0 : -EINVAL;
  const cm::EndPoint here = end_point(request.conn_param, id->first_psn, id->datagrams());
  if (!manager.accept(id->connection, id->number, here, data_of(request.conn_param), clock_now()))
    return -EINVAL;
  id->uid = request.uid;
  return 0;
}

int Ucma::reject(const Command& command, const rdma_ucm_reject& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (!id->on_running_device()) return -EINVAL;
  const auto reason = request.reason != 0 ? cm::RejectReason{request.reason} : cm::RejectReason::kConsumer;
  const std::span<const uint8_t> data(request.private_data, request.private_data_len);
  return id->exchange->manager().reject(id->connection, reason, data, clock_now()) ? 0 : -EINVAL;
}

int Ucma::disconnect(const Command& command, const rdma_ucm_disconnect& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (!id->on_running_device()) return -EINVAL;
  return id->exchange->manager().disconnect(id->connection, {}, clock_now()) ? 0 : -EINVAL;
}

int Ucma::notify(const Command& command, const rdma_ucm_notify& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (id->connection == cm::CommunicationId{} || !id->on_running_device()) return -EINVAL;
  // It may be established already; then there is nothing to say.
  if (request.event == IBV_EVENT_COMM_EST) id->exchange->manager().established_by_data(id->connection);
  return 0;
}

}  // namespace mrc::provider
