// SPDX-License-Identifier: BSD-2-Clause
// A mount namespace of this process's own, as root or in a user namespace. What is mounted there vanishes
// with the program.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "examples/mrcrun/view.h"
#include "examples/shared/own_mounts.h"

namespace mrc {
namespace {

bool g_entered = false;

bool write_text(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return close(fd) == 0 && written;
}

// Our own user namespace, in which we stay who we are.
bool enter_user_namespace() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  write_text("/proc/self/setgroups", "deny");  // older kernels have no such file
  return write_text("/proc/self/uid_map", user + " " + user + " 1") &&
         write_text("/proc/self/gid_map", group + " " + group + " 1");
}

}  // namespace

bool enter_mount_namespace(bool by_user_namespace) {
  if (g_entered) return true;
  if (by_user_namespace ? !enter_user_namespace() : unshare(CLONE_NEWNS) != 0) return false;
  return g_entered = keep_mounts_here();
}

bool bind_mount(const std::string& from, const std::string& to) {
  return mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

bool mount_stage(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  // A page for each file of a device, hundreds of them, and up to 16 devices; only what is used is taken.
  return mount("mrcrun", path.c_str(), "tmpfs", MS_NOSUID, "mode=755,size=32m") == 0;
}

bool move_mount_to(const std::string& stage, const std::string& place) {
  return mount(stage.c_str(), place.c_str(), nullptr, MS_MOVE, nullptr) == 0;
}

}  // namespace mrc
