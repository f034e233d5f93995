// SPDX-License-Identifier: BSD-2-Clause
// The congestion notification packet of RoCEv2 (IBTA annex A17.9.3): BTH with opcode 0x81 and BECN, 16
// reserved bytes. It goes to the queue pair whose packet was marked, in the class of control.
#pragma once

#include <optional>

#include "libmrc/peer/connection.h"
#include "tests/sim/core/frame_pool.h"

namespace mrc::sim {

// From the receiving end of a connection to the sending one, by the UDP source port of the marked frame.
Frame* make_notification(FramePool& frames, const Connection& connection, uint32_t entropy);

// The queue pair that it is for; nothing if the frame is something else.
std::optional<Qpn> notified(const Frame& frame);

// The queue pair that any RoCEv2 frame is for, by its BTH.
std::optional<Qpn> destination_qpn(const Frame& frame);

}  // namespace mrc::sim
