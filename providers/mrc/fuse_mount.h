// SPDX-License-Identifier: BSD-2-Clause
// A file made by FUSE: a mount whose root is a regular file, attached nowhere. Who has `device_fd` answers
// what others do with `file_fd`. The mount lives as long as the file is open.
#pragma once

#include <string>

namespace mrc::provider {

struct FuseFile {
  int device_fd = -1;
  int file_fd = -1;
};

// Needs CAP_SYS_ADMIN over the mount namespace. False: `error` says what failed.
bool mount_fuse_file(FuseFile* file, std::string* error);
void close_fuse_file(FuseFile* file);

}  // namespace mrc::provider
