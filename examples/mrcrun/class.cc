// SPDX-License-Identifier: BSD-2-Clause
// The view of /sys/class and /etc/libibverbs.d: the program finds the device where every program looks, with
// no environment variable. Each is a tmpfs with everything of the old one in it, and ours added.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "dpdk_io/host/totals_page.h"
#include "examples/mrcrun/view.h"
#include "providers/mrc/presence/class_tree.h"

namespace mrc {
namespace {

namespace fs = std::filesystem;

const fs::path kClass = "/sys/class";
const fs::path kDrivers = "/etc/libibverbs.d";

std::vector<fs::directory_entry> entries_of(const fs::path& directory) {
  std::vector<fs::directory_entry> entries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) entries.push_back(entry);
  return entries;
}

bool is_rdma(const fs::path& name) {
  return name == "infiniband" || name == "infiniband_verbs";
}

// The old classes by bind mounts, so that what appears in them later is seen. The two of RDMA are made anew:
// ours, and links to what the kernel has of its own.
bool fill_classes(const fs::path& stage, const std::string& run_directory, std::string* error) {
  const fs::path host = stage / ".host";
  if (mkdir(host.c_str(), 0755) != 0 || !bind_mount(kClass, host)) return false;
  for (const fs::directory_entry& entry : entries_of(kClass)) {
    const fs::path name = entry.path().filename();
    if (is_rdma(name)) continue;
    const fs::path to = stage / name;
    if (mkdir(to.c_str(), 0755) != 0 || !bind_mount(entry.path(), to)) return false;
  }
  std::vector<provider::TreeEntry> tree = provider::class_tree(
      [&](const std::string& device) { return make_counter_folder(run_directory, device); });
  for (provider::TreeEntry& entry : tree) entry.path.erase(0, std::strlen("class/"));
  const std::vector<std::string> ours = provider::names_in_classes();
  for (const char* name : {"infiniband", "infiniband_verbs"})
    for (const fs::directory_entry& entry : entries_of(host / name)) {
      const fs::path own = entry.path().filename();
      if (std::find(ours.begin(), ours.end(), own) != ours.end()) continue;
      tree.push_back({std::string(name) + "/" + own.string(),
                      "../.host/" + std::string(name) + "/" + own.string(), true});
    }
  return provider::write_tree(stage, tree, error);
}

bool fill_drivers(const fs::path& stage, const std::string& provider) {
  std::error_code error;
  for (const fs::directory_entry& entry : entries_of(kDrivers))
    if (entry.path().filename() != "mrc.driver")
      fs::copy(entry.path(), stage / entry.path().filename(), error);
  std::ofstream file(stage / "mrc.driver");
  file << "driver " << provider << "\n";
  return file.flush().good() && !error;
}

}  // namespace

bool show_in_place(const std::string& run_directory, const std::string& provider, std::string* error) {
  error->clear();
  const bool entered = enter_mount_namespace(false) || enter_mount_namespace(true);
  if (!entered) {
    *error = std::string("a view of /sys/class cannot be made: ") + std::strerror(errno) +
             "; allow unprivileged user namespaces, run it as root, or leave out --view";
    return false;
  }
  const std::string classes = run_directory + "/class";
  const std::string drivers = run_directory + "/drivers";
  errno = 0;
  if (mount_stage(classes) && fill_classes(classes, run_directory, error) && move_mount_to(classes, kClass) &&
      mount_stage(drivers) && fill_drivers(drivers, provider) && move_mount_to(drivers, kDrivers))
    return true;
  if (error->empty()) *error = std::strerror(errno);
  *error = "a view of " + kClass.string() + " and " + kDrivers.string() + " cannot be made: " + *error;
  return false;
}

}  // namespace mrc
