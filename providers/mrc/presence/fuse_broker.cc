// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/fuse_broker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mrc::provider {
namespace {

constexpr char kDefaultPath[] = "/run/mrcd/broker";
constexpr timeval kPatience = {5, 0};

union FdMessage {
  cmsghdr header;
  char room[CMSG_SPACE(2 * sizeof(int))];
};

msghdr message_of(iovec* part, FdMessage* fds) {
  msghdr message{};
  message.msg_iov = part;
  message.msg_iovlen = 1;
  message.msg_control = fds->room;
  message.msg_controllen = sizeof fds->room;
  return message;
}

bool receive_mount(int socket, BrokerAnswer* answer, FuseMount* mount) {
  iovec part{answer, sizeof *answer};
  FdMessage fds{};
  msghdr message = message_of(&part, &fds);
  ssize_t bytes;
  do bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (bytes < 0 && errno == EINTR);
  const cmsghdr* control = bytes < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (control != nullptr && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
    int both[2];
    std::memcpy(both, CMSG_DATA(control), sizeof both);
    *mount = {both[0], both[1]};
  }
  if (bytes < 0) return false;
  errno = EPROTO;
  return bytes == sizeof *answer && answer->magic == BrokerAnswer::kMagic;
}

}  // namespace

std::string broker_path() {
  const char* given = secure_getenv("MRC_BROKER");
  return given != nullptr && *given != '\0' ? given : kDefaultPath;
}

bool broker_is_there() {
  struct stat status;
  return stat(broker_path().c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

uint64_t own_pid_namespace() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool send_fuse_mount(int socket, const BrokerAnswer& answer, const FuseMount& mount) {
  BrokerAnswer copy = answer;
  iovec part{&copy, sizeof copy};
  FdMessage fds{};
  msghdr message = message_of(&part, &fds);
  if (mount.mount_fd >= 0) {
    fds.header.cmsg_level = SOL_SOCKET;
    fds.header.cmsg_type = SCM_RIGHTS;
    fds.header.cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int both[] = {mount.device_fd, mount.mount_fd};
    std::memcpy(CMSG_DATA(&fds.header), both, sizeof both);
  } else {
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof copy;
}

bool request_fuse_file(FuseFile* file, uint64_t* pid_namespace, std::string* error) {
  const std::string path = broker_path();
  *error = "mrcd at " + path + ": ";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    *error += "the path is too long; set MRC_BROKER to a shorter one";
    return false;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  BrokerAnswer answer;
  FuseMount mount;
  std::string why;
  bool good = socket >= 0 && setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience) == 0 &&
              setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) == 0 &&
              connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (!good) {
    *error += std::strerror(errno);
    *error += "; start mrcd as root, or let MRC_CMDFD choose another way";
  } else if (!receive_mount(socket, &answer, &mount)) {
    good = false;
    *error += std::strerror(errno);
  } else if (answer.error == EDQUOT) {
    good = false;
    *error += "this user has as many FUSE files as mrcd gives to one; end some programs, or mrcd --limit";
  } else if (answer.error != 0 || mount.mount_fd < 0) {
    good = false;
    *error += answer.error != 0 ? std::strerror(answer.error) : "it sent no file";
  } else if (!open_fuse_mount(mount, file, &why)) {
    good = false;
    *error += why;
    mount = FuseMount{};
  }
  if (!good) close_fuse_mount(&mount);
  if (socket >= 0) close(socket);
  *pid_namespace = answer.pid_namespace;
  return good;
}

}  // namespace mrc::provider
