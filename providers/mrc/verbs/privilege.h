// SPDX-License-Identifier: BSD-2-Clause
// What the kernel would ask of a caller before it lets him at a NIC's frames.
#pragma once

namespace mrc::provider {

// Whether the calling thread has CAP_NET_RAW, in its user namespace.
bool may_use_raw_packets();

}  // namespace mrc::provider
