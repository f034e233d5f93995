// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/host_claim.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace mrc {
namespace {

// The numbers of slots follow it. From 0x0100 to 0x05FF they are lengths in a frame, not protocols, and the
// kernel's own pseudo protocols are below.
constexpr uint32_t kFirstProtocol = 0x0100;
constexpr int kLoopbackIndex = 1;  // in every network namespace

// The thread's: a program may have threads in several networks.
constexpr char kSocketsFile[] = "/proc/thread-self/net/packet";

// All packet sockets of this network, of all users.
bool count_others(uint16_t protocol, ino_t own, uint32_t* others, std::string* error) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> list(std::fopen(kSocketsFile, "re"), &std::fclose);
  if (list == nullptr) {
    *error = std::string("mrc: ") + kSocketsFile + ": " + std::strerror(errno) +
             "; ports on a wire need it to share QP numbers with other processes: mount /proc";
    return false;
  }
  *others = 0;
  char line[256];
  while (std::fgets(line, sizeof line, list.get()) != nullptr) {
    unsigned used = 0;
    unsigned long inode = 0;
    // sk RefCnt Type Proto Iface R Rmem User Inode
    if (std::sscanf(line, "%*s %*s %*s %x %*s %*s %*s %*s %lu", &used, &inode) == 2 && used == protocol &&
        inode != own)
      ++*others;
  }
  return true;
}

}  // namespace

namespace {

// On the loopback, where it costs the wire's packets nothing. It is bound in one step: a packet socket that
// hears something already would wait for all others in the kernel while it changes its place.
int open_claim(uint16_t protocol) {
  const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_ll place{};
  place.sll_family = AF_PACKET;
  place.sll_protocol = htons(protocol);
  place.sll_ifindex = kLoopbackIndex;
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return fd;
  // No loopback: that it is everywhere is no harm.
  close(fd);
  return socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(protocol));
}

}  // namespace

HostClaim claim_on_host(uint32_t slot, int* fd, std::string* error) {
  const auto protocol = static_cast<uint16_t>(kFirstProtocol + slot);
  *fd = open_claim(protocol);
  if (*fd < 0) {
    const bool no_right = errno == EPERM || errno == EACCES || errno == EAFNOSUPPORT;
    *error = std::string("mrc: packet socket: ") + std::strerror(errno);
    return no_right ? HostClaim::kNoRight : HostClaim::kError;
  }
  struct stat status;
  uint32_t others = 0;
  HostClaim result = HostClaim::kError;
  if (fstat(*fd, &status) != 0)
    *error = std::string("mrc: packet socket: ") + std::strerror(errno);
  else if (count_others(protocol, status.st_ino, &others, error))
    // Two at the same time may both find the other and try the next slot; never do both keep it.
    result = others == 0 ? HostClaim::kTaken : HostClaim::kBusy;
  if (result == HostClaim::kTaken) return result;
  close(*fd);
  *fd = -1;
  return result;
}

int hold_on_host(uint32_t slot) {
  return open_claim(static_cast<uint16_t>(kFirstProtocol + slot));
}

}  // namespace mrc
