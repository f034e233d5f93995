// SPDX-License-Identifier: BSD-2-Clause
// The class tree by which libibverbs finds the device: the files that a kernel driver would show in sysfs,
// and around them links to the real /sys, so that the whole can stand in for it (SYSFS_PATH).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "providers/mrc/presence/gid_table.h"

namespace mrc::provider {

struct TreeEntry {
  std::string path;     // below the root of the tree
  std::string content;  // of a file, or the target of a link
  bool is_link = false;
};

// What class/infiniband and class/infiniband_verbs have of one device. `counters` is the folder with those of
// its port (make_counter_folder()); empty: none are shown.
std::vector<TreeEntry> class_tree(const std::string& device, const GidTable& gids,
                                  const std::string& counters);

// That folder, of a device; none: no counters are shown.
using CountersOf = std::function<std::string(const std::string& device)>;

// The same with all devices of the settings.
std::vector<TreeEntry> class_tree(const CountersOf& counters = {});
// class_tree() and links to everything else in /sys, RDMA devices of the kernel included.
std::vector<TreeEntry> sysfs_view(const CountersOf& counters = {});
// What of the two classes is ours: the devices, and what they have in infiniband_verbs.
std::vector<std::string> names_in_classes();

// Writes the tree into a directory that exists and is empty. False: `error` says why.
bool write_tree(const std::string& directory, const std::vector<TreeEntry>& tree, std::string* error);

// A name for the tree's content: equal trees have equal names.
std::string tree_name(const std::vector<TreeEntry>& tree);

// The device file of the class tree: /dev/infiniband/<name>, a character device with the numbers of
// /dev/null.
std::string device_file_name(const std::string& device);

}  // namespace mrc::provider
