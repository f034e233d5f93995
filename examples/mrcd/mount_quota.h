// SPDX-License-Identifier: BSD-2-Clause
// How many FUSE mounts of mrcd every user has. A mount is held by the descriptors that its program was given
// and ends with them, without a word to mrcd; the kernel's list of FUSE connections tells which are left.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

namespace mrc {

class MountQuota {
 public:
  explicit MountQuota(size_t per_user);
  ~MountQuota();
  MountQuota(const MountQuota&) = delete;
  MountQuota& operator=(const MountQuota&) = delete;

  // Whether the user may have one more.
  bool admits(uid_t user);
  // The mount is the user's from now on.
  void add(uid_t user, int mount_fd);

 private:
  struct Mount {
    uint64_t connection;  // its name in the kernel's list; 0: unknown
    uint64_t made;        // seconds
  };
  bool lives(const Mount& mount, uint64_t now) const;

  const size_t per_user_;
  const int list_fd_;  // the kernel's list, a file system of its own; -1: not to be had
  std::multimap<uid_t, Mount> mounts_;
};

}  // namespace mrc
