// SPDX-License-Identifier: BSD-2-Clause
// Addresses of rdma_cm ids: binding, resolving, and what is said about them. Every address of this host
// stands for one of its devices.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "providers/mrc/cm/ucma.h"
#include "providers/mrc/presence/address.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

// As Linux does; where programs ask for any port.
constexpr uint16_t kPortFirst = 32768;
constexpr uint16_t kPortLast = 60999;

constexpr uint8_t kPacketLifetime = 16;
constexpr uint16_t kPartition = 0xFFFF;

cm::BoundAddress bound_address(const SocketAddress& address, bool only_v6) {
  cm::BoundAddress bound;
  bound.any = is_any(address);
  bound.address = bound.any ? IpAddress{} : to_ip(address);
  bound.is_v6 = address.sin6_family == AF_INET6 && (bound.any || !bound.address.is_v4());
  bound.only_v6 = only_v6;
  return bound;
}

}  // namespace

// --- binding ---

bool Ucma::port_taken_here(const Id& id, uint16_t port, const cm::BoundAddress& address) const {
  return std::any_of(ids_.begin(), ids_.end(), [&](const auto& entry) {
    const Id& other = entry.second;
    return &other != &id && other.port_space == id.port_space && is_ip(other.source) &&
           other.connection == cm::CommunicationId{} && port_of(other.source) == port &&
           !(other.shared_port && id.shared_port) &&
           bound_address(other.source, other.only_v6).conflicts_with(address);
  });
}

// Anywhere: ranks of one job, which start at the same time, shall not all look at the same ports.
int Ucma::choose_port(const Id& id, uint16_t* port, PortReservation* reservation) {
  constexpr unsigned kCount = kPortLast - kPortFirst + 1;
  const unsigned first = std::random_device{}() % kCount;
  Exchange* const running = exchanges_.any_running();  // any: in the registry are the ports of all devices
  for (unsigned i = 0; i < kCount; ++i) {
    const auto candidate = static_cast<uint16_t>(kPortFirst + (first + i) % kCount);
    const bool taken = std::any_of(ids_.begin(), ids_.end(),
                                   [&](const auto& entry) {
                                     return entry.second.port_space == id.port_space &&
                                            is_ip(entry.second.source) &&
                                            port_of(entry.second.source) == candidate;
                                   }) ||
                       (running != nullptr && running->ports().in_use(id.service_at(candidate)));
    if (taken || !reservation->take(id.service_at(candidate))) continue;
    *port = candidate;
    return 0;
  }
  return -EADDRNOTAVAIL;
}

// Other processes hear of the port. The wildcard is an address of all devices, of those that do start.
int Ucma::register_port(Id& id) {
  if (!id.places.empty()) return 0;
  PortRegistry::Binding binding;
  binding.service = id.service_at(port_of(id.source));
  binding.address = bound_address(id.source, id.only_v6);
  binding.shared = id.shared_port;
  const bool any = is_any(id.source);
  const size_t device = any ? 0 : exchanges_.gids().device_for(to_ip(id.source), clock_now());
  const size_t devices = any ? exchanges_.all().size() : 1;
  id.places.reserve(devices);
  int failure = 0;
  for (size_t i = device; i < device + devices; ++i) {
    Exchange& exchange = exchanges_.of(i);
    if (const int error = exchange.start(); error != 0) {
      if (failure == 0) failure = error;
      continue;
    }
    if (const int error = exchange.ports().add(binding); error != 0) {
      leave_places(id);
      return -error;
    }
    id.places.push_back({&exchange, binding});
  }
  return id.places.empty() ? -failure : 0;
}

void Ucma::leave_places(Id& id) {
  for (const Place& place : id.places) {
    if (!place.exchange->running()) continue;
    if (id.listening) place.exchange->manager().stop_listening(id.number);
    place.exchange->ports().remove(place.binding);
  }
  id.places.clear();
}

int Ucma::bind(Id& id, const SocketAddress& address) {
  SocketAddress wanted = address;
  if (!is_any(wanted) && !is_local(wanted)) return -EADDRNOTAVAIL;
  const uint16_t port = port_of(wanted);
  if (port == 0) {
    // Only reserved, not registered, before somebody listens: programs that look around do not start the
    // device.
    uint16_t chosen = 0;
    if (const int error = choose_port(id, &chosen, &id.reservation); error != 0) return error;
    set_port(&wanted, chosen);
    id.source = wanted;
  } else {
    if (port_taken_here(id, port, bound_address(wanted, id.only_v6))) return -EADDRINUSE;
    const SocketAddress before = id.source;
    id.source = wanted;
    if (const int error = register_port(id); error != 0) {
      id.source = before;
      return error;
    }
  }
  if (is_any(id.source)) return 0;
  id.exchange = &exchanges_.of(exchanges_.gids().device_for(to_ip(id.source), clock_now()));
  settle_gids(id);
  return 0;
}

int Ucma::bind_ip(const Command& command, const rdma_ucm_bind_ip& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (!is_ip(request.addr) || is_ip(id->source)) return -EINVAL;
  return bind(*id, request.addr);
}

