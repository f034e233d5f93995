// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/ev_probe.h"

#include "libmrc/work/context.h"

namespace mrc {

bool send_ev_probe(Services& services, NetworkHeader network, const EvEntry& path,
                   const EndpointRequests::Asker& asker, Nanoseconds now, const EndpointQuestion& question) {
  const Plane plane = path.plane;
  uint8_t* buffer = services.transmitter.begin(plane, network.destination_mac);
  if (buffer == nullptr) {
    ++services.counters.tx_no_buffer;
    return false;
  }
  network.source_mac = services.transmitter.port(plane).address();
  network.intact = services.transmitter.keeps_intact(plane, network.destination_mac);
  services.config.interop.fill(true, &network);
  take_way(path, outer_source(services, plane, network.source), &network);
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  bth.psn = Psn(services.endpoint_requests.add(asker));
  Erth erth;
  erth.operation = question.port_status ? EndpointOperation::kPortStatusUpdate : EndpointOperation::kEvProbe;
  erth.port_status_mask = question.port_status.value_or(0);
  const bool coarse = services.config.coarse_timestamps;
  erth.time = {to_wire_timestamp(now, coarse), coarse};
  FrameWriter frame(buffer, network, path.entropy, question.dscp.value_or(services.config.dscp_control),
                    Ecn::kNotCapable, Bth::kBytes + Erth::kBytes);
  frame.add(bth);
  frame.add(erth);
  frame.end_headers();
  services.transmitter.commit(plane, frame.finish(0));
  ++services.counters.ev_probes_sent;
  return true;
}

}  // namespace mrc
