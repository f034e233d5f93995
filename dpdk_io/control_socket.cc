// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/control_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dpdk_io/eal.h"
#include "dpdk_io/process_slot.h"

namespace mrc {
namespace {

std::string socket_path(const std::string& run_directory, uint32_t slot) {
  return run_directory + "/ctl." + std::to_string(slot);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);  // the run directory's length is checked
  return address;
}

}  // namespace

std::unique_ptr<ControlSocket> ControlSocket::open(const std::string& run_directory, uint32_t slot,
                                                   std::string* error) {
  const std::string path = socket_path(run_directory, slot);
  const sockaddr_un address = address_of(path);
  unlink(path.c_str());  // the slot is ours, so this can only be a dead process's
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    *error = "mrc: socket " + path + ": " + std::strerror(errno) +
             "; set MRC_RUNDIR to a directory of your own on a local file system";
    if (fd >= 0) close(fd);
    return nullptr;
  }
  return std::unique_ptr<ControlSocket>(new ControlSocket(run_directory, slot, fd));
}

ControlSocket::ControlSocket(const std::string& run_directory, uint32_t slot, int fd)
    : run_directory_(run_directory), slot_(slot), fd_(fd) {}

ControlSocket::~ControlSocket() {
  if (!in_forked_child()) unlink(socket_path(run_directory_, slot_).c_str());
  close(fd_);
}

void ControlSocket::send(uint32_t to_slot, const ControlMessage& message) {
  const sockaddr_un address = address_of(socket_path(run_directory_, to_slot));
  sendto(fd_, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool ControlSocket::receive(ControlMessage* message) {
  for (;;) {
    const ssize_t bytes = recv(fd_, message, sizeof *message, MSG_DONTWAIT);
    if (bytes < 0) return false;
    const bool valid = bytes == sizeof *message && message->magic == ControlMessage::kMagic &&
                       message->from_slot >= 1 && message->from_slot <= kSlotMax &&
                       message->from_slot != slot_;
    if (valid) return true;
  }
}

}  // namespace mrc
