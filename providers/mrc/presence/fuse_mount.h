// SPDX-License-Identifier: BSD-2-Clause
// A file made by FUSE: a mount whose root is a regular file, attached nowhere. Who has `device_fd` answers
// what others do with `file_fd`. The mount lives as long as the file is open.
#pragma once

#include <sys/types.h>

#include <string>

namespace mrc::provider {

struct FuseFile {
  int device_fd = -1;
  int file_fd = -1;
};

// The same before the file was opened. Who opens it must answer what that asks for.
struct FuseMount {
  int device_fd = -1;
  int mount_fd = -1;
};

// A mount that only this user and group can open, not even root. Needs CAP_SYS_ADMIN over the mount
// namespace. False: `error` says what failed.
bool make_fuse_mount(uid_t user, gid_t group, FuseMount* mount, std::string* error);
// As that user. Takes the mount over, whatever comes of it.
bool open_fuse_mount(FuseMount mount, FuseFile* file, std::string* error);
// Both, for this process itself.
bool mount_fuse_file(FuseFile* file, std::string* error);
void close_fuse_mount(FuseMount* mount);
void close_fuse_file(FuseFile* file);

}  // namespace mrc::provider
