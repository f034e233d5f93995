// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/process_slot.h"

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
  remove_own_socket(path);  // the slot is ours, so this can only be a dead process's
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int credentials = 1;
  // The mode that the name gets when it is bound.
  if (fd < 0 || fchmod(fd, 0600) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &credentials, sizeof credentials) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    *error = "mrc: socket " + path + ": " + std::strerror(errno) +
             "; remove what is there, or set MRC_RUNDIR to a directory of your own on a local file system "
             "with room";
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

void ControlSocket::send(uint32_t to_slot, const ControlMessage& message, const Sent& descriptors) {
  const sockaddr_un address = address_of(socket_path(run_directory_, to_slot));
  send_message(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address, &message, sizeof message,
               &descriptors);
}

bool ControlSocket::receive(ControlMessage* message, Descriptors* descriptors) {
  for (;;) {
    Descriptors came;
    MessageFacts facts;
    const ssize_t bytes = receive_message(fd_, message, sizeof *message, &came, &facts);
    if (bytes < 0) return false;
    const bool valid = facts.whole && facts.sender == geteuid() && came.arena >= 0 &&
                       bytes == sizeof *message && message->magic == ControlMessage::kMagic &&
                       message->from_slot >= 1 && message->from_slot <= kSlotMax &&
                       message->from_slot != slot_ && message->number != 0;
    if (!valid) continue;
    descriptors->take_from(came);
    return true;
  }
}

}  // namespace mrc
