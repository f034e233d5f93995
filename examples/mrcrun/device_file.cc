// SPDX-License-Identifier: BSD-2-Clause
// The device file. libibverbs wants a character device below /dev/infiniband; a link to /dev/null will do.
// Where it is not installed, the program gets a /dev of its own: a tmpfs with everything of the old one bound
// into it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "examples/mrcrun/view.h"

namespace mrc {
namespace {

namespace fs = std::filesystem;

const fs::path kDev = "/dev";
const fs::path kInfiniband = "infiniband";
const fs::path kHost = ".host";  // where the old /dev stays reachable

bool is_device_file(const fs::path& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

std::vector<fs::path> names_in(const fs::path& directory) {
  std::vector<fs::path> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    names.push_back(entry.path().filename());
  return names;
}

// --- the new /dev ---

// Makes `to` show what stands at `from`; `behind` is how the old one is reached from there if that fails.
bool show(const fs::path& from, const fs::path& to, const fs::path& behind) {
  struct stat status;
  if (lstat(from.c_str(), &status) != 0) return true;  // has just gone
  if (S_ISLNK(status.st_mode)) {
    std::error_code error;
    fs::copy_symlink(from, to, error);
    return !error;
  }
  if (S_ISDIR(status.st_mode)) {
    if (mkdir(to.c_str(), 0755) != 0) return false;
    if (bind_mount(from, to)) return true;
    rmdir(to.c_str());
  } else {
    const int fd = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    close(fd);
    if (bind_mount(from, to)) return true;
    unlink(to.c_str());
  }
  return symlink(behind.c_str(), to.c_str()) == 0;
}

bool fill_dev(const fs::path& stage, const std::vector<std::string>& files) {
  if (mkdir((stage / kHost).c_str(), 0755) != 0 || !bind_mount(kDev, stage / kHost)) return false;
  for (const fs::path& name : names_in(kDev)) {
    if (name == kInfiniband) continue;
    const fs::path behind = kHost / name;
    // The kernel looks for a terminal's /dev/pts beside the ptmx that was opened: it must be opened in its
    // old place.
    const bool shown = name == "ptmx" ? symlink(behind.c_str(), (stage / name).c_str()) == 0
                                      : show(kDev / name, stage / name, behind);
    if (!shown) return false;
  }
  const fs::path directory = stage / kInfiniband;
  if (mkdir(directory.c_str(), 0755) != 0) return false;
  for (const fs::path& name : names_in(kDev / kInfiniband)) {
    if (std::find(files.begin(), files.end(), name) != files.end()) continue;
    if (!show(kDev / kInfiniband / name, directory / name, ".." / kHost / kInfiniband / name)) return false;
  }
  return std::all_of(files.begin(), files.end(), [&](const std::string& file) {
    return symlink("../null", (directory / file).c_str()) == 0;
  });
}

// In a mount namespace of our own.
bool replace_dev(const fs::path& run_directory, const std::vector<std::string>& files) {
  const fs::path stage = run_directory / "dev";
  return mount_stage(stage) && fill_dev(stage, files) && move_mount_to(stage, kDev);
}

bool link_in_dev(const std::vector<std::string>& files) {
  const fs::path directory = kDev / kInfiniband;
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return false;
  return std::all_of(files.begin(), files.end(), [&](const std::string& file) {
    return symlink("../null", (directory / file).c_str()) == 0 || errno == EEXIST;
  });
}

// Null: all are there.
const std::string* missing(const std::vector<std::string>& files) {
  for (const std::string& file : files)
    if (!is_device_file(kDev / kInfiniband / file)) return &file;
  return nullptr;
}

}  // namespace

bool provide_device_files(const std::string& run_directory, const std::vector<std::string>& files,
                          std::string* error) {
  if (missing(files) == nullptr) return true;
  bool entered = enter_mount_namespace(false);
  // A container's root may not mount, but its /dev is its own.
  if (!entered && geteuid() == 0 && link_in_dev(files) && missing(files) == nullptr) return true;
  if (!entered) entered = enter_mount_namespace(true);
  if (entered && replace_dev(run_directory, files) && missing(files) == nullptr) return true;
  const int why = errno;
  if (link_in_dev(files) && missing(files) == nullptr) return true;
  const std::string* file = missing(files);
  const fs::path path = kDev / kInfiniband / (file != nullptr ? *file : files.front());
  *error = "there is no " + path.string() +
           ", and a view of /dev that has it cannot be made: " + std::strerror(why) +
           "; allow unprivileged user namespaces, or do this as root:\n  mkdir -p /dev/infiniband && ln -s "
           "../null " +
           path.string();
  return false;
}

}  // namespace mrc
