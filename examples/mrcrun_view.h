// SPDX-License-Identifier: BSD-2-Clause
// What mrcrun changes of the world before it executes the program: a class tree, a device file, RDMA netlink.
#pragma once

#include <string>

namespace mrc {

// A directory that stands in for /sys and shows the device, below the run directory; shared with other
// mrcruns that see the same. False: `error` says why.
bool make_sysfs_view(const std::string& run_directory, const std::string& device, std::string* path,
                     std::string* error);

// Sees to it that /dev/infiniband/<file> is there: in a mount namespace of this process's own if possible, so
// that nothing is left behind. False: `error` says why and what to do.
bool provide_device_file(const std::string& run_directory, const std::string& file, std::string* error);

// With RDMA netlink in the kernel libibverbs would ask only that. False: `error` says why.
bool hide_rdma_netlink(std::string* error);

}  // namespace mrc
