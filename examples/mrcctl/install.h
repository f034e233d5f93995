// SPDX-License-Identifier: BSD-2-Clause
// mrcctl tree, install and uninstall: the files by which a machine shows the device for good.
#pragma once

#include <string>

namespace mrc {

// Writes a tree for SYSFS_PATH into a new directory. The exit status.
int make_tree(const std::string& directory);

// The words are those behind the command: [--root DIR] [--blacklist-ib-core] [--yes]. Says what would change,
// and changes it only with --yes. The exit status: 1 if a file is in the way or cannot be written, 2 for a
// word that is not known.
int install_files(int count, char** words);

// [--root DIR] [--yes]. Removes what install_files() wrote and nobody changed since. The exit status: 1 if
// something had to be left.
int uninstall_files(int count, char** words);

}  // namespace mrc
