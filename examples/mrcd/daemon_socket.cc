// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcd/daemon_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace mrc {
namespace {

// The directory of the socket, which may be below /run and gone since the last boot. Who else can write to it
// could put a socket of his own in its place. -1: errno is set.
int open_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return -1;
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return -1;
  const bool ours = status.st_uid == geteuid() || status.st_uid == 0;
  const bool safe = (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0;
  if (ours && safe) return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

bool somebody_listens(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return answered;
}

// Of one that was killed; anything else is somebody's.
bool remove_socket(int directory, const char* name) {
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  if (S_ISSOCK(status.st_mode) && status.st_uid == geteuid()) return unlinkat(directory, name, 0) == 0;
  errno = EEXIST;
  return false;
}

// For everybody to connect to, from the moment that it is there.
int bind_socket(const sockaddr_un& address, int flags) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
  if (socket < 0) return -1;
  const mode_t before = umask(0111);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int why = errno;
  umask(before);
  if (bound && listen(socket, 64) == 0) return socket;
  if (!bound) errno = why;
  close(socket);
  return -1;
}

int listen_in(int directory, const std::string& name, int flags) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // By the directory's descriptor: its path may mean something else by now.
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  if (name.empty() || path.size() >= sizeof address.sun_path) {
    errno = name.empty() ? EISDIR : ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (somebody_listens(address)) {
    errno = EADDRINUSE;
    return -1;
  }
  return remove_socket(directory, name.c_str()) ? bind_socket(address, flags) : -1;
}

}  // namespace

DaemonSocket::~DaemonSocket() {
  if (fd_ >= 0) {
    unlinkat(directory_, name_.c_str(), 0);
    close(fd_);
  }
  if (directory_ >= 0) close(directory_);
}

bool DaemonSocket::listen_at(const std::string& path, int flags, std::string* error) {
  directory_ = open_directory_of(path);
  name_ = path.substr(path.rfind('/') + 1);
  if (directory_ < 0)
    *error = path + (errno == EPERM ? ": others can write to its directory, or it is not root's: " : ": ") +
             std::strerror(errno);
  else if ((fd_ = listen_in(directory_, name_, flags)) < 0)
    *error = path + ": " + std::strerror(errno);
  return fd_ >= 0;
}

}  // namespace mrc
