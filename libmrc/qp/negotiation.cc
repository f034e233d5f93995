// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/negotiation.h"

namespace mrc {

bool Negotiation::on_timer(Context& cx) {
  if (cx.now < next_at_) return true;
  if (attempts_ == kAttemptsMax) {
    stop();
    return false;
  }
  next_at_ = cx.now + std::min(kFirstWait << std::min(attempts_ / 4, 8u), kWaitMax);
  ++attempts_;
  const PathId path = cx.paths.select(cx.connection.resolved);
  if (path == kNoPath) return true;
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  bth.psn = Psn(cx.services.endpoint_requests.add(cx.connection.local_qpn));
  Erth erth;
  erth.operation = EndpointOperation::kCapabilities;
  erth.port_status_mask = cx.connection.remote_qpn.value();
  if (send_control(cx, path, cx.connection.control, bth, erth))
    ++cx.services.counters.capability_requests_sent;
  return true;
}

}  // namespace mrc
