// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mrc {
namespace {

FileStamp stamp_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

}  // namespace

FileStamp stamp_of(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? stamp_of(status) : FileStamp{};
}

bool read_text_file(const std::string& file, size_t bytes_max, std::string* text, FileStamp* stamp,
                    std::string* error) {
  // O_NONBLOCK: a FIFO would wait for its other end.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ENOENT) return false;
  struct stat status {};
  std::string fault;
  if (fd < 0 || fstat(fd, &status) != 0)
    fault = std::strerror(errno);
  else if (S_ISDIR(status.st_mode))
    fault = std::strerror(EISDIR);
  else if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))  // /dev/null stands for the defaults
    fault = "is not a regular file";
  if (stamp != nullptr) *stamp = stamp_of(status);
  char part[4096];
  ssize_t bytes = 1;
  while (fault.empty() && (bytes = read(fd, part, sizeof part)) != 0) {
    if (bytes < 0)
      fault = std::strerror(errno);
    else if (text->append(part, static_cast<size_t>(bytes)).size() > bytes_max)
      fault = "is larger than " + std::to_string(bytes_max) + " bytes";
  }
  if (fd >= 0) close(fd);
  if (fault.empty()) return true;
  *error = "mrc: " + file + ": " + fault;
  return false;
}

}  // namespace mrc
