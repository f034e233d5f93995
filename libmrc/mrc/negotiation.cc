// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/mrc/negotiation.h"

namespace mrc {

namespace {
// A path on a plane that takes frames to the peer now. There is none while the next hop is looked up or the
// link to another process is made.
PathId open_path(Context& cx) {
  PlaneMask open = 0;
  for (PlaneMask planes = cx.connection.resolved; planes != 0; planes &= planes - 1) {
    const auto plane = static_cast<Plane>(__builtin_ctz(planes));
    if (cx.services.transmitter.room_by(plane, cx.connection.next_hops[plane]) > 0)
      open |= PlaneMask{1} << plane;
  }
  return cx.turns.select(cx.paths, open);
}
}  // namespace

bool Negotiation::on_timer(Context& cx) {
  if (cx.now < next_at_) return true;
  const PathId path = open_path(cx);
  if (awaited_) {
    const bool unheard = asked_since_ != kNever && cx.now - asked_since_ >= patience_;
    if (unheard || (path == kNoPath && cx.now >= give_up_at_)) {
      stop();
      return false;
    }
  }
  if (awaited_ || attempts_ < kAttemptsOften) {
    next_at_ = cx.now + std::min(kFirstWait << std::min(attempts_ / 4, 8u), kWaitMax);
  } else {
    next_at_ = cx.now + std::min(kSecond << std::min(attempts_ - kAttemptsOften, 8u), kRareWaitMax);
  }
  if (path == kNoPath) return true;
  if (asked_since_ == kNever) asked_since_ = cx.now;
  ++attempts_;
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  bth.psn = Psn(cx.services.endpoint_requests.add(cx.connection.local_qpn));
  Erth erth;
  erth.operation = EndpointOperation::kCapabilities;
  erth.port_status_mask = cx.connection.remote_qpn.value();
  if (send_control(cx, path, &PlaneFrames::control, bth, erth))
    ++cx.services.counters.capability_requests_sent;
  return true;
}

}  // namespace mrc
