// SPDX-License-Identifier: BSD-2-Clause
// The class tree by which libibverbs finds the device: the files that a kernel driver would show in sysfs,
// and around them links to the real /sys, so that the whole can stand in for it (SYSFS_PATH).
#pragma once

#include <string>
#include <vector>

#include "providers/mrc/presence/gid_table.h"

namespace mrc::provider {

struct TreeEntry {
  std::string path;     // below the root of the tree
  std::string content;  // of a file, or the target of a link
  bool is_link = false;
};

// class/infiniband and class/infiniband_verbs with the device in them. `counters` is the folder with those of
// its port (make_counter_folder()); empty: none are shown.
std::vector<TreeEntry> class_tree(const std::string& device, const GidTable& gids,
                                  const std::string& counters = {});

// class_tree() and links to everything else in /sys, RDMA devices of the kernel included.
std::vector<TreeEntry> sysfs_view(const std::string& device, const GidTable& gids,
                                  const std::string& counters = {});

// Writes the tree into a directory that exists and is empty. False: `error` says why.
bool write_tree(const std::string& directory, const std::vector<TreeEntry>& tree, std::string* error);

// A name for the tree's content: equal trees have equal names.
std::string tree_name(const std::vector<TreeEntry>& tree);

// The device file of the class tree: /dev/infiniband/<name>, a character device with the numbers of
// /dev/null.
std::string device_file_name(const std::string& device);

}  // namespace mrc::provider
