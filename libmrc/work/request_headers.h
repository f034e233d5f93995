// SPDX-License-Identifier: BSD-2-Clause
// What the headers of a request's packets say that does not depend on the transport.
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

// IBTA 9.2.3, solicited event: of the last packet of a message that uses up a receive.
constexpr bool solicits(const SendRequest& request, bool last) {
  return last && (request.flags & kSolicited) != 0 && consumes_receive(request.operation);
}

// IBTA 9.4.5. `value`: what is added, or of an ATOMIC WRITE what is written.
inline AtomicEth atomic_header(const SendRequest& request, uint64_t value) {
  const bool swaps = request.operation == Operation::kCompareSwap;
  return {request.remote_address, request.remote_key, swaps ? request.swap : value,
          swaps ? request.compare_add : 0};
}

// IBTA A19: what a FLUSH is about.
inline Feth flush_header(const SendRequest& request) {
  return {request.flush_placement(), request.flush_selectivity()};
}
inline Reth flushed_range(const SendRequest& request) {
  return {request.remote_address, request.remote_key, request.flush_length()};
}

}  // namespace mrc
