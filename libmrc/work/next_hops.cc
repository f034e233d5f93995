// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/next_hops.h"

#include <bit>
#include <optional>

#include "libmrc/port/station.h"

namespace mrc {

namespace {
const PlaneFrames* ready_frames(const Connection& connection, Plane plane, Transport speaks,
                                Services& services) {
  const TransportConfig& config = services.config;
  const MacAddress& next_hop = connection.next_hops[plane];
  FrameTable::Form form;
  NetworkHeader& network = form.network;
  const std::optional<MacAddress> station = services.transmitter.source_for(plane, next_hop);
  network.source_mac = station.value_or(services.transmitter.port(plane).address());
  form.station = station ? static_cast<uint16_t>(slot_of_station(next_hop.bytes.data())) : 0;
  network.destination_mac = next_hop;
  network.source = connection.source;
  network.destination = connection.destination;
  network.srv6 = connection.srv6;
  network.segment_routing = connection.segment_routing;
  network.outer_source = outer_source(services, plane, connection.source);
  network.intact = services.transmitter.keeps_intact(plane, next_hop);
  config.interop.fill(speaks != Transport::kRc, &network);
  form.dscp_data = data_class(connection, config, config.dscp_data);
  form.dscp_again = data_class(connection, config, config.dscp_retransmission);
  form.dscp_control = config.dscp_control;
  // MRC 1.6: probes travel in the data class, but must not be trimmed.
  form.dscp_probe = config.dscp_probe;
  // Plain RC does not react to marks, so it does not ask for them.
  form.ecn = speaks == Transport::kRc ? Ecn::kNotCapable : Ecn::kEct0;
  return services.frames.acquire(form);
}
}  // namespace

void resolve_missing_next_hops(Connection& connection, Transport speaks, Services& services) {
  const auto planes = services.transmitter.plane_count();
  for (size_t i = 0; i < planes; ++i) {
    if ((connection.resolved >> i & 1) != 0) continue;
    const auto plane = static_cast<Plane>(i);
    Port& port = services.transmitter.port(plane);
    if (!port.resolve(connection.destination, connection.remote_qpn, &connection.next_hops[i])) continue;
    connection.frames[i] = ready_frames(connection, plane, speaks, services);
    connection.lanes[i] = services.transmitter.lane_to(plane, connection.next_hops[i]);
    connection.resolved |= PlaneMask{1} << plane;
  }
}

void release_next_hops(Connection& connection, Services& services) {
  for (; connection.resolved != 0; connection.resolved &= connection.resolved - 1)
    services.frames.release(connection.frames[std::countr_zero(connection.resolved)]);
}

// Data that looked like a trimmed packet, or overtook acknowledgements, would break the protocol.
uint8_t data_class(const Connection& connection, const TransportConfig& config, uint8_t otherwise) {
  const uint8_t wanted = connection.dscp;
  const bool taken = wanted == config.dscp_control || wanted == config.dscp_trimmed ||
                     wanted == config.dscp_trimmed_last_hop;
  return wanted == 0 || taken ? otherwise : wanted;
}

}  // namespace mrc
