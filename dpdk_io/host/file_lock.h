// SPDX-License-Identifier: BSD-2-Clause
// A lock among the processes of a run directory, by a file in it that is made if it is not there. It ends
// with its owner.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "dpdk_io/host/private_file.h"

namespace mrc {

class FileLock {
 public:
  // Waits for it.
  explicit FileLock(const std::string& path) : fd_(open_private_file(path, O_RDWR | O_CREAT)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0) error_ = errno;
  }
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  // 0: it is held; else an errno.
  int error() const { return error_; }

 private:
  int fd_;
  int error_ = 0;
};

}  // namespace mrc
