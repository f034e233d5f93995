// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
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

constexpr size_t kSentDescriptors = 2;
// More than is asked for, so that what somebody else sends is closed and not left behind.
constexpr size_t kTakenDescriptorsMax = 16;

void close_all(int* begin, const int* end) {
  for (; begin != end; ++begin) close(*begin);
}

// Takes what came beside a message. False: not from this user, or not two descriptors; those are closed.
bool take_ancillary(msghdr* header, ControlSocket::Descriptors* out) {
  bool ours = false;
  int found[kTakenDescriptorsMax];
  size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      ours = sender.uid == geteuid();
    } else if (part->cmsg_type == SCM_RIGHTS) {
      const size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      const size_t kept = std::min(here, kTakenDescriptorsMax - count);
      std::memcpy(found + count, CMSG_DATA(part), kept * sizeof(int));
      count += kept;
    }
  }
  if (!ours || count != kSentDescriptors || (header->msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
    close_all(found, found + count);
    return false;
  }
  out->arena = found[0];
  out->bells = found[1];
  return true;
}

}  // namespace

ControlSocket::Descriptors::~Descriptors() {
  if (arena >= 0) close(arena);
  if (bells >= 0) close(bells);
}

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
  sockaddr_un address = address_of(socket_path(run_directory_, to_slot));
  iovec text{const_cast<ControlMessage*>(&message), sizeof message};
  alignas(cmsghdr) char beside[CMSG_SPACE(kSentDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = sizeof address;
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = beside;
  header.msg_controllen = sizeof beside;
  cmsghdr* part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(kSentDescriptors * sizeof(int));
  const int numbers[kSentDescriptors] = {descriptors.arena, descriptors.bells};
  std::memcpy(CMSG_DATA(part), numbers, sizeof numbers);
  sendmsg(fd_, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ControlSocket::receive(ControlMessage* message, Descriptors* descriptors) {
  for (;;) {
    iovec text{message, sizeof *message};
    alignas(cmsghdr) char beside[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kTakenDescriptorsMax * sizeof(int))];
    msghdr header{};
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    header.msg_control = beside;
    header.msg_controllen = sizeof beside;
    const ssize_t bytes = recvmsg(fd_, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0) return false;
    Descriptors came;
    if (!take_ancillary(&header, &came)) continue;
    const bool valid = bytes == sizeof *message && message->magic == ControlMessage::kMagic &&
                       message->from_slot >= 1 && message->from_slot <= kSlotMax &&
                       message->from_slot != slot_ && message->number != 0;
    if (!valid) continue;
    std::swap(came.arena, descriptors->arena);
    std::swap(came.bells, descriptors->bells);
    return true;
  }
}

}  // namespace mrc
