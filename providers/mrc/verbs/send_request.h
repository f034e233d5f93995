// SPDX-License-Identifier: BSD-2-Clause
// How a work request of verbs becomes one of the engine's, in its slot of the send queue. ibv_post_send() and
// the ibv_wr_*() calls both build it from these pieces.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "libmrc/work/work_queue.h"
#include "providers/mrc/verbs/qp.h"

namespace mrc::provider {

// None: queue pairs of this type do not have this operation.
std::optional<Operation> operation_of(ibv_qp_type type, ibv_wr_opcode opcode);

// Whether the device is asked to fill in checksums of a raw packet's own headers, which it does not.
bool wants_checksums(ibv_qp_type type, unsigned send_flags);

// All that does not depend on the operation; the data are still to come.
void begin_request(const Qp& qp, Operation operation, uint64_t work_id, unsigned send_flags, SendRequest* to);
void set_destination(const ibv_ah* handle, uint32_t remote_qpn, uint32_t remote_key, SendRequest* to);

// The window of a bind; 0 or an errno.
int set_window(const ibv_mw* window, uint32_t key, const ibv_mw_bind_info& wanted, SendRequest* to);

// The data; 0 or an errno.
int set_segments(const Qp& qp, const ibv_sge* from, size_t count, SendRequest* to);
// Adds one piece to the inline data.
int add_inline(const Qp& qp, const void* from, size_t bytes, SendRequest* to);

// The whole of a work request; 0 or an errno.
int write_request(const Qp& qp, const ibv_send_wr& from, SendRequest* to);

// The sum of the pieces.
uint64_t copy_segments(const ibv_sge* from, size_t count, Segment* to);

// Tells the engine that something was posted, and lets it work at once if nobody else does.
void start_work(Qp* qp);

inline bool may_send(QueuePairState state) {
  // In error the requests are taken, and come back flushed.
  return state == QueuePairState::kReadyToSend || state == QueuePairState::kDraining ||
         state == QueuePairState::kError;
}

}  // namespace mrc::provider