// --- resolving ---

void Ucma::settle_gids(Id& id) {
  const Nanoseconds now = clock_now();
  HostGids& host = exchanges_.gids();
  id.gids.local = id.exchange->gids().gid_for(to_ip(id.source), now);
  if (!is_ip(id.destination)) return;
  const IpAddress destination = to_ip(id.destination);
  const bool here = host.owner_of(destination, 0, now) || is_local(id.destination);
  id.gids.remote = here ? host.of(host.device_for(destination, now)).gid_for(destination, now) : destination;
  // To an address of this host that stands for another GID: both ends are the device, of one IP version.
  if (here && id.gids.local.is_v4() != id.gids.remote.is_v4()) id.gids.remote = id.gids.local;
}

int Ucma::resolve_ip(const Command& command, const rdma_ucm_resolve_ip& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (!is_ip(request.dst_addr) || id->listening || id->connection != cm::CommunicationId{}) return -EINVAL;
  if (!is_ip(id->source) && is_ip(request.src_addr))
    if (const int error = bind(*id, request.src_addr); error != 0) return error;
  if (is_ip(id->source) && id->source.sin6_family != request.dst_addr.sin6_family) return -EINVAL;
  id->destination = request.dst_addr;
  // As the kernel does it: the wildcard is this host.
  if (is_any(id->destination)) {
    const uint16_t port = port_of(id->destination);
    Exchange& device = id->exchange != nullptr ? *id->exchange : exchanges_.of(0);
    id->destination = to_socket_address(device.gids().table(clock_now()).entries[0].gid);
    set_port(&id->destination, port);
  }
  if (!is_ip(id->source) || is_any(id->source)) {
    SocketAddress source;
    if (const int error = find_source(id->destination, &source); error != 0) {
      post(*id, kAddressError, -error);
      return 0;
    }
    uint16_t port = is_ip(id->source) ? port_of(id->source) : 0;
    if (port == 0)
      if (const int error = choose_port(*id, &port, &id->reservation); error != 0) return error;
    const size_t device = exchanges_.gids().device_towards(id->destination, &source, clock_now());
    id->exchange = &exchanges_.of(device);
    id->source = source;
    set_port(&id->source, port);
  }
  id->reservation = {};  // who calls is not found by its port
  settle_gids(*id);
  post(*id, kAddressResolved);
  return 0;
}

int Ucma::resolve_route(const Command& command, const rdma_ucm_resolve_route& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (id->exchange == nullptr || !is_ip(id->destination) || id->connection != cm::CommunicationId{})
    return -EINVAL;
  id->routed = true;
  post(*id, kRouteResolved);
  return 0;
}

// --- asking ---

int Ucma::query_route(const Command& command, const rdma_ucm_query& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  rdma_ucm_query_route_resp response{};
  response.src_addr = id->source;
  response.dst_addr = id->destination;
  response.ibdev_index = static_cast<uint32_t>(-1);  // it has none: librdmacm then goes by the GUID
  if (id->exchange != nullptr) {
    response.node_guid = htobe64(id->exchange->guid());
    response.port_num = limits::kPort;
    response.num_paths = id->routed ? 1 : 0;
    ib_user_path_rec& path = response.ib_route[0];
    std::memcpy(path.sgid, id->gids.local.bytes.data(), sizeof path.sgid);
    std::memcpy(path.dgid, id->gids.remote.bytes.data(), sizeof path.dgid);
    path.pkey = htobe16(kPartition);
    path.hop_limit = 64;
    path.reversible = 1;
    path.numb_path = 1;
    path.mtu_selector = path.rate_selector = path.packet_life_time_selector = 2;  // exactly
    path.mtu = IBV_MTU_4096;
    path.rate = IBV_RATE_100_GBPS;
    path.packet_life_time = kPacketLifetime;
    path.traffic_class = id->type_of_service;
  }
  std::memcpy(pointer_at(request.response), &response, std::min(command.room, sizeof response));
  return 0;
}

int Ucma::set_option(const Command& command, const rdma_ucm_set_option& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  if (request.level != RDMA_OPTION_ID) return -ENOSYS;
  int number = 0;
  uint8_t byte = 0;
  const bool wide = request.optname == RDMA_OPTION_ID_REUSEADDR || request.optname == RDMA_OPTION_ID_AFONLY;
  if (request.optlen != (wide ? sizeof number : sizeof byte)) return -EINVAL;
  std::memcpy(wide ? static_cast<void*>(&number) : &byte, pointer_at(request.optval), request.optlen);
  switch (request.optname) {
    case RDMA_OPTION_ID_TOS:
      id->type_of_service = byte;
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
      id->shared_port = number != 0;
      return 0;
    case RDMA_OPTION_ID_AFONLY:
      if (is_ip(id->source)) return -EINVAL;
      id->only_v6 = number != 0;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (byte > 31) return -EINVAL;
      id->ack_timeout = byte;
      return 0;
    default:
      return -ENOSYS;
  }
}

}  // namespace mrc::provider
