// SPDX-License-Identifier: BSD-2-Clause
// mrcctl tree and mrcctl install: the files by which a machine shows the device for good.
#pragma once

#include <string>

namespace mrc {

// Writes a tree for SYSFS_PATH into a new directory. The exit status.
int make_tree(const std::string& directory);

// Driver file, device file at boot, no kernel RDMA; below `root`, which is / or a package's staging
// directory. The exit status.
int install_files(const std::string& root);

}  // namespace mrc
