// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dpdk_io/host/slot_number.h"

namespace mrc {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

// Empty: nothing.
std::string fault_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  if (status.st_uid != geteuid())
    return "belongs to user " + std::to_string(status.st_uid) + ", not to user " + std::to_string(geteuid());
  if ((status.st_mode & kOthers) != 0) return "can be opened by other users (chmod 600 would cure that)";
  return {};
}

// File systems that cannot allocate are written to. Only behind the end: what is before it may be in use.
bool write_zeroes(int fd, size_t bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) return false;
  static constexpr char kZeroes[512] = {};
  for (auto at = static_cast<size_t>(status.st_size); at < bytes;) {
    const ssize_t written = pwrite(fd, kZeroes, std::min(sizeof kZeroes, bytes - at), static_cast<off_t>(at));
    if (written < 0) return false;
    at += static_cast<size_t>(written);
  }
  return true;
}

bool remove_if(bool made_here, const std::string& path) {
  if (made_here) return unlink(path.c_str()) == 0 || errno == ENOENT;
  struct stat status;
  return lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

}  // namespace

int open_private_file(const std::string& path, int flags, std::string* why) {
  // O_NONBLOCK: a FIFO would wait for its other end.
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  std::string fault;
  struct stat status;
  if (fd < 0)
    fault = errno == ELOOP ? "is a symbolic link" : std::strerror(errno);
  else if (fstat(fd, &status) != 0)
    fault = std::strerror(errno);
  else
    fault = fault_of(status);
  if (fault.empty()) return fd;
  if (fd >= 0) {
    close(fd);
    errno = EPERM;
  }
  if (why != nullptr) *why = fault;
  return -1;
}

bool allocate_file(int fd, size_t bytes) {
  int result;
  do result = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  return errno == EOPNOTSUPP && write_zeroes(fd, bytes);
}

bool is_private_file(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && fault_of(status).empty();
}

// Their mode follows from the umask of the program, and says nothing.
bool is_own_socket(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) && status.st_uid == geteuid();
}

bool remove_private_file(const std::string& path) {
  return remove_if(is_private_file(path), path);
}

bool remove_own_socket(const std::string& path) {
  return remove_if(is_own_socket(path), path);
}

std::optional<uint32_t> slot_in_name(const char* name, const char* prefix) {
  const size_t length = std::strlen(prefix);
  if (std::strncmp(name, prefix, length) != 0) return std::nullopt;
  const char* digits = name + length;
  if (*digits < '1' || *digits > '9') return std::nullopt;
  uint32_t slot = 0;
  for (; *digits >= '0' && *digits <= '9'; ++digits) {
    slot = slot * 10 + static_cast<uint32_t>(*digits - '0');
    if (slot > kSlotMax) return std::nullopt;
  }
  return *digits == '\0' ? std::optional(slot) : std::nullopt;
}

}  // namespace mrc
