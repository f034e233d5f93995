// SPDX-License-Identifier: BSD-2-Clause
// What mrcrun changes of the world before it executes the program: a class tree, a device file, RDMA netlink.
#pragma once

#include <string>
#include <vector>

namespace mrc {

// A directory that stands in for /sys and shows the devices, below the run directory; shared with other
// mrcruns that see the same. False: `error` says why.
bool make_sysfs_view(const std::string& run_directory, std::string* path, std::string* error);

// Puts the devices into /sys/class and the provider into /etc/libibverbs.d, as this process and its children
// see them. False: `error` says why.
bool show_in_place(const std::string& run_directory, const std::string& provider, std::string* error);

// Sees to it that these are in /dev/infiniband: in a mount namespace of this process's own if possible, so
// that nothing is left behind. False: `error` says why and what to do.
bool provide_device_files(const std::string& run_directory, const std::vector<std::string>& files,
                          std::string* error);

// An interface for each device, with its name, on which programs that capture see its packets of all programs
// of the run directory; in a network namespace of this process's own. False: `error` says why.
bool show_interfaces(const std::string& run_directory, const std::vector<std::string>& devices,
                     std::string* error);

// With RDMA netlink in the kernel libibverbs would ask only that. False: `error` says why.
bool hide_rdma_netlink(std::string* error);

// --- mounts that nobody else sees (namespace.cc) ---

// Once is enough. As root, or in a user namespace. False: errno is set.
bool enter_mount_namespace(bool by_user_namespace);
bool bind_mount(const std::string& from, const std::string& to);
// An empty tmpfs, to be filled and then moved to its place.
bool mount_stage(const std::string& path);
bool move_mount_to(const std::string& stage, const std::string& place);

}  // namespace mrc
