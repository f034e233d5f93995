// SPDX-License-Identifier: BSD-2-Clause
// The stand-in for /sys. Its name is made from its content, so every mrcrun that sees the same network uses
// the same one; only the latest few are kept.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/totals_page.h"
#include "examples/mrcrun/view.h"
#include "providers/mrc/presence/class_tree.h"

namespace mrc {
namespace {

constexpr size_t kTreesKept = 8;
const std::string kPrefix = "sys.";
const std::string kUnfinished = ".new";  // behind the name of a tree; only its maker sees it, under the lock

class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory)
      : fd_(open_private_file(directory + "/sys-lock", O_RDWR | O_CREAT)) {
    if (fd_ >= 0 && flock(fd_, LOCK_EX) != 0) {
      close(fd_);
      fd_ = -1;
    }
  }
  ~DirectoryLock() {
    if (fd_ >= 0) close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

void remove_all(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);  // follows no links
}

// "sys.0123456789abcdef", and ".new" behind it if it is unfinished. Nothing else is ours to remove.
bool is_tree(const std::string& name, const struct stat& status, bool unfinished) {
  constexpr size_t kDigits = 16;
  const size_t end = kPrefix.size() + kDigits;
  return S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         name.compare(0, kPrefix.size(), kPrefix) == 0 && name.size() >= end &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) ==
             (unfinished ? end : std::string::npos) &&
         name.substr(end) == (unfinished ? kUnfinished : std::string());
}

// The trees in the run directory, latest first.
std::vector<std::string> list_trees(const std::string& directory, bool unfinished) {
  std::vector<std::pair<timespec, std::string>> found;
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return {};
  while (const dirent* entry = readdir(open)) {
    const std::string name = entry->d_name;
    struct stat status;
    if (fstatat(dirfd(open), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_tree(name, status, unfinished))
      found.emplace_back(status.st_mtim, name);
  }
  closedir(open);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.tv_sec, a.first.tv_nsec) > std::pair(b.first.tv_sec, b.first.tv_nsec);
  });
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [time, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace

bool make_sysfs_view(const std::string& run_directory, std::string* path, std::string* error) {
  const auto tree = provider::sysfs_view(
      [&](const std::string& device) { return make_counter_folder(run_directory, device); });
  *path = run_directory + "/" + kPrefix + provider::tree_name(tree);
  const DirectoryLock lock(run_directory);
  if (!lock.held()) {
    *error = "cannot lock " + run_directory + ": " + std::strerror(errno);
    return false;
  }
  // The time of the root says when the tree was last used; those of the files below must not change, because
  // libibverbs takes a device whose time has changed for another.
  if (utimensat(AT_FDCWD, path->c_str(), nullptr, 0) == 0) return true;
  for (const std::string& left : list_trees(run_directory, true)) remove_all(run_directory + "/" + left);
  const std::string unfinished = *path + kUnfinished;
  if (mkdir(unfinished.c_str(), 0755) != 0) {
    *error = "cannot make " + unfinished + ": " + std::strerror(errno);
    return false;
  }
  if (!provider::write_tree(unfinished, tree, error)) return false;
  if (rename(unfinished.c_str(), path->c_str()) != 0) {
    *error = "cannot make " + *path + ": " + std::strerror(errno);
    return false;
  }
  const auto trees = list_trees(run_directory, false);
  for (size_t i = kTreesKept; i < trees.size(); ++i) remove_all(run_directory + "/" + trees[i]);
  return true;
}

}  // namespace mrc
