// SPDX-License-Identifier: BSD-2-Clause
// Whether memory of the process is there, found out by asking the kernel for it and not by touching it.
#pragma once

#include <cstddef>

namespace mrc::provider {

// Brings the pages in, as pinning them for a NIC would. What cannot be read or written as asked must be found
// out now: later it would be a SIGSEGV in the data path. 0 or EFAULT.
int page_in(void* address, size_t bytes, bool writable);

}  // namespace mrc::provider
