// SPDX-License-Identifier: BSD-2-Clause
// Makes librdmacm find an rdma_cm file that is answered in this process.
#pragma once

namespace mrc::provider {

// Call it when a device of ours has been found. librdmacm may be loaded already or come later.
void serve_librdmacm();

}  // namespace mrc::provider
