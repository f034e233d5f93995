// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcd/mount_quota.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace mrc {
namespace {

// Where the kernel's list is not to be had, as in a user namespace, a mount counts for so long.
constexpr uint64_t kUnknownSeconds = 60;

uint64_t seconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec);
}

// Attached nowhere: nobody else sees it.
int open_list() {
  const int context = static_cast<int>(syscall(SYS_fsopen, "fusectl", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  int list = -1;
  if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0)
    list = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
                                    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  close(context);
  return list;
}

// Asks for nothing that whoever serves the mount would have to answer: he may not want to.
uint64_t connection_of(int mount_fd) {
  struct statx status {};
  if (statx(mount_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) != 0) return 0;
  return status.stx_dev_major == 0 ? status.stx_dev_minor : 0;
}

}  // namespace

MountQuota::MountQuota(size_t per_user) : per_user_(per_user), list_fd_(open_list()) {}

MountQuota::~MountQuota() {
  if (list_fd_ >= 0) close(list_fd_);
}

bool MountQuota::lives(const Mount& mount, uint64_t now) const {
  if (list_fd_ < 0 || mount.connection == 0) return now < mount.made + kUnknownSeconds;
  return faccessat(list_fd_, std::to_string(mount.connection).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool MountQuota::admits(uid_t user) {
  if (mounts_.count(user) < per_user_) return true;
  const uint64_t now = seconds_now();
  const auto [first, last] = mounts_.equal_range(user);
  for (auto mount = first; mount != last;) mount = lives(mount->second, now) ? ++mount : mounts_.erase(mount);
  return mounts_.count(user) < per_user_;
}

void MountQuota::add(uid_t user, int mount_fd) {
  const Mount mount{connection_of(mount_fd), seconds_now()};
  // The kernel gives names again: whose it was before has lost it.
  if (mount.connection != 0)
    std::erase_if(mounts_, [&](const auto& known) { return known.second.connection == mount.connection; });
  mounts_.emplace(user, mount);
}

}  // namespace mrc
